"""What ordering has compiled before it is used, in shares that need not wait for each other.

Each kernel that a policy chooses by is a share; another one is all that is around them.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from caddis.arrays import Int32s
from caddis.compiling import Need
from caddis.language import Column, Concept
from caddis.models import YES, Marks
from caddis.ordering.demand import Demand
from caddis.ordering.graph import Graphs, Plan
from caddis.ordering.kernels import NEED, PART, WAIT, Clauses, PlanArrays
from caddis.ordering.policies import POLICIES, RUN_EVERYTHING, Chooser, concepts_of, decide

SETTLING = "settling"


def needed(policy: str | None = None) -> Need:
    """What must be compiled for a policy."""
    chosen = POLICIES.named(policy)
    return Need("caddis.ordering", chosen.name, (SETTLING, *map(_name, chosen.choosers)))


def warm_up(policy: str, share: str) -> None:
    """Compile a share of the kernels of a policy, if this machine has not yet."""
    if share == SETTLING:
        _settle(policy)
        return
    [choose] = [one for one in POLICIES.named(policy).choosers if _name(one) == share]
    _choose_for_none(choose)


def _name(choose: Chooser) -> str:
    return choose.__name__.removeprefix("by_").replace("_", "-")


def _choose_for_none(choose: Chooser) -> None:
    """Have no parts chosen for, in arrays of the same types as any others."""
    numbers, chances = np.empty(0, np.int32), np.empty(0, np.float64)
    choose(
        numbers,
        np.empty(0, PART),
        Clauses(
            numbers,
            np.empty(0, NEED),
            np.empty(0, WAIT),
            numbers,
            numbers,
            np.empty(0, bool),
        ),
        PlanArrays(chances, chances, numbers),
    )


def _settle(policy: str) -> None:
    """Decide one event, whatever the policy would choose."""
    column = Column(("event",), pa.binary())
    concepts = tuple(Concept(name, column) for name in ("one", "two", "three"))
    demand = Demand.from_edges(
        concepts,
        [(0, 3), (2, 4)],
        np.array([0, 1, 1], np.int32),
        np.arange(3),
        np.array([0, 0, 1]),
        [0, 3],
        [0, 2],
    )
    answered_by = np.array([0, 0, 1], np.int32)
    plan = Plan.of(demand, np.ones(2), np.full(3, 0.5), answered_by)
    events, clauses = np.zeros(3, np.int32), np.arange(3, dtype=np.int32)
    concepts_asked = concepts_of(plan)

    def answer(model: int, asking: Int32s) -> Marks:
        return np.full((len(asking), len(concepts_asked[model])), YES, np.uint8)

    graphs = Graphs(demand, plan, events, clauses, 1)
    POLICIES.named(policy).look(graphs, plan)
    decide(graphs, plan, RUN_EVERYTHING, answer)
