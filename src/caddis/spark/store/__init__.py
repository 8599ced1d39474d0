"""TODO."""

from caddis.spark.store.reader import StoreReader, alive_pairs
from caddis.spark.store.segments import check_without_models
from caddis.spark.store.store import SubscriptionStore, open_store

__all__ = [
    "StoreReader",
    "SubscriptionStore",
    "alive_pairs",
    "check_without_models",
    "open_store",
]
