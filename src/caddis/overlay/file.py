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

Every broker but one joins another, so the links are a tree; the root may be any broker. Paths are
relative to the file's folder. Schema, models, policy and WHERE clauses are kept as they are
written, and whoever uses them checks them.

PyYAML's plain loading forgets lines, keeps the last of two equal keys and takes `no` for a truth
value. Here every part stays a node that knows its line until somebody says what is expected: a
mapping of known keys, a text, a number. A word may always be read as a text, whatever YAML makes of
it: a broker may be called `no` or `12`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import yaml

from caddis.errors import OverlayError
from caddis.names import did_you_mean
from caddis.overlay.topology import Topology

FILE_KEYS = ("schema", "models", "policy", "root", "brokers")
BROKER_KEYS = ("joins", "delay_ms", "subscriptions", "publishes", "advertises")
_NAME = re.compile(r"[A-Za-z0-9_-]+")
_NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
_NULL = "tag:yaml.org,2002:null"
_KINDS: dict[type[yaml.Node], str] = {yaml.MappingNode: "a mapping", yaml.SequenceNode: "a list"}


@dataclass(frozen=True, slots=True)
class BrokerEntry:
    """What the file states about one broker."""

    name: str
    joins: str | None = None
    """The broker that it is linked with."""
    delay_ms: float = 0.0
    """The one-way delay of that link."""
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


def parse_overlay_file(text: str, path: Path) -> OverlayFile:
    """Read the text of an overlay file; OverlayError with the line if it describes no overlay.

    path: where the text comes from. Errors name it, and paths in the text are relative to it.
    """
    file = _parse(text, path, "the overlay file")
    fields = file.fields(FILE_KEYS)
    for key in ("schema", "brokers"):
        if key not in fields:
            raise file.refuse(f"{key!r} is missing")
    nodes = _broker_nodes(fields["brokers"])
    brokers = {name: _broker(name, node) for name, node in nodes.items()}
    _check_tree(brokers, nodes)
    models = fields["models"].items() if "models" in fields else ()
    return OverlayFile(
        path=path,
        schema=fields["schema"].text(),
        models=tuple(item.text() for item in models),
        policy=fields["policy"].text() if "policy" in fields else None,
        root=_known(fields["root"], brokers) if "root" in fields else next(iter(brokers)),
        brokers=tuple(brokers.values()),
    )


@dataclass(frozen=True, slots=True)
class _Node:
    """A part of a YAML file, and what a person would call it."""

    path: Path
    node: yaml.Node
    called: str

    @property
    def line(self) -> int:
        return int(self.node.start_mark.line) + 1

    @property
    def is_null(self) -> bool:
        return bool(self.node.tag == _NULL)

    def refuse(self, problem: str) -> OverlayError:
        """An error that names the file and the line."""
        return OverlayError(f"{self.path}, line {self.line}: {problem}")

    def text(self) -> str:
        """The text that stands here, as it is written."""
        value = self.node.value if isinstance(self.node, yaml.ScalarNode) else ""
        if self.is_null or not isinstance(value, str) or not value.strip():
            raise self.refuse(f"{self.called} must be a text, not {self._value()}")
        return value

    def number(self) -> float:
        """The finite number that stands here."""
        try:
            value = float(self.node.value) if self.node.tag in _NUMBERS else math.nan
        except ValueError:  # YAML also takes 0x10 for a number
            value = math.nan
        if not math.isfinite(value):
            raise self.refuse(f"{self.called} must be a number, not {self._value()}")
        return value

    def items(self) -> Iterator[_Node]:
        """The items of a list."""
        if not isinstance(self.node, yaml.SequenceNode):
            raise self.refuse(f"{self.called} must be a list, not {self._value()}")
        for place, item in enumerate(self.node.value, start=1):
            yield _Node(self.path, item, f"item {place} of {self.called}")

    def entries(self) -> dict[str, tuple[_Node, _Node]]:
        """Key and value of a mapping by the key's text, each key once; null is an empty mapping."""
        if self.is_null:
            return {}
        if not isinstance(self.node, yaml.MappingNode):
            raise self.refuse(f"{self.called} must be a mapping, not {self._value()}")
        entries: dict[str, tuple[_Node, _Node]] = {}
        for key_node, value_node in self.node.value:
            key = _Node(self.path, key_node, f"a key of {self.called}")
            name = key.text()
            if name in entries:
                before = entries[name][0].line
                raise key.refuse(f"{name!r} stands twice in {self.called}; first in line {before}")
            entries[name] = key, _Node(self.path, value_node, repr(name))
        return entries

    def fields(self, known: Collection[str]) -> dict[str, _Node]:
        """The values of a mapping that may have these keys and no others."""
        entries = self.entries()
        for name, (key, _) in entries.items():
            if name not in known:
                hint = did_you_mean(name, known) or f"; there are: {', '.join(known)}"
                raise key.refuse(f"unknown key {name!r} in {self.called}{hint}")
        return {
            name: _Node(self.path, value.node, f"{name!r} of {self.called}")
            for name, (_, value) in entries.items()
        }

    def _value(self) -> str:
        """What stands here instead, for an error."""
        if self.is_null or not self.node.value:
            return "nothing"
        return _KINDS.get(type(self.node)) or repr(self.node.value)


