"""TODO."""

from caddis.cli.lab.runs import require_matplotlib

__all__ = [
    "require_matplotlib",
]
