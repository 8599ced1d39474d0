"""Which model next, so that as few run as can be.

    matchers ──Demand──▶ candidate clauses ──Graphs──▶ residual graphs
                                                          ▲ answers      │ what is open
                                                          │              ▼
                                                        models ◀──── Policy + Plan

`Executor` matches batches with models; `POLICIES` are the ways in which it may order them;
`explain_models` retells how events were decided, and `certificate` says what the least would have
been. The loops of all this are in `kernels`.
"""

from caddis.ordering.deciding import EventProblem
from caddis.ordering.demand import Demand, unshared
from caddis.ordering.executor import Executor, Outcome, needed, warm_up
from caddis.ordering.explaining import (
    Answer,
    EventExplained,
    ModelExplanation,
    Step,
    explain_models,
    reasons,
)
from caddis.ordering.graph import Graphs, Plan
from caddis.ordering.policies import POLICIES, Policy, concepts_of, decide
