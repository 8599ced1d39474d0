"""Matching with models: cheap predicates first, then as few models as can be.

    batch ─matchers─▶ candidate clauses ─┬─ nothing more to ask ─▶ matches
                                         └─ graphs ─rounds─▶ answers ─▶ matches

Events with open clauses are decided some dozens at first and then more at a time, and after each
slice the statistics learn from what ran, so that a plan made on guesses does not last. No event
without a candidate clause touches a model, nor does one whose candidates need none.

Statistics move with every slice, and most moves change no choice, or none that matters. A new plan
also forgets the choices that the old one has worked out. So when beliefs have moved, the `Planner`
tries both plans on the events at hand, with answers drawn as the new beliefs have it, and keeps the
old one unless it would cost noticeably more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from caddis.arrays import Bools, Floats, Int32s, places_in_rows
from caddis.language import Concept
from caddis.matching import LinkMatcher
from caddis.matching.kernels import in_row_order
from caddis.models import (
    NO,
    YES,
    Asker,
    Assignment,
    Catalogue,
    Marks,
    Reading,
    Statistics,
    Tally,
)
from caddis.ordering.deciding import BatchRun, EventProblem, Watch
from caddis.ordering.demand import GONE, Demand
from caddis.ordering.graph import Graphs, Plan
from caddis.ordering.policies import (
    POLICIES,
    Policy,
    concepts_of,
    decide,
)

FIRST_SLICE, LARGEST_SLICE = 32, 256
"""How many events are decided together at first, and at most; each slice is twice the one before.
The pictures of a slice stay decoded while one model after the other looks at them.
"""
MATERIAL = 0.02
"""The share of the expected cost that a new plan must save."""
COST_MOVED, CHANCE_MOVED = 1.1, 0.03
"""How far a cost (a factor) or a chance (a difference) moves before a new plan is considered."""
PAIRS_IN_A_TURN = 1 << 21
"""How many pairs of row and link are handed over at once: a clause may lead to a million links."""
TRIED_ON = 64
"""Events that plans are compared on."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a batch."""

    rows: Int32s
    links: Int32s
    """Pairs, each once, rows ascending; links are numbered through all matchers."""
    known: Marks
    """What was learnt or known before, a row for each event and a column for each concept."""
    tallies: tuple[Tally, ...]
    """What was counted of each reading of the executor."""
    problems: tuple[EventProblem, ...]


