"""Subscriptions that come and go, in a folder that running matches follow.

    SubscriptionStore.upsert / remove ─▶ a new version: segments, and which of their links are dead
    StoreReader.use ─▶ the version's segments, loaded once each ─▶ match

The driver writes a store; the workers of a match read it. A segment is a compiled matcher and never
changes, so a reader sees the old version or the new one, never a mix.
"""

from caddis.spark.store.segments import (
    StoreReader,
    alive_pairs,
    check_plain,
    check_without_models,
    invalid_table,
)
from caddis.spark.store.store import (
    SubscriptionStore,
    SubscriptionTable,
    open_store,
    subscription_table,
)
