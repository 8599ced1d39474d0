"""What the policies go by: believed prices and chances, and the choices made from them.

A plan does not change. When beliefs do, a new plan is made, and with it a new memory of choices:
which model to run depends on nothing but the plan and what is left open, so an event that is left
with what another one was left with needs no second thought.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from caddis.arrays import Floats, Int32s
from caddis.matching.kernels.posting import ordered_members
from caddis.ordering.demand import Demand
from caddis.ordering.kernels.layout import MEMO, MemoArrays, PlanArrays


def empty_memo() -> MemoArrays:
    """Room for choices."""
    return MemoArrays(np.zeros(MEMO, np.int64), np.zeros(MEMO, np.int32), np.zeros(1, np.int64))


@dataclass(frozen=True, slots=True)
class Plan:
    """Beliefs about the models and concepts of a demand."""

    arrays: PlanArrays
    literals: Int32s
    """By need of the demand: its literals, cheapest to refute first."""
    memo: MemoArrays = field(default_factory=empty_memo)

    @classmethod
    def of(cls, demand: Demand, costs: Floats, selectivity: Floats, answered_by: Int32s) -> Plan:
        """From what each model costs, how often each concept is true, and which model tells."""
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
    """By literal: what it costs to refute a clause by it; a certain one comes last.

    Literals of one model cost alike, so ties are broken by number: equal needs look equal.
    """
    costs = np.repeat(plan.costs[plan.answered_by], 2)
    rank: Floats = costs / np.maximum(1 - plan.chances, 1e-12)
    return rank
