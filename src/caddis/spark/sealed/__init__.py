"""TODO."""

from caddis.spark.sealed.sealing import open_events, seal_events

__all__ = [
    "open_events",
    "seal_events",
]
