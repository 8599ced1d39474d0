"""Everything that imports pyspark.

    base        sessions, DataFrames of files, shared folders, progress, failures
    places      how finished folders reach the workers, shared or not
    store       subscriptions that come and go: `SubscriptionStore`
    matching    `match` and `check`; the operator that runs in Spark's Python workers
    sealed      `seal_events`, `match_sealed`, `open_events`
    overlay     brokers that pass on what they matched
    topics      `topics_to_channels`

The door is lazy: a worker loads only what its operator needs.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
