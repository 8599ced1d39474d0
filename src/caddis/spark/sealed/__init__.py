"""Sealed events on Spark: `seal_events`, `match_sealed` and `open_events`.

    publisher                     brokers, without a key          subscriber
    events ─seal_events─▶ sealed events ─match_sealed─▶ matches ─▶ open_events ─▶ events

Matching plugs a reader of its own into the operator of `spark.matching`, which knows nothing of
it: whoever seals nothing loads no cryptography.
"""

from caddis.spark.sealed.matching import match_sealed
from caddis.spark.sealed.sealing import open_events, seal_events
