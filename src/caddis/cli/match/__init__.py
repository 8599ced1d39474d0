"""TODO."""

from caddis.cli.match.command import app

__all__ = ["app"]
