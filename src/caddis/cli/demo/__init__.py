"""TODO."""

from caddis.cli.demo.command import app

__all__ = ["app"]
