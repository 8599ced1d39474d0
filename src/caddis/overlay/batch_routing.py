"""Which links the events of a batch must be sent through, with what is known of them.

    batch, known ─▶ one executor for each source ─▶ rows and links, and all that is known then

An event never goes back where it came from, so each source has an executor of its own, in which
the source's clauses are not alive. Section IV-A of the adaptive-filtering paper; its policies are

    air     every entry is decided at the first broker that holds it; then nothing is left to ask
    mec     a link is decided as soon as one of its entries is; the rest is asked further on
    emec    the same, and models are priced with what leaves when a link is satisfied
    ail     models run only for those who subscribe here; neighbours get what may yet concern them

What matches never depends on the policy. No policy asks what is known already: all answers of a
model that ran travel with the event, also those that nobody wanted here.
"""

from __future__ import annotations

import difflib
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from caddis.arrays import Bools, Int32s
from caddis.errors import OverlayError
from caddis.language import Concept
from caddis.matching import LinkMatcher
from caddis.models import UNASKED, UNKNOWN, Asked, Asker, Catalogue, Reading, Statistics, Tally
from caddis.ordering import EventProblem, Executor, Outcome
from caddis.overlay.forwarding import FORWARDINGS
from caddis.overlay.known_answers import KnownAnswers, concept_text
from caddis.overlay.messages import Neighbour
from caddis.overlay.routing import PublicationRoutingGraph

DEFAULT = "emec"
HERE = ""
"""The source of events that are published at this broker."""


@dataclass(frozen=True, slots=True)
class Means:
    """What models are run with."""

    catalogue: Catalogue
    statistics: Statistics
    asker: Asker


@dataclass(frozen=True, slots=True)
class Routed:
    """Where the events of a batch go."""

    rows: Int32s
    links: Int32s
    """Pairs, each once, rows ascending; links are numbers of the graph's links."""
    known: KnownAnswers
    """By row of the batch: what was known before, and what was learnt."""
    readings: tuple[Reading, ...]
    tallies: tuple[Tally, ...]
    """By reading."""
    problems: tuple[EventProblem, ...]


class Decider:
    """An executor that takes in and gives out answers by the texts of their concepts."""

    def __init__(
        self,
        matcher: LinkMatcher,
        means: Means,
        policy: str,
        alive: Bools | None = None,
        leads_to: Int32s | None = None,
    ) -> None:
        self.executor = Executor(
            [matcher],
            means.catalogue,
            statistics=means.statistics,
            asker=means.asker,
            policy=policy,
            alive=[alive],
            leads_to=leads_to,
        )
        self.texts = tuple(map(concept_text, self.executor.concepts))
        self._answers = {
            reading: _answered_by(reading, means.catalogue) for reading in self.executor.readings
        }

    def match(
        self, batch: pa.RecordBatch, known: KnownAnswers, keys: pa.Array | None = None
    ) -> tuple[Outcome, KnownAnswers]:
        """Which rows satisfy which links, and what is known then."""
        learnt: dict[str, Int32s] = {}

        def learn(reading: Reading, rows: Int32s, asked: Asked) -> None:
            for place, text in self._answers[reading]:
                marks = learnt.setdefault(text, np.full(batch.num_rows, UNASKED, np.uint8))
                marks[rows] = asked.marks[:, place]

        outcome = self.executor.match(batch, known=known.of(self.texts), keys=keys, watch=learn)
        known = known.joined(self.texts, outcome.known)
        if learnt:
            known = known.joined(list(learnt), np.stack(list(learnt.values()), axis=1))
        return outcome, known


class BatchRouter:
    """Routes batches through one broker.

    policy: by its name.

    >>> BatchRouter(PublicationRoutingGraph.compile({}), None, "frontier")
    Traceback (most recent call last):
    caddis.errors.OverlayError: micro-batches have no policy 'frontier', as messages ... emec, ail
    """

    def __init__(self, graph: PublicationRoutingGraph, means: Means, policy: str = DEFAULT) -> None:
        self.graph = graph
        self._means = means
        self._policy = POLICIES[policy_named(policy)]
        self._ways: dict[str, Way] = {}

    def use(self, statistics: Statistics) -> None:
        """Go by what others have learnt by now."""
        self._means = Means(self._means.catalogue, statistics, self._means.asker)
        for way in self._ways.values():
            way.decider.executor.statistics = statistics

    def route(
        self,
        batch: pa.RecordBatch,
        known: KnownAnswers,
        source: str = HERE,
        keys: pa.Array | None = None,
    ) -> Routed:
        """Where events go that came from a neighbour, or were published here.

        keys: what to call the rows in an error.
        """
        if source not in self._ways:
            self._ways[source] = self._policy(self.graph, self._alive(source), self._means)
        return self._ways[source].route(batch, known, keys)

    def _alive(self, source: str) -> Bools:
        """By entry: whether it came through another link than the events."""
        numbers = {link: number for number, link in enumerate(self.graph.neighbours)}
        alive: Bools = self.graph.link_of != numbers.get(Neighbour(source), -1)
        return alive


