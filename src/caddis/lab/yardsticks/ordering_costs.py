"""What deciding events costs under a policy, measured with the product's own kernels.

Policies are judged on drawn instances, whose outcomes are known, so that the certificate can be
worked out. A model is paid for once an event, whoever needs its answers; a policy that shares
nothing pays once for each link.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from caddis.arrays import Bools, Floats, Int32s
from caddis.language import Column, Concept
from caddis.models import NO, YES, Marks
from caddis.ordering import Demand, Graphs, Plan, Policy, concepts_of, decide, unshared
from caddis.ordering.certificate import Instance


def demand_of(instance: Instance) -> Demand:
    """The instance's clauses as a demand."""
    column = Column(("event",), pa.binary())
    needs: dict[tuple[int, ...], int] = {}
    of_clause = [needs.setdefault(literals, len(needs)) for _, literals in instance.clauses]
    return Demand.from_edges(
        tuple(Concept(f"c{number}", column) for number in range(instance.concepts)),
        list(needs),
        np.array(of_clause, np.int32),
        np.arange(len(instance.clauses)),
        np.array([link for link, _ in instance.clauses], np.int64),
        [0, len(instance.clauses)],
        [0, instance.links],
    )


def plan_of(instance: Instance, demand: Demand) -> Plan:
    """The plan of one who knows the instance's costs and selectivities."""
    return Plan.of(demand, instance.costs, instance.selectivity, instance.answered_by)


def policy_costs(instance: Instance, outcomes: Bools, policy: Policy) -> Floats:
    """What each event costs under a policy, if all clauses are candidates.

    outcomes: what is true of each event, a matrix of events × concepts.

    >>> from caddis.ordering import POLICIES
    >>> twice = Instance(
    ...     costs=np.array([5.0]),
    ...     answered_by=np.zeros(1, np.int32),
    ...     selectivity=np.array([0.5]),
    ...     clauses=((0, (0,)), (1, (0,))),
    ...     links=2,
    ... )
    >>> for name in ("unit-price", "per-subscription"):
    ...     policy_costs(twice, np.array([[True]]), POLICIES[name]).tolist()
    [5.0]
    [10.0]
    """
    events, clauses = (
        grid.ravel().astype(np.int32) for grid in np.indices((len(outcomes), len(instance.clauses)))
    )
    return candidate_costs(instance, outcomes, policy, events, clauses)


def candidate_costs(
    instance: Instance, outcomes: Bools, policy: Policy, events: Int32s, clauses: Int32s
) -> Floats:
    """What each event costs if only some clauses are its candidates: pairs sorted by event."""
    demand = demand_of(instance)
    event_of = np.arange(len(outcomes), dtype=np.int32)
    if not policy.shares:
        apart = unshared(demand, events, clauses)
        demand, events, clauses, event_of = (
            apart.demand,
            apart.events,
            apart.clauses,
            apart.event_of,
        )
    plan = plan_of(instance, demand)
    concepts = concepts_of(plan)
    costs = np.zeros(len(outcomes))

    def answer(model: int, events: Int32s) -> Marks:
        np.add.at(costs, event_of[events], instance.costs[model])
        marks = outcomes[np.ix_(event_of[events], concepts[model])]
        return np.where(marks, YES, NO).astype(np.uint8)

    decide(Graphs(demand, plan, events, clauses, len(event_of)), plan, policy, answer)
    return costs
