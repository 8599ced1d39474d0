"""What Caddis logs, on stderr: nothing unless it is asked for.

All parts log under `caddis.*`, and the command line gives that tree one handler. It looks stderr
up whenever it writes, so that its lines go above a live progress line instead of through it.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from typing import Annotated, Literal

from caddis.cli.shell.options import option

LogLevel = Annotated[
    Literal["off", "error", "warning", "info", "debug"],
    option(
        "LEVEL",
        "What to log to stderr: off, error, warning (what was skipped or tried again), info (also "
        "what starts and stops) or debug (also every batch).",
        panel="Logging",
        envvar="CADDIS_LOG_LEVEL",
    ),
]
LogFormat = Annotated[
    Literal["text", "json"],
    option(
        "FORMAT",
        "How to log: text; or json, one object a line.",
        panel="Logging",
        envvar="CADDIS_LOG_FORMAT",
    ),
]


def log_to_stderr(level: str, format_: str) -> None:
    """Log from this level on, or nothing if it is "off"; what was set up before is forgotten.

    format_: "text", or "json" for an object a line.
    """
    logger = logging.getLogger("caddis")
    for handler in [one for one in logger.handlers if isinstance(one, _OnStderr)]:
        logger.removeHandler(handler)
    if level == "off":
        logger.setLevel(logging.NOTSET)
        return
    shown = _OnStderr()
    shown.setFormatter(_JsonLines() if format_ == "json" else _Text())
    logger.addHandler(shown)
    logger.setLevel(level.upper())


class _OnStderr(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        try:
            sys.stderr.write(f"{self.format(record)}\n")
            sys.stderr.flush()
        except Exception:
            self.handleError(record)


class _Text(logging.Formatter):
    """A line with the time in UTC, whatever zone the machine is in."""

    default_time_format = "%Y-%m-%dT%H:%M:%S"
    default_msec_format = "%s.%03dZ"

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)-7s %(name)s: %(message)s")

    @staticmethod
    def converter(seconds: float | None) -> time.struct_time:
        return time.gmtime(seconds)


class _JsonLines(_Text):
    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": self.formatTime(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)
