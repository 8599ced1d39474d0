"""Which links the events of a micro-batch must be sent through, and what is known about them then.

    batch, known ─▶ one executor for each source ─▶ rows and links, and all that is known then

An event never goes back where it came from, so each source has an executor of its own, in which
the source's clauses are not alive (section IV-A of the adaptive-filtering paper). The policies are
those of `forwarding` that decide a whole batch before any of it leaves:

    air     every entry is decided at the first broker that holds it; then nothing is left to ask
    mec     a link is decided as soon as one of its entries is; other brokers ask the rest
    emec    like mec, but a model's price counts what leaves when a link is satisfied
    ail     models run only for local subscribers; neighbours get whatever may concern them

What matches never depends on the policy. No policy asks what is known already: all answers of a
model that ran travel with the event, even those that nobody here wanted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from caddis.arrays import Bools, Int32s, offsets_of, places_in_rows
from caddis.language import Concept
from caddis.matching import LinkMatcher
from caddis.models import UNASKED, UNKNOWN, Asked, Asker, Catalogue, Reading, Statistics, Tally
from caddis.ordering import EventProblem, Executor, Outcome
from caddis.overlay.forwarding import Forwarding
from caddis.overlay.known_answers import KnownAnswers, concept_text
from caddis.overlay.messages import Neighbour
from caddis.overlay.routing import PublicationRoutingGraph

HERE = ""
"""The source of events that are published at this broker."""


@dataclass(frozen=True, slots=True)
class ModelContext:
    """What a broker runs models with: which there are, what is known about them, who asks them."""

    catalogue: Catalogue
    statistics: Statistics
    asker: Asker


@dataclass(frozen=True, slots=True)
class Routed:
    """Where the events of a batch go."""

    rows: Int32s
    links: Int32s
    """Pairs of row and link, each once, rows ascending; links are numbers of the graph's links."""
    known: KnownAnswers
    """For each row of the batch: what was known before, and what was learnt."""
    readings: tuple[Reading, ...]
    tallies: tuple[Tally, ...]
    """One for each reading."""
    problems: tuple[EventProblem, ...]


