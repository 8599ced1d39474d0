"""TODO."""

from caddis.cli.doctor.command import app

__all__ = ["app"]
