"""Brokers on Spark: each is a streaming query that decides micro-batches.

    OverlayFolder, Transport ──▶ RunningOverlay ──▶ BatchBroker, one for each broker
        control   routing tables, kept up to date by logs of control messages
        worker    in Spark's Python workers: records in, files for every link out
        batches   a micro-batch is committed by one rename, then sent: exactly once

How brokers reach each other is a parameter, a `Transport`; `FolderTransport` is the default. What
they decide, and by which policy, is in `caddis.overlay`.
"""

from caddis.spark.overlay.batch_broker import (
    EVERYTHING,
    BatchBroker,
    BrokerSettings,
    EventSettings,
)
from caddis.spark.overlay.control import subscribed, to_record
from caddis.spark.overlay.folder import OverlayFolder
from caddis.spark.overlay.logs import Log
from caddis.spark.overlay.running import BrokerReport, RunningOverlay
from caddis.spark.overlay.transport import FolderTransport, OutStream, Transport
