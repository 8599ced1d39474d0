"""What happens on an overlay: who subscribes where, what is published, and what is true of it.

The paper's instances (section V-A2) are drawn by `instances`; here their links become subscribers
at brokers, each broker with a load drawn from [0, 1], and the answers of models are drawn for each
event.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from caddis.arrays import Bools, Floats, Int32s
from caddis.lab.workloads.instances import outcomes
from caddis.language import Clause, Column, Concept, Vocabulary, parse_all
from caddis.ordering.certificate import Instance
from caddis.overlay.forwarding import Beliefs
from caddis.overlay.topology import Topology

SCHEMA = pa.schema([("photo", pa.string())])
EVERYTHING = "TRUE"
"""What a publisher advertises that may publish any photo."""
PHOTO_BYTES = 100_000
"""Of an event on a link: a photo of web size."""


@dataclass(frozen=True, slots=True)
class Subscription:
    """Somebody's interest, at a broker."""

    broker: str
    subscription_id: str
    where: str


@dataclass(frozen=True, slots=True, eq=False)
class Workload:
    """Subscriptions and events of an overlay; link i of the instance is subscription i."""

    instance: Instance
    subscriptions: tuple[Subscription, ...]
    truth: Bools
    """By event and concept."""
    publishers: tuple[str, ...]
    """By event: the broker where it is published."""
    clauses: Mapping[str, tuple[Clause, ...]] = field(repr=False)
    """By WHERE text."""
    event_bytes: int = PHOTO_BYTES

    @property
    def beliefs(self) -> Beliefs:
        """What brokers believe, which is the truth about costs and selectivities."""
        one = self.instance
        return Beliefs.of(concepts(one.concepts), one.costs, one.selectivity, one.answered_by)

    def read(self, where: str) -> tuple[Clause, ...]:
        """The clauses of a WHERE text."""
        return self.clauses[where]

    def expected(self) -> set[tuple[int, str]]:
        """Who must be notified of what: every subscription is evaluated on every event.

        >>> from caddis.lab.workloads.instances import paper_workload
        >>> rng = np.random.default_rng(1)
        >>> instance = paper_workload(20, 5, rng=rng)
        >>> work = draw_workload(Topology.synthetic(3), instance, events=10, rng=rng)
        >>> len(work.expected())
        4
        """
        found = set()
        for link, literals in self.instance.clauses:
            holds = np.ones(len(self.truth), bool)
            for literal in literals:
                holds &= self.truth[:, literal >> 1] != bool(literal & 1)
            subscription_id = self.subscriptions[link].subscription_id
            found |= {(event, subscription_id) for event in np.flatnonzero(holds).tolist()}
        return found


def concepts(count: int) -> tuple[Concept, ...]:
    """c0(photo), c1(photo), ..."""
    column = Column(("photo",), pa.string())
    return tuple(Concept(f"c{number}", column) for number in range(count))


def draw_workload(
    topology: Topology, instance: Instance, *, events: int = 1000, rng: np.random.Generator
) -> Workload:
    """Subscribers for the links of an instance, one clause each, and events at the root."""
    homes = _homes(topology, instance.links, rng)
    wheres = [where_of(literals) for _, literals in instance.clauses]
    placed = tuple(
        Subscription(topology.brokers[home], f"s{number}", where)
        for number, (home, where) in enumerate(zip(homes.tolist(), wheres, strict=True))
    )
    truth = outcomes(instance, events, rng)
    return Workload(
        instance, placed, truth, (topology.root,) * events, parsed(wheres, instance.concepts)
    )


def where_of(literals: tuple[int, ...]) -> str:
    """A clause as a user would write it."""
    return " AND ".join(f"{'NOT ' * (one & 1)}c{one >> 1}(photo)" for one in literals)


def parsed(wheres: list[str], concepts: int) -> dict[str, tuple[Clause, ...]]:
    """The clauses of texts that call c0, c1, ..."""
    texts = list(dict.fromkeys([*wheres, EVERYTHING]))
    vocabulary = Vocabulary.of((f"c{number}", "photo") for number in range(concepts))
    table = parse_all(texts, SCHEMA, concepts=vocabulary)
    for error in table.errors.values():
        raise error
    clauses: list[list[Clause]] = [[] for _ in texts]
    for number, owner in enumerate(table.owner.tolist()):
        clauses[owner].append(table.clause(number))
    return {text: tuple(some) for text, some in zip(texts, clauses, strict=True)}


def _homes(topology: Topology, count: int, rng: np.random.Generator) -> Int32s:
    """By subscription: its broker, in proportion to the brokers' loads."""
    loads: Floats = rng.random(len(topology))
    homes: Int32s = rng.choice(len(topology), size=count, p=loads / loads.sum()).astype(np.int32)
    return homes
