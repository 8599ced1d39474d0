"""TODO."""

from caddis.cli.overlay.command import app

__all__ = ["app"]