def _parse(text: str, path: Path, called: str) -> _Node:
    """The one document of a YAML text. Nodes are composed and never constructed, so no tag runs."""
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        context = f"{error.context}: " if error.context else ""
        raise OverlayError(f"{path}, line {line}: not YAML: {context}{error.problem}") from error
    except yaml.YAMLError as error:
        raise OverlayError(f"{path}: not YAML: {error}") from error
    if node is None:
        raise OverlayError(f"{path}: the file is empty")
    return _Node(path, node, called)


def _broker_nodes(brokers: _Node) -> dict[str, _Node]:
    """What is written below each broker's name. Names become folders, so they must be plain."""
    entries = brokers.entries()
    if not entries:
        raise brokers.refuse("there are no brokers; an overlay has at least one")
    for name, (key, _) in entries.items():
        if not _NAME.fullmatch(name):
            raise key.refuse(
                f"a broker cannot be named {name!r}; a name has letters, digits, '-' and '_'"
            )
    return {
        name: _Node(key.path, body.node, f"broker {name!r}")
        for name, (key, body) in entries.items()
    }


def _broker(name: str, node: _Node) -> BrokerEntry:
    fields = node.fields(BROKER_KEYS)
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


def _path(field: _Node | None) -> Path | None:
    return None if field is None else field.path.parent / field.text()


def _known(field: _Node, brokers: Mapping[str, BrokerEntry]) -> str:
    """The name of a broker that is described."""
    name = field.text()
    if name not in brokers:
        hint = did_you_mean(name, brokers) or f"; there are: {', '.join(brokers)}"
        raise field.refuse(f"{field.called} names no broker: {name!r}{hint}")
    return name


def _check_tree(brokers: Mapping[str, BrokerEntry], nodes: Mapping[str, _Node]) -> None:
    """Every broker but one joins a broker that is described, and the links have no circle."""
    for name, broker in brokers.items():
        if broker.joins is not None:
            _known(nodes[name].fields(BROKER_KEYS)["joins"], brokers)
    _check_circles(brokers, nodes)
    free = [name for name, broker in brokers.items() if broker.joins is None]
    if len(free) > 1:
        raise nodes[free[1]].refuse(
            f"broker {free[1]!r} joins no other, and neither does {free[0]!r}, so nothing links "
            "their parts of the overlay; all brokers but one need 'joins'"
        )


def _check_circles(brokers: Mapping[str, BrokerEntry], nodes: Mapping[str, _Node]) -> None:
    """Following `joins` from any broker comes to an end."""
    ends: set[str] = set()
    for start in brokers:
        way: dict[str, None] = {}
        name: str | None = start
        while name is not None and name not in ends:
            if name in way:
                circle = [*way][[*way].index(name) :]
                joined = " joins ".join(map(repr, [*circle, name]))
                raise nodes[name].refuse(f"the links run in a circle: {joined}")
            way[name] = None
            name = brokers[name].joins
        ends.update(way)