class Decider:
    """An executor whose answers are known by the texts of their concepts.

    policy: the order in which models run, as `ordering` names it.
    alive: for each entry of the matcher, whether it counts; all do by default.
    leads_to: for each entry, the link that it leads to; otherwise each is a link of its own.
    """

    def __init__(
        self,
        matcher: LinkMatcher,
        models: ModelContext,
        policy: str,
        alive: Bools | None = None,
        leads_to: Int32s | None = None,
    ) -> None:
        self.executor = Executor(
            [matcher],
            models.catalogue,
            statistics=models.statistics,
            asker=models.asker,
            policy=policy,
            alive=[alive],
            leads_to=leads_to,
        )
        self.texts = tuple(map(concept_text, self.executor.concepts))
        self._answers = {
            reading: _answered_by(reading, models.catalogue) for reading in self.executor.readings
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
    """Routes micro-batches through one broker.

    forwarding: one of BATCH_FORWARDINGS.
    """

    def __init__(
        self, graph: PublicationRoutingGraph, models: ModelContext, forwarding: Forwarding
    ) -> None:
        assert forwarding.in_batches, forwarding.name
        self.graph = graph
        self._models, self._forwarding = models, forwarding
        self._routers: dict[str, _SourceRouter] = {}

    def use(self, statistics: Statistics) -> None:
        """Go by what other tasks have learnt about the models by now."""
        self._models = replace(self._models, statistics=statistics)
        for router in self._routers.values():
            router.decider.executor.statistics = statistics

    def route(
        self,
        batch: pa.RecordBatch,
        known: KnownAnswers,
        source: str = HERE,
        keys: pa.Array | None = None,
    ) -> Routed:
        """Decide where events go.

        source: the neighbour that sent them, or HERE.
        keys: what to call the rows in an error.
        """
        if source not in self._routers:
            alive = self._alive(source)
            self._routers[source] = _SourceRouter(self.graph, alive, self._models, self._forwarding)
        return self._routers[source].route(batch, known, keys)

    def _alive(self, source: str) -> Bools:
        """For each entry: whether it came through another link than the events."""
        numbers = {link: number for number, link in enumerate(self.graph.neighbours)}
        alive: Bools = self.graph.link_of != numbers.get(Neighbour(source), -1)
        return alive


class _SourceRouter:
    """Routes the events of one source.

    alive: for each entry of the graph, whether it counts.
    """

    def __init__(
        self,
        graph: PublicationRoutingGraph,
        alive: Bools,
        models: ModelContext,
        forwarding: Forwarding,
    ) -> None:
        order = "emec" if forwarding.extended else "unit-price"
        away = graph.link_of < len(graph.neighbours)
        self._link_of = graph.link_of if forwarding.apart else None
        """For each entry its link, if entries are decided one by one and joined afterwards."""
        self._beyond: Decider | None = None
        """Never asks a model; it only tells which clauses behind neighbours may still hold."""
        if forwarding.floods:
            self._beyond = Decider(graph.matcher, models, order, alive & away, graph.link_of)
            alive = alive & ~away
        leads_to = None if forwarding.apart else graph.link_of
        self.decider = Decider(graph.matcher, models, order, alive, leads_to)

    def route(self, batch: pa.RecordBatch, known: KnownAnswers, keys: pa.Array | None) -> Routed:
        """Run the models that are needed, then tell which links each row goes through."""
        outcome, known = self.decider.match(batch, known, keys)
        rows, links = outcome.rows, outcome.links
        if self._link_of is not None:
            rows, links = _each_once(rows, self._link_of[links])
        if self._beyond is not None:
            more_rows, more_links = _may_concern(self._beyond, batch, known)
            rows, links = _each_once(
                np.concatenate([more_rows, rows]), np.concatenate([more_links, links])
            )
        readings = self.decider.executor.readings
        return Routed(rows, links, known, readings, outcome.tallies, outcome.problems)


def _may_concern(
    decider: Decider, batch: pa.RecordBatch, known: KnownAnswers
) -> tuple[Int32s, Int32s]:
    """Rows and the links behind which a clause may still be satisfied, some pairs repeatedly."""
    demand = decider.executor.demand
    rows, clauses = decider.executor.candidates(batch)
    keep = ~_refuted(demand.of_clause[clauses], rows, decider, known)
    rows, clauses = rows[keep], clauses[keep]
    counts = np.diff(demand.link_starts)[clauses]
    places = np.repeat(demand.link_starts[clauses], counts) + places_in_rows(counts)
    return np.repeat(rows, counts), demand.links[places]


def _refuted(needs: Int32s, rows: Int32s, decider: Decider, known: KnownAnswers) -> Bools:
    """For each pair of need and row: whether an answer that is known makes it false."""
    refuted = np.zeros(len(needs), bool)
    # A clause without concepts has no need (-1), and nothing can refute it.
    open_ = np.flatnonzero(needs >= 0)
    if not len(open_):
        return refuted
    demand, marks = decider.executor.demand, known.of(decider.texts)
    begin = demand.starts[needs[open_]]
    counts = demand.starts[needs[open_] + 1] - begin
    literals = demand.literals[np.repeat(begin, counts) + places_in_rows(counts)]
    mark = marks[np.repeat(rows[open_], counts), literals >> 1]
    # Literal 2c is concept c and 2c + 1 is NOT c, while NO is 0 and YES is 1: an answer refutes the
    # literal whose lowest bit it equals. UNKNOWN makes neither true.
    false = (mark == UNKNOWN) | (mark == literals & 1)
    refuted[open_] = np.logical_or.reduceat(false, offsets_of(counts)[:-1])
    return refuted


def _answered_by(reading: Reading, catalogue: Catalogue) -> list[tuple[int, str]]:
    """The concepts that a reading is the one to answer: their places in its answers, and texts."""
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
