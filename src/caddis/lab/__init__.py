"""The lab: workloads, simulators, and what redraws the papers' figures. It imports the product.

    workloads     events, subscriptions and interests, drawn from seeds
    simulators    the product's brokers, voters and channels in virtual time
    yardsticks    what Caddis is compared with
    figures       experiments, runs, figures and plots, the same for every paper
    adaptive_filtering, bloom_prefiltering, local_building_blocks     a sub-room for each paper

`simulate(topology, workload, policy)` runs an overlay of brokers in virtual time. Names are
imported when they are first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
