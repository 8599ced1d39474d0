"""TODO."""

from caddis.cli.keys.command import app

__all__ = ["app"]
