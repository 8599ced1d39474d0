"""TODO."""

from caddis.cli.sealed.command import app

__all__ = ["app"]
