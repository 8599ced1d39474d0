"""The residual graphs of a batch: built from candidates, settled by answers.

Read `layout` for the arrays and `residual_kernels` for the rules.
"""

from __future__ import annotations

import numpy as np

from caddis.arrays import Bools, Int32s
from caddis.models import UNASKED, Marks
from caddis.ordering.demand import Demand
from caddis.ordering.kernels.choice import settle_events, tell
from caddis.ordering.kernels.graph import copy_literals, group_pairs, share_links, weigh
from caddis.ordering.kernels.layout import OPEN, SATISFIED, Clauses, GraphArrays
from caddis.ordering.plan import Plan


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
        weights, pinned = weigh(
            self._open_of, clauses, demand.link_starts, demand.pinned, len(need_of)
        )
        share_starts, shares, done = share_links(
            events,
            clauses,
            self._open_of,
            demand.share_starts,
            demand.shares,
            int(demand.link_offsets[-1]),
            len(need_of),
        )
        open_clauses = Clauses(
            np.arange(len(need_of), dtype=np.int32),
            *copy_literals(need_of, demand.starts, plan.literals),
            np.full(len(need_of), -1, np.int32),
            weights,
            pinned,
            share_starts,
            shares,
            done,
            np.full(len(need_of), OPEN, np.uint8),
        )
        self.arrays = GraphArrays(
            starts,
            np.diff(starts),
            open_clauses,
            np.full((count, len(demand.concepts)), UNASKED, np.uint8),
        )
        self.open = settle_events(
            np.flatnonzero(np.diff(starts)).astype(np.int32), self.arrays, bool(np.any(done))
        )

    @property
    def known(self) -> Marks:
        """By event and concept: what is known."""
        return self.arrays.known

    def tell(self, events: Int32s, concepts: Int32s, answers: Marks) -> None:
        """Note answers, a row an event and a column a concept; `settle` draws the conclusions."""
        tell(events, concepts, answers, self.arrays)

    def settle(self) -> None:
        """Draw the conclusions of all answers since the last time."""
        self.open = settle_events(self.open, self.arrays, False)

    def satisfied(self) -> Bools:
        """By candidate pair: whether its clause is known to hold."""
        # Behind the clauses' verdicts stand those of IGNORED and of DECIDED: -2 and -1.
        verdicts = np.append(self.arrays.clauses.verdicts, [OPEN, SATISFIED])
        holds: Bools = verdicts[self._open_of] == SATISFIED
        return holds
