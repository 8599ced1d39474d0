"""Nothing is logged unless it is asked for; then it goes to stderr, above a live line."""

import io
import json
import logging
import sys
from collections.abc import Iterator

import pytest
from rich.console import Console

from caddis.cli.shell.logs import log_to_stderr
from caddis.cli.shell.screen import Screen

logger = logging.getLogger("caddis.somewhere")


@pytest.fixture(autouse=True)
def _quiet_afterwards() -> Iterator[None]:
    yield
    log_to_stderr("off", "text")


def test_nothing_is_logged_by_default(capsys):
    log_to_stderr("off", "text")
    logger.error("lost")
    assert capsys.readouterr().err == ""


def test_a_line_has_a_time_a_level_and_who_says_it(capsys):
    log_to_stderr("info", "text")
    logger.debug("a batch")
    logger.info("version %d is there", 3)
    [line] = capsys.readouterr().err.splitlines()
    time, level, rest = line.split(maxsplit=2)
    assert time.endswith("Z")
    assert (level, rest) == ("INFO", "caddis.somewhere: version 3 is there")


def test_json_has_an_object_a_line_with_the_traceback_inside(capsys):
    log_to_stderr("warning", "json")
    try:
        1 / 0  # noqa: B018
    except ZeroDivisionError:
        logger.exception("tried again")
    [line] = capsys.readouterr().err.splitlines()
    logged = json.loads(line)
    assert (logged["level"], logged["logger"]) == ("error", "caddis.somewhere")
    assert logged["message"] == "tried again"
    assert "ZeroDivisionError" in logged["exception"]


def test_the_options_stand_before_the_verb(caddis):
    shown = caddis("--log-level", "debug", "--log-format", "json", "explain", "nowhere")
    assert shown.exit_code == 1
    first, message = shown.stderr.splitlines()
    assert "nowhere" in json.loads(first)["exception"]
    assert message == "caddis: nowhere: there is no such file or folder"


def test_the_environment_can_ask_for_logs_too(caddis, monkeypatch):
    monkeypatch.setenv("CADDIS_LOG_LEVEL", "debug")
    assert "DEBUG   caddis.cli" in caddis("explain", "nowhere").stderr


def test_an_unknown_level_is_wrong_usage(caddis):
    shown = caddis("--log-level", "loud", "doctor")
    assert shown.exit_code == 2
    assert "'loud' is not one of" in shown.stderr


def test_a_line_is_written_above_a_live_line_and_not_through_it(monkeypatch):
    terminal = io.StringIO()
    screen = Screen()
    screen.messages = Console(file=terminal, force_terminal=True, width=80, highlight=False)
    monkeypatch.setattr(sys, "stderr", terminal)
    log_to_stderr("info", "text")
    with screen.step("Counting"):
        logger.info("a version is there")
    lines = [line for line in terminal.getvalue().splitlines() if "a version is there" in line]
    assert len(lines) == 1
    assert "Counting" not in lines[0]
