"""The paper on adaptive filtering (Zaarour and Curry): who runs which model in an overlay.

`experiment` simulates workloads on trees of brokers under several policies; `figures` has the
paper's Figure 3, our frontier of delay and total cost, and what policies save. `study` puts them
together for `caddis lab adaptive-filtering`.
"""

from caddis.lab.adaptive_filtering.experiment import (
    QUICK,
    QUICK_EVENTS,
    SYNTHETIC,
    TREES,
    Conditions,
    Scale,
)
from caddis.lab.adaptive_filtering.figures import chosen_figures, study
