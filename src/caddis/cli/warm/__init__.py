"""`caddis warm`: compile all kernels ahead of time, as for an image."""

from caddis.cli.warm.command import app
