"""The workloads of section V of the adaptive-filtering paper, drawn from a generator.

An `Instance` is the ordering problem alone: clauses, models and how selective concepts are. Small
random ones are for comparison with the exact optimum. `draw_workload` puts an instance on an
overlay: its links become subscribers at brokers, each broker has a load drawn from [0, 1], and the
answers of models are drawn for each event.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import pyarrow as pa

from caddis.arrays import Bools, Floats, Int32s
from caddis.language import Clause as WhereClause
from caddis.language import Column, Concept, Vocabulary, parse_all
from caddis.ordering.certificate import Clause, Instance
from caddis.overlay.forwarding import Beliefs
from caddis.overlay.topology import Topology

Popularity = Literal["zipf", "uniform"]
Range = tuple[float, float]


def paper_workload(
    subscriptions: int,
    concepts: int = 100,
    *,
    popularity: Popularity = "zipf",
    exponent: float = 1.0,
    at_most: int = 5,
    costs: Range = (12, 16),
    selectivity: Range = (0, 0.25),
    rng: np.random.Generator,
) -> Instance:
    """The paper's workload: a link of one clause for every subscription, a model per concept.

    A clause asks for 1..at_most distinct concepts, all of them positive. `zipf`: concept 0 is
    the most popular one, concept c is chosen in proportion to (c + 1) ** -exponent. `uniform`
    is the paper's name for weights drawn from [0, 1]; `exponent` is not used then.
    """
    weights = _weights(concepts, popularity, exponent, rng)
    return Instance(
        costs=rng.uniform(*costs, size=concepts),
        answered_by=np.arange(concepts, dtype=np.int32),
        selectivity=rng.uniform(*selectivity, size=concepts),
        clauses=_conjunctions(subscriptions, weights, at_most, rng),
        links=subscriptions,
    )


def spread_costs(
    subscriptions: int,
    concepts: int = 100,
    *,
    popularity: Popularity = "zipf",
    costs: Range = (1, 1000),
    rng: np.random.Generator,
) -> Instance:
    """The paper's workload with log-uniform costs, so that some models are cheap.

    From the same generator it has the same clauses and selectivities as `paper_workload`.
    """
    close = paper_workload(subscriptions, concepts, popularity=popularity, rng=rng)
    return replace(close, costs=_log_uniform(costs, concepts, rng))


def random_instance(
    rng: np.random.Generator,
    *,
    models: tuple[int, int] = (2, 7),
    concepts: tuple[int, int] = (2, 8),
    clauses: tuple[int, int] = (1, 8),
    literals: tuple[int, int] = (1, 4),
    negated: float = 0.3,
    joined: float = 0.4,
    costs: Range = (1, 100),
    selectivity: Range = (0.05, 0.95),
) -> Instance:
    """A small instance for comparison with the exact optimum; pairs are inclusive ranges.

    `negated`: the chance that a literal asks for false; `joined`: that a clause belongs to the
    link of the clause before it. Every model answers at least one concept.
    """
    model_count = int(rng.integers(models[0], min(models[1], concepts[1]) + 1))
    concept_count = int(rng.integers(max(concepts[0], model_count), concepts[1] + 1))
    clause_count = int(rng.integers(clauses[0], clauses[1] + 1))
    first_of_link = rng.random(clause_count) >= joined
    first_of_link[0] = True
    links = np.cumsum(first_of_link) - 1
    extra = rng.integers(0, model_count, size=concept_count - model_count)
    answered_by = np.concatenate([np.arange(model_count), extra])
    return Instance(
        costs=_log_uniform(costs, model_count, rng),
        answered_by=rng.permutation(answered_by).astype(np.int32),
        selectivity=rng.uniform(*selectivity, size=concept_count),
        clauses=tuple(
            (int(link), _literals(concept_count, literals, negated, rng)) for link in links
        ),
        links=int(links[-1]) + 1,
    )


def outcomes(instance: Instance, events: int, rng: np.random.Generator) -> Bools:
    """What is true of each event: a matrix of events × concepts."""
    return rng.random((events, instance.concepts)) < instance.selectivity


def _weights(
    concepts: int, popularity: Popularity, exponent: float, rng: np.random.Generator
) -> Floats:
    if popularity == "zipf":
        return np.arange(1, concepts + 1, dtype=np.float64) ** -exponent
    return 1.0 - rng.random(concepts)


def _conjunctions(
    subscriptions: int, weights: Floats, at_most: int, rng: np.random.Generator
) -> tuple[Clause, ...]:
    """One clause for each link.

    The highest of Gumbel draws, shifted by the logarithms of the weights, are a weighted choice
    without replacement.
    """
    draws = np.log(weights) + rng.gumbel(size=(subscriptions, len(weights)))
    preferred = np.argsort(-draws, axis=1)[:, :at_most]
    sizes = rng.integers(1, preferred.shape[1] + 1, size=subscriptions)
    return tuple(
        (link, tuple(sorted(2 * concept for concept in row[:size])))
        for link, (row, size) in enumerate(zip(preferred.tolist(), sizes.tolist(), strict=True))
    )


def _literals(
    concepts: int, sizes: tuple[int, int], negated: float, rng: np.random.Generator
) -> tuple[int, ...]:
    size = int(rng.integers(min(sizes[0], concepts), min(sizes[1], concepts) + 1))
    chosen = np.sort(rng.choice(concepts, size=size, replace=False))
    return tuple((2 * chosen + (rng.random(size) < negated)).tolist())


def _log_uniform(between: Range, size: int, rng: np.random.Generator) -> Floats:
    return np.exp(rng.uniform(np.log(between[0]), np.log(between[1]), size=size))


SCHEMA = pa.schema([("photo", pa.string())])
EVERYTHING = "TRUE"
"""The advertisement of a publisher that may publish any photo."""
PHOTO_BYTES = 100_000
"""The bytes of an event on a link: a photo of web size."""


@dataclass(frozen=True, slots=True)
class Subscription:
    """A subscription at a broker."""

    broker: str
    subscription_id: str
    where: str


@dataclass(frozen=True, slots=True, eq=False)
class Workload:
    """Subscriptions and events of an overlay; link i of the instance is subscription i."""

    instance: Instance
    subscriptions: tuple[Subscription, ...]
    truth: Bools
    """What is true of each event, by event and concept."""
    publishers: tuple[str, ...]
    """The broker where each event is published."""
    clauses: Mapping[str, tuple[WhereClause, ...]] = field(repr=False)
    """The clauses of each WHERE text."""
    event_bytes: int = PHOTO_BYTES

    @property
    def beliefs(self) -> Beliefs:
        """What brokers believe about costs and selectivities, which is the truth."""
        one = self.instance
        return Beliefs.of(concepts(one.concepts), one.costs, one.selectivity, one.answered_by)

    def read(self, where: str) -> tuple[WhereClause, ...]:
        """The clauses of a WHERE text."""
        return self.clauses[where]

    def expected(self) -> set[tuple[int, str]]:
        """The notifications that must be made: every subscription is evaluated on every event.

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
    """The concepts c0(photo), c1(photo), and so on."""
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


def parsed(wheres: list[str], concepts: int) -> dict[str, tuple[WhereClause, ...]]:
    """The clauses of texts that call c0, c1, ..."""
    texts = list(dict.fromkeys([*wheres, EVERYTHING]))
    vocabulary = Vocabulary.of((f"c{number}", "photo") for number in range(concepts))
    table = parse_all(texts, SCHEMA, concepts=vocabulary)
    for error in table.errors.values():
        raise error
    clauses: list[list[WhereClause]] = [[] for _ in texts]
    for number, owner in enumerate(table.owner.tolist()):
        clauses[owner].append(table.clause(number))
    return {text: tuple(some) for text, some in zip(texts, clauses, strict=True)}


def _homes(topology: Topology, count: int, rng: np.random.Generator) -> Int32s:
    """A broker for each subscription, in proportion to the brokers' loads."""
    loads: Floats = rng.random(len(topology))
    homes: Int32s = rng.choice(len(topology), size=count, p=loads / loads.sum()).astype(np.int32)
    return homes
