"""The file in which a person describes an overlay: its brokers and how they are joined.

    schema: "event_id BIGINT, city STRING, photo STRING"   # columns of events, as Spark writes them
    models: ["my_models.py"]           # optional
    policy: emec                       # optional
    root: galway                       # optional; else the first broker
    brokers:
      galway: {}
      cork:
        joins: galway                  # the broker that it is linked with
        delay_ms: 12                   # of that link, one way; 0 if it is left out
        subscriptions: subs/cork.csv   # optional: a file of subscription_id and where
        publishes: events/cork/        # optional: a folder of events that are published here
        advertises: "city = 'Cork'"    # optional: a WHERE clause that all of them satisfy

All brokers but one join another, so that the links are a tree; the root need not be that one. Paths
count from the file's own folder. Schema, models, policy and WHERE clauses are kept as they are
written: who uses them checks them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from caddis.overlay.file.marked_yaml import Marked, nearest, read_marked
from caddis.overlay.topology import Topology

FILE_KEYS = ("schema", "models", "policy", "root", "brokers")
BROKER_KEYS = ("joins", "delay_ms", "subscriptions", "publishes", "advertises")
_NAME = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class BrokerEntry:
    """What the file says of one broker."""

    name: str
    joins: str | None = None
    """The broker that it is linked with."""
    delay_ms: float = 0.0
    """Of that link."""
    subscriptions: Path | None = None
    publishes: Path | None = None
    advertises: str | None = None


@dataclass(frozen=True, slots=True)
class OverlayFile:
    """An overlay as it was described; its links are a tree."""

    path: Path
    schema: str
    models: tuple[str, ...]
    policy: str | None
    root: str
    brokers: tuple[BrokerEntry, ...]

    @property
    def topology(self) -> Topology:
        """The tree, seen from the root."""
        names = tuple(broker.name for broker in self.brokers)
        places = {name: place for place, name in enumerate(names)}
        parents = tuple(
            -1 if broker.joins is None else places[broker.joins] for broker in self.brokers
        )
        delays = np.array([broker.delay_ms for broker in self.brokers])
        return Topology(names, names[parents.index(-1)], parents, delays).rooted_at(self.root)


def read_overlay_file(path: Path) -> OverlayFile:
    """The overlay that a YAML file describes; OverlayError with the line if it cannot be one."""
    file = read_marked(path, "the overlay file")
    fields = file.fields(FILE_KEYS)
    for key in ("schema", "brokers"):
        if key not in fields:
            raise file.refuse(f"{key!r} is missing")
    written = _brokers(fields["brokers"])
    brokers = {name: _broker(name, body) for name, body in written.items()}
    _check_tree(brokers, written)
    return OverlayFile(
        path=path,
        schema=fields["schema"].text(),
        models=tuple(item.text() for item in fields["models"].items())
        if "models" in fields
        else (),
        policy=fields["policy"].text() if "policy" in fields else None,
        root=_known(fields["root"], brokers) if "root" in fields else next(iter(brokers)),
        brokers=tuple(brokers.values()),
    )


def _brokers(brokers: Marked) -> dict[str, Marked]:
    """By name: what is written below it. Names become folders, so they are plain."""
    entries = brokers.entries()
    if not entries:
        raise brokers.refuse("there are no brokers; an overlay has at least one")
    for name, (key, _) in entries.items():
        if not _NAME.fullmatch(name):
            raise key.refuse(
                f"a broker cannot be named {name!r}; a name has letters, digits, '-' and '_'"
            )
    return {
        name: Marked(key.path, body.node, f"broker {name!r}")
        for name, (key, body) in entries.items()
    }


def _broker(name: str, body: Marked) -> BrokerEntry:
    fields = body.fields(BROKER_KEYS)
    delay = fields.get("delay_ms")
    if delay and "joins" not in fields:
        raise delay.refuse(f"{delay.called} belongs to a link; say which broker it 'joins'")
    if delay and delay.number() < 0:
        raise delay.refuse(f"{delay.called} must be 0 or more, not {delay.number():g}")
    return BrokerEntry(
        name,
        joins=fields["joins"].text() if "joins" in fields else None,
        delay_ms=delay.number() if delay else 0.0,
        subscriptions=_path(fields.get("subscriptions")),
        publishes=_path(fields.get("publishes")),
        advertises=fields["advertises"].text() if "advertises" in fields else None,
    )


def _path(field: Marked | None) -> Path | None:
    return None if field is None else field.path.parent / field.text()


def _known(field: Marked, brokers: Mapping[str, BrokerEntry]) -> str:
    """The name of a broker that is described."""
    name = field.text()
    if name not in brokers:
        hint = nearest(name, brokers) or f"; there is: {', '.join(brokers)}"
        raise field.refuse(f"{field.called} names no broker: {name!r}{hint}")
    return name


def _check_tree(brokers: Mapping[str, BrokerEntry], written: Mapping[str, Marked]) -> None:
    """Every broker joins one that is described, but for one; no circles."""
    for name, broker in brokers.items():
        if broker.joins is not None:
            _known(written[name].fields(BROKER_KEYS)["joins"], brokers)
    _check_circles(brokers, written)
    free = [name for name, broker in brokers.items() if broker.joins is None]
    if len(free) > 1:
        raise written[free[1]].refuse(
            f"broker {free[1]!r} joins no other, and neither does {free[0]!r}: nothing links what "
            "stands around them; all brokers but one need 'joins'"
        )


def _check_circles(brokers: Mapping[str, BrokerEntry], written: Mapping[str, Marked]) -> None:
    """Following `joins` from anywhere comes to an end."""
    ends: set[str] = set()
    for start in brokers:
        way: dict[str, None] = {}
        name: str | None = start
        while name is not None and name not in ends:
            if name in way:
                circle = [*way][[*way].index(name) :]
                joined = " joins ".join(map(repr, [*circle, name]))
                raise written[name].refuse(f"the links run in a circle: {joined}")
            way[name] = None
            name = brokers[name].joins
        ends.update(way)