class Executor:
    """Decides which links a batch's rows satisfy, with models.

    matchers: one for each part of the subscriptions; link i of a part is number i from that part's
        offset on.
    alive: which links of each part are to be matched; None for all.
    leads_to: the target of each link, if links of the same target are satisfied together, as those
        behind one neighbouring broker are; the outcome's links are targets then.
    statistics: what is believed of the models; it learns from every batch.
    policy: the name of one of POLICIES; None for the default.

    >>> import time
    >>> from caddis.matching import Matcher
    >>> from caddis.models import concept
    >>> @concept(reads="title")
    ... def shouts(title):
    ...     return title.isupper()
    >>> schema = pa.schema([("city", pa.string()), ("title", pa.string())])
    >>> wheres = ["city = 'Galway' AND shouts(title)", "NOT shouts(title)"]
    >>> table = pa.table({"subscription_id": ["ann", "bo"], "where": wheres})
    >>> catalogue = Catalogue([shouts])
    >>> matcher = Matcher.compile(table, schema, concepts=catalogue.vocabulary)
    >>> asker = Asker(cache=None, clock=time.perf_counter)
    >>> executor = Executor([matcher], catalogue, statistics=Statistics(), asker=asker)
    >>> batch = pa.record_batch({"city": ["Galway", "Cork"], "title": ["SALE", None]}, schema)
    >>> outcome = executor.match(batch)
    >>> outcome.rows.tolist(), outcome.links.tolist(), outcome.tallies[0].runs
    ([0], [0], 1)
    """

    def __init__(
        self,
        matchers: Sequence[LinkMatcher],
        catalogue: Catalogue,
        *,
        statistics: Statistics,
        asker: Asker,
        policy: str | None = None,
        alive: Sequence[Bools | None] = (),
        leads_to: Int32s | None = None,
    ) -> None:
        self.matchers = tuple(matchers)
        self.demand = Demand.of(self.matchers, alive)
        if leads_to is not None:
            self.demand = self.demand.led_to(leads_to, int(leads_to.max(initial=-1)) + 1)
        self.assignment = catalogue.assign(self.demand.concepts, _declared_cost)
        self.policy = POLICIES.named(policy)
        self.statistics = statistics
        self.planner = Planner(self.demand, self.assignment, self.policy, statistics)
        self._asker = asker
        self._slice_size = FIRST_SLICE
        several = np.zeros(int(self.demand.link_offsets[-1]), bool)
        several[self.demand.shares] = True
        self._several = several if several.any() else np.zeros(0, bool)
        self._several.flags.writeable = False  # as in a Matcher: another type is compiled again

    @property
    def concepts(self) -> tuple[Concept, ...]:
        """What the subscriptions ask of models."""
        return self.demand.concepts

    @property
    def readings(self) -> tuple[Reading, ...]:
        """The models that answer, each set to the column that it reads."""
        return self.assignment.readings

    def match(
        self,
        batch: pa.RecordBatch,
        *,
        known: Marks | None = None,
        keys: pa.Array | None = None,
        watch: Watch | None = None,
    ) -> Outcome:
        """Which rows satisfy which links.

        known: what is known already, a row for each event and a column for each concept; UNASKED
            where nothing is.
        keys: what to call the rows in an error.
        watch: is called each time a model was asked.
        """
        run = BatchRun(
            batch, self.demand, self.assignment, self._asker, known=known, keys=keys, watch=watch
        )
        found = [(rows, clauses) for rows, clauses, _ in self._found(run, batch)]
        pairs = self._links(found, batch.num_rows)
        return Outcome(*pairs, run.known, tuple(run.tallies), tuple(run.problems))

    def match_in_turns(
        self,
        batch: pa.RecordBatch,
        *,
        keys: pa.Array | None = None,
        most_pairs: int = PAIRS_IN_A_TURN,
    ) -> Iterator[Outcome]:
        """Match slice by slice, so that not all pairs are held at once.

        No event is in two turns; what was counted and the problems are those since the last turn.

        most_pairs: how many pairs of row and link a turn has, unless they are a single row's.
        """
        run = BatchRun(batch, self.demand, self.assignment, self._asker, keys=keys)
        for rows, clauses, last in self._found(run, batch):
            tallies = last
            for some, wanted in self._cut(rows, clauses, most_pairs):
                problems, run.problems = tuple(run.problems), []
                pairs = self._links([(some, wanted)], batch.num_rows)
                yield Outcome(*pairs, run.known, tallies, problems)
                tallies = tuple(Tally() for _ in self.readings)

    def _found(
        self, run: BatchRun, batch: pa.RecordBatch
    ) -> Iterator[tuple[Int32s, Int32s, tuple[Tally, ...]]]:
        """Pairs of row and clause that hold, all of an event at a time, and what models did."""
        rows, clauses = self.candidates(batch)
        is_open = np.zeros(batch.num_rows, bool)
        is_open[rows[self.demand.of_clause[clauses] >= 0]] = True
        later = is_open[rows]
        yield rows[~later], clauses[~later], tuple(Tally() for _ in self.readings)
        for some, wanted in self._slices(rows[later], clauses[later]):
            holds = run.decide(some, wanted, self.policy, self.planner.plan)
            for reading, tally in zip(self.readings, run.last, strict=True):
                self.statistics.learn(reading, tally)
            self.planner.reconsider(self.statistics, some, wanted)
            yield some[holds], wanted[holds], tuple(run.last)

    def _cut(
        self, rows: Int32s, clauses: Int32s, most_pairs: int
    ) -> Iterator[tuple[Int32s, Int32s]]:
        """The same pairs, cut between rows so that clauses lead to so many links; once at least."""
        starts = self.demand.link_starts
        ends = np.cumsum(starts[clauses + 1] - starts[clauses])
        firsts = np.append(np.flatnonzero(np.diff(rows, prepend=-1)), len(rows))
        before = np.append(0, ends)[firsts]
        at, last = 0, len(firsts) - 1
        while True:
            fitting = int(np.searchsorted(before, before[at] + most_pairs, side="right")) - 1
            end = min(max(fitting, at + 1), last)
            yield rows[firsts[at] : firsts[end]], clauses[firsts[at] : firsts[end]]
            if end == last:
                return
            at = end

    def candidates(self, batch: pa.RecordBatch) -> tuple[Int32s, Int32s]:
        """Rows and the clauses of the demand whose predicates they satisfy, rows ascending."""
        all_rows, all_clauses = [np.zeros(0, np.int32)], [np.zeros(0, np.int32)]
        for matcher, offset in zip(self.matchers, self.demand.offsets, strict=False):
            found = matcher.candidates(batch)
            all_rows.append(found.rows)
            all_clauses.append(found.clauses + np.int32(offset))
        rows, clauses = np.concatenate(all_rows), np.concatenate(all_clauses)
        alive = self.demand.of_clause[clauses] != GONE
        rows, clauses = rows[alive], clauses[alive]
        order = np.argsort(rows, kind="stable") if len(self.matchers) > 1 else slice(None)
        return rows[order], clauses[order]

    def _slices(self, rows: Int32s, clauses: Int32s) -> Iterator[tuple[Int32s, Int32s]]:
        """The pairs of some events, then of some more."""
        firsts = np.append(np.flatnonzero(np.diff(rows, prepend=-1)), len(rows))
        begin = 0
        while begin < len(firsts) - 1:
            end = min(begin + self._slice_size, len(firsts) - 1)
            yield rows[firsts[begin] : firsts[end]], clauses[firsts[begin] : firsts[end]]
            begin = end
            self._slice_size = min(2 * self._slice_size, LARGEST_SLICE)

    def _links(self, found: Sequence[tuple[Int32s, Int32s]], rows: int) -> tuple[Int32s, Int32s]:
        """The links of satisfied pairs, each once a row."""
        row, clause = (np.concatenate(some) for some in zip(*found, strict=True))
        starts = self.demand.link_starts
        counts = starts[clause + 1] - starts[clause]
        links = self.demand.links[np.repeat(starts[clause], counts) + places_in_rows(counts)]
        pairs = np.stack([np.repeat(row, counts), links], axis=1).astype(np.int32)
        return in_row_order(pairs, rows, self._several)


