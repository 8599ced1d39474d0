"""TODO."""

from caddis.cli.explain.command import app

__all__ = ["app"]