class Way(ABC):
    """How events of one source are routed: one for each policy.

    alive: by entry of the graph, whether it counts.
    """

    decider: Decider

    @abstractmethod
    def __init__(self, graph: PublicationRoutingGraph, alive: Bools, means: Means) -> None: ...

    def route(self, batch: pa.RecordBatch, known: KnownAnswers, keys: pa.Array | None) -> Routed:
        """Decide a batch."""
        outcome, known = self.decider.match(batch, known, keys)
        rows, links = self.links(batch, outcome, known)
        return Routed(
            rows,
            links,
            known,
            self.decider.executor.readings,
            outcome.tallies,
            outcome.problems,
        )

    def links(
        self, batch: pa.RecordBatch, outcome: Outcome, known: KnownAnswers
    ) -> tuple[Int32s, Int32s]:
        """Rows and the graph's links that they go through, once the models have run."""
        del batch, known
        return outcome.rows, outcome.links


class Mec(Way):
    """A link is decided as soon as one of its entries is."""

    order = "unit-price"

    def __init__(self, graph: PublicationRoutingGraph, alive: Bools, means: Means) -> None:
        self.decider = Decider(graph.matcher, means, self.order, alive, graph.link_of)


class Emec(Mec):
    """The same, and models are priced with what leaves when a link is satisfied."""

    order = "emec"


class Air(Way):
    """Every entry is decided, so that brokers further on have nothing left to ask."""

    def __init__(self, graph: PublicationRoutingGraph, alive: Bools, means: Means) -> None:
        self._link_of = graph.link_of
        self.decider = Decider(graph.matcher, means, "unit-price", alive)

    def links(
        self, batch: pa.RecordBatch, outcome: Outcome, known: KnownAnswers
    ) -> tuple[Int32s, Int32s]:
        """Those that the satisfied entries came through."""
        del batch, known
        return _each_once(outcome.rows, self._link_of[outcome.links])


class Ail(Way):
    """Models run only for local subscribers; what is not refuted is passed on."""

    def __init__(self, graph: PublicationRoutingGraph, alive: Bools, means: Means) -> None:
        away = graph.link_of < len(graph.neighbours)
        self.decider = Decider(graph.matcher, means, "unit-price", alive & ~away, graph.link_of)
        self._beyond = Decider(graph.matcher, means, "unit-price", alive & away, graph.link_of)

    def links(
        self, batch: pa.RecordBatch, outcome: Outcome, known: KnownAnswers
    ) -> tuple[Int32s, Int32s]:
        """Satisfied subscribers, and neighbours behind whom a clause may yet be satisfied."""
        demand = self._beyond.executor.demand
        rows, clauses = self._beyond.executor.candidates(batch)
        keep = ~_refuted(demand.of_clause[clauses], rows, self._beyond, known)
        rows, clauses = rows[keep], clauses[keep]
        counts = np.diff(demand.link_starts)[clauses]
        nth = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        links = demand.links[np.repeat(demand.link_starts[clauses], counts) + nth]
        return _each_once(
            np.concatenate([np.repeat(rows, counts), outcome.rows]),
            np.concatenate([links, outcome.links]),
        )


POLICIES: dict[str, type[Way]] = {"air": Air, "mec": Mec, "emec": Emec, "ail": Ail}
ONE_BY_ONE = FORWARDINGS.keys() - POLICIES.keys()
"""Policies of brokers that send and hear while an event is being decided."""


def policy_named(name: str) -> str:
    """The name, if micro-batches can be routed by that policy; else OverlayError."""
    if name in POLICIES:
        return name
    there = f"There is: {', '.join(POLICIES)}"
    if name in ONE_BY_ONE:
        raise OverlayError(
            f"micro-batches have no policy {name!r}, as messages would have to pass while an "
            f"event is being decided. {there}"
        )
    near = difflib.get_close_matches(name, POLICIES, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else "."
    raise OverlayError(f"there is no overlay policy {name!r}{hint} {there}")


def _refuted(needs: Int32s, rows: Int32s, decider: Decider, known: KnownAnswers) -> Bools:
    """By pair of need and row: whether an answer that is known makes it false."""
    refuted = np.zeros(len(needs), bool)
    open_ = np.flatnonzero(needs >= 0)
    if not len(open_):
        return refuted
    demand, marks = decider.executor.demand, known.of(decider.texts)
    begin = demand.starts[needs[open_]]
    counts = demand.starts[needs[open_] + 1] - begin
    firsts = np.cumsum(counts) - counts
    nth = np.arange(counts.sum()) - np.repeat(firsts, counts)
    literals = demand.literals[np.repeat(begin, counts) + nth]
    mark = marks[np.repeat(rows[open_], counts), literals >> 1]
    false = (mark == UNKNOWN) | (mark == literals & 1)
    refuted[open_] = np.logical_or.reduceat(false, firsts)
    return refuted


def _answered_by(reading: Reading, catalogue: Catalogue) -> list[tuple[int, str]]:
    """The concepts that are a reading's to answer: their places in its answers, and texts."""
    concepts = [Concept(name, reading.column) for name in reading.model.concepts]
    assigned = catalogue.assign(concepts, lambda one: one.model.cost)
    return [
        (place, concept_text(concept))
        for place, concept in enumerate(concepts)
        if assigned.readings[assigned.answered_by[place]] == reading
    ]


def _each_once(rows: Int32s, links: Int32s) -> tuple[Int32s, Int32s]:
    """The pairs without repetitions, rows ascending."""
    pairs = np.unique(np.stack([rows, links], axis=1), axis=0).astype(np.int32)
    return pairs[:, 0], pairs[:, 1]
