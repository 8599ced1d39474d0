"""Which model next, so that as few run as can be.

`Executor` matches batches with models; `POLICIES` are the ways in which it may order them.
"""

from caddis.ordering.deciding import EventProblem, unshared
from caddis.ordering.demand import Demand
from caddis.ordering.executor import Executor, Outcome, warm_up
from caddis.ordering.explaining import (
    Answer,
    EventExplained,
    ModelExplanation,
    Step,
    explain_models,
    reasons,
)
from caddis.ordering.graph import Graphs, Plan
from caddis.ordering.planning import concepts_of, decide
from caddis.ordering.policies import DEFAULT, POLICIES, Policy, policy_named

__all__ = [
    "DEFAULT",
    "POLICIES",
    "Answer",
    "Demand",
    "EventExplained",
    "EventProblem",
    "Executor",
    "Graphs",
    "ModelExplanation",
    "Outcome",
    "Plan",
    "Policy",
    "Step",
    "concepts_of",
    "decide",
    "explain_models",
    "policy_named",
    "reasons",
    "unshared",
    "warm_up",
]
