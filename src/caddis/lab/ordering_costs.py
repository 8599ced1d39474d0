"""What deciding events costs under a policy: the product's own kernels on drawn instances."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from caddis.arrays import Bools, Floats, Int32s
from caddis.lab.instances import Instance
from caddis.language import Column, Concept
from caddis.models import NO, YES, Marks
from caddis.ordering.demand import Demand
from caddis.ordering.graph import Graphs
from caddis.ordering.plan import Plan
from caddis.ordering.policies import Policy
from caddis.ordering.rounds import concepts_of, decide


def demand_of(instance: Instance) -> Demand:
    """The instance's clauses as a demand, all of them candidates."""
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
    """What each event (row of events × concepts) costs under a policy."""
    demand = demand_of(instance)
    plan = plan_of(instance, demand)
    events, clauses = (
        grid.ravel().astype(np.int32) for grid in np.indices((len(outcomes), len(instance.clauses)))
    )
    graphs = Graphs(demand, plan, events, clauses, len(outcomes))
    concepts = concepts_of(plan)
    costs = np.zeros(len(outcomes))

    def answer(model: int, events: Int32s) -> Marks:
        costs[events] += instance.costs[model]
        return np.where(outcomes[np.ix_(events, concepts[model])], YES, NO).astype(np.uint8)

    decide(graphs, plan, policy, answer)
    return costs
