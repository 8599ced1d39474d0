"""TODO."""

from caddis.overlay.file.overlay_file import BrokerEntry, OverlayFile, read_overlay_file

__all__ = [
    "BrokerEntry",
    "OverlayFile",
    "read_overlay_file",
]
