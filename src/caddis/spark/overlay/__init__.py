"""TODO."""

from caddis.spark.overlay.broker import EVERYTHING, BrokerSettings, EventSettings
from caddis.spark.overlay.control import subscribed, to_record
from caddis.spark.overlay.folder import OverlayFolder
from caddis.spark.overlay.logs import Log
from caddis.spark.overlay.running import BrokerReport, RunningOverlay

__all__ = [
    "EVERYTHING",
    "BrokerReport",
    "BrokerSettings",
    "EventSettings",
    "Log",
    "OverlayFolder",
    "RunningOverlay",
    "subscribed",
    "to_record",
]
