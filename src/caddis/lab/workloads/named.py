"""Events and subscriptions to measure and to show with, drawn from a seed that is passed in.

`zipf`: the synthetic workload of the benchmarks. `marketplace`: the readable one of the demo.
The same seed gives the same bytes.
"""

from caddis.lab.workloads.marketplace import (
    MARKETPLACE_SCHEMA,
    marketplace_events,
    marketplace_subscriptions,
)
from caddis.lab.workloads.zipf import ZIPF_SCHEMA, zipf_event_codes, zipf_events, zipf_predicates
from caddis.lab.workloads.zipf_text import zipf_subscriptions

__all__ = [
    "MARKETPLACE_SCHEMA",
    "ZIPF_SCHEMA",
    "marketplace_events",
    "marketplace_subscriptions",
    "zipf_event_codes",
    "zipf_events",
    "zipf_predicates",
    "zipf_subscriptions",
]
