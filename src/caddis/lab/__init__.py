"""The lab: workloads, baselines, and what redraws the papers' figures.

`simulate(topology, workload, policy)` runs an overlay of brokers in virtual time. Names are
imported when they are first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
