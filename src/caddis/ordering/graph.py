"""What is undecided of a batch's events, and the plan by which policies choose.

`Graphs` holds the residual graphs of a batch: built from candidates, settled by answers. Read
`kernels.layout` for the arrays and `kernels.residual` for the rules.

A `Plan` holds believed prices and chances, and the choices made from them. It does not change. When
beliefs do, a new plan is made, and with it a new memory of choices: which model to run depends on
nothing but the plan and what is left open, so an event that is left with what another one was left
with needs no second thought.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from caddis.arrays import Bools, Floats, Int32s
from caddis.matching.kernels import ordered_members
from caddis.models import UNASKED, Marks
from caddis.ordering.demand import Demand
from caddis.ordering.kernels import (
    MEMO,
    NEED,
    OPEN,
    SATISFIED,
    WAIT,
    Clauses,
    GraphArrays,
    MemoArrays,
    PlanArrays,
    copy_literals,
    group_pairs,
    settle_events,
    share_links,
    tell,
    weigh,
)


def empty_memo() -> MemoArrays:
    """A memory without choices."""
    return MemoArrays(np.zeros(MEMO, np.int64), np.zeros(MEMO, np.int64), np.zeros(1, np.int64))


@dataclass(frozen=True, slots=True)
class Plan:
    """Beliefs about the models and concepts of a demand."""

    arrays: PlanArrays
    literals: Int32s
    """The literals of each need of the demand, cheapest to refute first."""
    memo: MemoArrays = field(default_factory=empty_memo)

    @classmethod
    def of(cls, demand: Demand, costs: Floats, selectivity: Floats, answered_by: Int32s) -> Plan:
        """Make a plan.

        costs: what each model costs.
        selectivity: how often each concept is true.
        answered_by: the model that answers each concept.
        """
        chances = np.stack([selectivity, 1 - selectivity], axis=1).ravel()
        arrays = PlanArrays(
            costs.astype(np.float64), chances.astype(np.float64), answered_by.astype(np.int32)
        )
        rank = _refutation_rank(arrays)
        return cls(arrays, ordered_members(demand.starts, demand.literals, rank))

    @property
    def models(self) -> int:
        return len(self.arrays.costs)


def _refutation_rank(plan: PlanArrays) -> Floats:
    """What it costs to refute a clause by each literal; one that is certain comes last.

    Literals of one model may cost the same; `ordered_members` leaves these in the order of their
    numbers, so that equal needs look equal.
    """
    costs = np.repeat(plan.costs[plan.answered_by], 2)
    rank: Floats = costs / np.maximum(1 - plan.chances, 1e-12)
    return rank


class Graphs:
    """What is undecided of some events.

    events, clauses: the candidate pairs, sorted by event; clauses are those of the demand.
    """

    def __init__(
        self, demand: Demand, plan: Plan, events: Int32s, clauses: Int32s, count: int
    ) -> None:
        self._open_of, need_of, starts = group_pairs(
            events, clauses, demand.of_clause, len(demand), count
        )
        needs, waits = np.zeros(len(need_of), NEED), np.zeros(len(need_of), WAIT)
        waits["twin"], waits["verdict"] = -1, OPEN
        literals = copy_literals(need_of, demand.starts, plan.literals, needs)
        weigh(self._open_of, clauses, demand.link_starts, demand.pinned, needs, waits)
        shares, done = share_links(
            events,
            clauses,
            self._open_of,
            demand.share_starts,
            demand.shares,
            int(demand.link_offsets[-1]),
            waits,
        )
        order = np.arange(len(need_of), dtype=np.int32)
        self.arrays = GraphArrays(
            starts,
            np.diff(starts),
            Clauses(order, needs, waits, literals, shares, done),
            np.full((count, len(demand.concepts)), UNASKED, np.uint8),
        )
        self.open = settle_events(
            np.flatnonzero(np.diff(starts)).astype(np.int32), self.arrays, bool(np.any(done))
        )

    @property
    def known(self) -> Marks:
        """What is known, a row for each event and a column for each concept."""
        return self.arrays.known

    def tell(self, events: Int32s, concepts: Int32s, answers: Marks) -> None:
        """Note answers, a row for each event; `settle` draws the conclusions."""
        # Answers of some concepts lie column by column, which is another type to numba.
        tell(events, concepts, np.ascontiguousarray(answers), self.known)

    def settle(self) -> None:
        """Draw the conclusions of all answers since the last time."""
        self.open = settle_events(self.open, self.arrays, False)

    def satisfied(self) -> Bools:
        """Whether the clause of each candidate pair is known to hold."""
        # Behind the clauses' verdicts stand those of IGNORED and of DECIDED: -2 and -1.
        verdicts = np.append(self.arrays.clauses.waits["verdict"], [OPEN, SATISFIED])
        holds: Bools = verdicts[self._open_of] == SATISFIED
        return holds
