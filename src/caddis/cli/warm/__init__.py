"""`caddis warm`: compiling all kernels ahead, as for an image."""

from caddis.cli.warm.command import app
