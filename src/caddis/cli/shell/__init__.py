"""TODO."""

from caddis.cli.shell.java import ADVICE, OLDEST, find_java, require_java
from caddis.cli.shell.options import checked_timezone
from caddis.cli.shell.running import Job, Result, debugging, run
from caddis.cli.shell.screen import count, rate, short, show_rows, show_titled, text_table

__all__ = [
    "ADVICE",
    "OLDEST",
    "Job",
    "Result",
    "checked_timezone",
    "count",
    "debugging",
    "find_java",
    "rate",
    "require_java",
    "run",
    "short",
    "show_rows",
    "show_titled",
    "text_table",
]
