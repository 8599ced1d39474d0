"""TODO."""

from caddis.cli.topics.command import app

__all__ = ["app"]