def _declared_cost(reading: Reading) -> float:
    """What a model costs as declared: who answers must not depend on what was measured."""
    return reading.model.cost


class Planner:
    """Keeps the plan of a demand up to date with what statistics say."""

    def __init__(
        self, demand: Demand, assignment: Assignment, policy: Policy, statistics: Statistics
    ) -> None:
        self._demand, self._assignment, self._policy = demand, assignment, policy
        self._believed = self._beliefs(statistics)
        self.plan = self._plan(*self._believed)

    def reconsider(self, statistics: Statistics, events: Int32s, clauses: Int32s) -> None:
        """Change the plan if that would have paid for these candidate pairs, sorted by event."""
        beliefs = self._beliefs(statistics)
        if not _moved(self._believed, beliefs):
            return
        self._believed = beliefs
        places = np.unique(events, return_inverse=True)[1].astype(np.int32)
        some = places < TRIED_ON
        sample = places[some], clauses[some]
        new = self._plan(*beliefs)
        if self._cost(new, beliefs, *sample) < (1 - MATERIAL) * self._cost(
            self.plan, beliefs, *sample
        ):
            self.plan = new

    def _beliefs(self, statistics: Statistics) -> tuple[Floats, Floats]:
        """What each reading costs, and how often each concept is true."""
        readings = self._assignment.readings
        costs = [statistics.cost(reading) for reading in readings]
        selectivity = [
            statistics.selectivity(readings[place], concept.name)
            for concept, place in zip(
                self._demand.concepts, self._assignment.answered_by.tolist(), strict=True
            )
        ]
        return np.array(costs, np.float64), np.array(selectivity, np.float64)

    def _plan(self, costs: Floats, selectivity: Floats) -> Plan:
        return Plan.of(self._demand, costs, selectivity, self._assignment.answered_by)

    def _cost(
        self, plan: Plan, beliefs: tuple[Floats, Floats], events: Int32s, clauses: Int32s
    ) -> float:
        """What a plan would pay for events, if the world is as believed.

        The draws are the same for every plan, so that plans differ by their choices alone.
        """
        costs, selectivity = beliefs
        count = int(events[-1]) + 1
        draws: Bools = np.random.default_rng(0).random((count, len(selectivity))) < selectivity
        marks = np.where(draws, YES, NO).astype(np.uint8)
        concepts = concepts_of(plan)
        paid = 0.0

        def answer(model: int, asking: Int32s) -> Marks:
            nonlocal paid
            paid += float(costs[model]) * len(asking)
            return marks[np.ix_(asking, concepts[model])]

        decide(Graphs(self._demand, plan, events, clauses, count), plan, self._policy, answer)
        return paid


def _moved(old: tuple[Floats, Floats], new: tuple[Floats, Floats]) -> bool:
    """Whether a cost or a chance has moved far enough to think again."""
    costs = np.abs(np.log(new[0] / old[0])) > np.log(COST_MOVED)
    chances = np.abs(new[1] - old[1]) > CHANCE_MOVED
    return bool(costs.any() or chances.any())
