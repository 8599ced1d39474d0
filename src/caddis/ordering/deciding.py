"""One batch on its way through the models: what is known of it, and what was counted.

A `BatchRun` joins the graphs of ordering with the models that answer. What is known beforehand,
and what is null, is settled first; then models are asked in rounds until nothing is open.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from caddis.arrays import Bools, Int32s
from caddis.errors import ModelError
from caddis.matching import values_of
from caddis.models import (
    UNASKED,
    UNKNOWN,
    Asked,
    Asker,
    Assignment,
    Marks,
    ModelFailed,
    Reading,
    Tally,
    plain,
)
from caddis.ordering.demand import Demand, unshared
from caddis.ordering.graph import Graphs, Plan
from caddis.ordering.policies import RUN_EVERYTHING, Policy, concepts_of, decide

Watch = Callable[[Reading, Int32s, Asked], None]
"""Is called each time a model was asked, with the rows of the batch that it was asked about."""


@dataclass(frozen=True, slots=True)
class EventProblem:
    """Why an event has no answer from a model: unreadable, or the model `failed` on it."""

    row: int
    reading: Reading
    reason: str
    failed: bool


class BatchRun:
    """The answers about one batch, as they come in.

    known: what is known beforehand, a row for each event and a column for each concept; UNASKED
        where nothing is.
    keys: what to call the rows in an error.
    """

    def __init__(
        self,
        batch: pa.RecordBatch,
        demand: Demand,
        assignment: Assignment,
        asker: Asker,
        *,
        known: Marks | None = None,
        keys: pa.Array | None = None,
        watch: Watch | None = None,
    ) -> None:
        self._demand, self._assignment, self._asker = demand, assignment, asker
        self._keys, self._watch = keys, watch
        self._values = [_values(batch, reading) for reading in assignment.readings]
        shape = (batch.num_rows, len(demand.concepts))
        self.known = np.full(shape, UNASKED, np.uint8) if known is None else known.copy()
        self.problems: list[EventProblem] = []
        self.tallies = [Tally() for _ in assignment.readings]
        self.last = list(self.tallies)
        """The tallies of the last call of `decide`."""

    def decide(self, rows: Int32s, clauses: Int32s, policy: Policy, plan: Plan) -> Bools:
        """Ask models until it is known which of these pairs of row and clause hold.

        A pair whose links were all satisfied by other clauses is not decided, and does not count
        as one that holds.
        """
        self.last = [Tally() for _ in self.tallies]
        row_of, events = np.unique(rows, return_inverse=True)
        self._note_nulls(row_of)
        decided = self._shared if policy.shares else self._apart
        holds = decided(row_of, events.astype(np.int32), clauses, policy, plan)
        self.tallies = [one + new for one, new in zip(self.tallies, self.last, strict=True)]
        return holds

    def _shared(
        self, row_of: Int32s, events: Int32s, clauses: Int32s, policy: Policy, plan: Plan
    ) -> Bools:
        graphs = Graphs(self._demand, plan, events, clauses, len(row_of))
        self._rounds(graphs, row_of, policy, plan)
        return graphs.satisfied()

    def _apart(
        self, row_of: Int32s, events: Int32s, clauses: Int32s, policy: Policy, plan: Plan
    ) -> Bools:
        """Decide every subscription of an event as if it were alone."""
        apart = unshared(self._demand, events, clauses)
        graphs = Graphs(apart.demand, plan, apart.events, apart.clauses, len(apart.event_of))
        self._rounds(graphs, row_of[apart.event_of], policy, plan)
        holds = np.zeros(len(events), bool)
        holds[apart.pair_of[graphs.satisfied()]] = True
        return holds

    def _rounds(self, graphs: Graphs, row_of: Int32s, policy: Policy, plan: Plan) -> None:
        concepts = concepts_of(plan)
        graphs.tell(
            np.arange(len(row_of), dtype=np.int32),
            np.arange(len(self._demand.concepts), dtype=np.int32),
            self.known[row_of],
        )
        graphs.settle()
        needed = RUN_EVERYTHING.next_models(graphs, plan).sum(axis=0)
        for model, count in enumerate(needed.tolist()):
            self.last[model] += Tally(needed=count)

        def answer(model: int, asking: Int32s) -> Marks:
            return self._ask(model, row_of[asking])[:, self._assignment.answer_at[concepts[model]]]

        decide(graphs, plan, policy, answer)
        # UNASKED is the highest mark, so that the lower of two is what is known.
        np.minimum.at(self.known, row_of, graphs.known)

    def _note_nulls(self, rows: Int32s) -> None:
        """Mark what is asked of a null as unknown: no model need be asked."""
        for place, values in enumerate(self._values):
            null = rows[~_is_valid(values, rows)]
            for concept in np.flatnonzero(self._assignment.answered_by == place):
                unasked = null[self.known[null, concept] == UNASKED]
                self.known[unasked, concept] = UNKNOWN

    def _ask(self, model: int, rows: Int32s) -> Marks:
        """What a reading's model answers about rows.

        It is asked twice about a row that comes twice, as rows do if nothing is shared.
        """
        concepts = self._assignment.readings[model].model.concepts
        marks = np.empty((len(rows), len(concepts)), np.uint8)
        turn = _nth_time(rows)
        for nth in range(int(turn.max()) + 1):
            marks[turn == nth] = self._ask_once(model, rows[turn == nth])
        return marks

    def _ask_once(self, model: int, rows: Int32s) -> Marks:
        reading, values = self._assignment.readings[model], self._values[model]
        assert values is not None
        try:
            asked = self._asker.ask(reading, values.take(pa.array(rows)))
        except ModelFailed as failure:
            raise ModelError(
                f"the model {reading.model.name!r} failed on {self._called(int(rows[failure.row]))}"
                f": {failure.reason}"
            ) from failure
        self.last[model] += asked.tally
        self.problems += [
            EventProblem(int(rows[one.row]), reading, one.reason, one.failed)
            for one in asked.problems
        ]
        if self._watch is not None:
            self._watch(reading, rows, asked)
        return asked.marks

    def _called(self, row: int) -> str:
        return f"row {row}" if self._keys is None else f"event {self._keys[row].as_py()!r}"


def _values(batch: pa.RecordBatch, reading: Reading) -> pa.Array | None:
    """What a reading reads of each row, in a layout from which rows can be taken."""
    values = values_of(batch, reading.column)
    return None if values is None else plain(values)


def _is_valid(values: pa.Array | None, rows: Int32s) -> Bools:
    if values is None:
        return np.zeros(len(rows), bool)
    if values.null_count == 0:
        return np.ones(len(rows), bool)
    valid: Bools = values.is_valid().to_numpy(zero_copy_only=False)[rows]
    return valid


def _nth_time(rows: Int32s) -> Int32s:
    """How often the row at each place has stood before it."""
    order = np.argsort(rows, kind="stable")
    first = np.flatnonzero(np.diff(rows[order], prepend=-1))
    nth = np.empty(len(rows), np.int32)
    nth[order] = np.arange(len(rows)) - np.repeat(first, np.diff(np.append(first, len(rows))))
    return nth
