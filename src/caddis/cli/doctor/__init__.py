"""`caddis doctor`: whether everything is there that Caddis needs, and what to do if not."""

from caddis.cli.doctor.command import app
