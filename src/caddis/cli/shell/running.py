"""A verb's work, from its start to its exit code.

The work runs in a thread of its own and the main thread only waits, so that Ctrl-C takes effect at
once and never in the middle of a call to Java. What the work has opened (a session, a half-written
folder) is registered on a stack that the main thread closes, however the work ends.

A signal that was ignored when Caddis started, as under nohup or in a shell's background job, stays
ignored. Python itself does that for SIGINT; this module does it for SIGTERM.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from typing import Protocol

import typer
from rich.console import Console

from caddis.cli.shell.screen import Screen
from caddis.errors import CaddisError

logger = logging.getLogger(__name__)

STOPPED = 130
TERMINATED = 143
LAST_COUNT = 3.0
"""How many seconds work that was stopped gets to count its last results."""


class Result(Protocol):
    """What a verb shows when it is done: a summary for a person, or an object for a machine."""

    def as_json(self) -> dict[str, object]:
        """The values of one JSON object."""

    def show(self, console: Console) -> None:
        """Print a summary of at most 80 columns."""


class Job:
    """What a verb's work gets: a screen, and a stack of what must be closed at the end."""

    def __init__(self, *, quiet: bool) -> None:
        self.screen = Screen(quiet=quiet)
        self.resources = ExitStack()
        self.so_far: Callable[[], Result] | None = None
        """Returns the result so far; set by work that ends only when it is stopped."""
        self.ended = threading.Event()

    def close(self) -> None:
        """Close everything that the work has opened; Ctrl-C cannot cut this short."""
        with _ignoring_signals():
            self.screen.close()
            self.resources.close()


class _Terminated(KeyboardInterrupt):
    """The system asked the process to end."""


def run(work: Callable[[Job], Result], *, as_json: bool) -> None:
    """Do the work and show its result; if it fails, print one message and exit with its code.

    work: called in another thread with the job; returns what to show.
    as_json: print the result as a JSON object, and show no steps.
    """
    job = Job(quiet=as_json)
    try:
        with _hearing_termination():
            try:
                _present(_in_a_thread(work, job), job, as_json)
            finally:
                job.close()
    except KeyboardInterrupt as stop:
        _stopped(job, as_json)
        raise typer.Exit(TERMINATED if isinstance(stop, _Terminated) else STOPPED) from None
    except typer.Exit:
        raise
    except Exception as error:
        _failed(error, as_json)
        raise typer.Exit(1) from None


def debugging() -> bool:
    """Whether the user asked for tracebacks and for Spark's own log, with CADDIS_DEBUG=1."""
    return os.environ.get("CADDIS_DEBUG", "") not in ("", "0")


def _in_a_thread(work: Callable[[Job], Result], job: Job) -> Result:
    outcome: Future[Result] = Future()

    def body() -> None:
        try:
            outcome.set_result(work(job))
        except BaseException as error:
            outcome.set_exception(error)
        finally:
            job.ended.set()

    threading.Thread(target=body, name="caddis-work", daemon=True).start()
    return outcome.result()


def _present(result: Result, job: Job, as_json: bool) -> None:
    if as_json:
        _print_json(result.as_json())
    else:
        result.show(job.screen.results)


def _stopped(job: Job, as_json: bool) -> None:
    if job.so_far is not None:
        job.ended.wait(LAST_COUNT)
        _present(job.so_far(), job, as_json)
    elif as_json:
        _print_json({"error": {"kind": "Stopped", "message": "stopped before it was done"}})
    typer.echo("caddis: stopped", err=True)


def _failed(error: Exception, as_json: bool) -> None:
    message = _message(error)
    logger.debug("failed", exc_info=error)
    if as_json:
        _print_json({"error": {"kind": type(error).__name__, "message": message}})
    if debugging():
        traceback.print_exception(error)
    typer.echo(f"caddis: {message}", err=True)


def _message(error: Exception) -> str:
    if isinstance(error, CaddisError):
        return str(error)
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    hint = "" if debugging() else "; set CADDIS_DEBUG=1 to see where"
    return f"unexpected {type(error).__name__}: {error}{hint}"


def _print_json(value: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(value, ensure_ascii=False, default=str) + "\n")
    sys.stdout.flush()


@contextmanager
def _hearing_termination() -> Iterator[None]:
    """Let SIGTERM end the work as cleanly as Ctrl-C does, unless the parent process ignores it."""

    def end(*_: object) -> None:
        raise _Terminated

    if signal.getsignal(signal.SIGTERM) == signal.SIG_IGN:
        yield
        return
    with _handling(signal.SIGTERM, end):
        yield


@contextmanager
def _ignoring_signals() -> Iterator[None]:
    with _handling(signal.SIGINT, signal.SIG_IGN), _handling(signal.SIGTERM, signal.SIG_IGN):
        yield


@contextmanager
def _handling(
    number: signal.Signals, handler: Callable[..., None] | signal.Handlers
) -> Iterator[None]:
    """Install a signal handler for a while; only the main thread may set handlers."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(number, handler)
    try:
        yield
    finally:
        signal.signal(number, before)
