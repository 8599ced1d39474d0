"""Which model next, so that as few run as can be.

    matchers ──Demand──▶ candidate clauses ──Graphs──▶ residual graphs
                                                          ▲ answers      │ what is open
                                                          │              ▼
                                                        models ◀──── Policy + Plan

`Executor` matches batches with models; `POLICIES` are the ways in which it may order them;
`explain_models` retells how events were decided, and `certificate` says what the least would have
been. `warm_up` compiles the loops of all this ahead, which are in `kernels`.
"""

from caddis.ordering.deciding import EventProblem
from caddis.ordering.demand import Demand, unshared
from caddis.ordering.executor import Executor, Outcome
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
from caddis.ordering.warming import needed, warm_up
