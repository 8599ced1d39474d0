"""TODO."""

from caddis.cli.lab.command import app

__all__ = ["app"]
