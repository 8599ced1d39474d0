"""Logging to stderr, which is off unless the user asks for it.

All parts log under `caddis.*`, and the command line gives that tree one handler. The handler looks
up `sys.stderr` on every write, so that its lines go above a live progress line, not through it.
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
        "How much to log to stderr: off, error, warning (also what was skipped or retried), info "
        "(also what starts and stops) or debug (also every step and every batch).",
        panel="Logging",
        envvar="CADDIS_LOG_LEVEL",
    ),
]
LogFormat = Annotated[
    Literal["text", "json"],
    option(
        "FORMAT",
        "The format of the log: text, or json for one object per line.",
        panel="Logging",
        envvar="CADDIS_LOG_FORMAT",
    ),
]


def log_to_stderr(level: str, format_: str) -> None:
    """Log messages of this level and above; a second call replaces the setup of the first.

    level: "error", "warning", "info" or "debug"; "off" logs nothing.
    format_: "text", or "json" for one object per line.
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
