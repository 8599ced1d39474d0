"""Work ends in a result, or in one message and an exit code; what it opened is closed."""

import io
import json
import os
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass

import pytest
import typer
from rich.console import Console

from caddis.cli.shell import running, screen
from caddis.cli.shell.running import Job, run
from caddis.errors import EnvironmentProblem


@dataclass
class Counted:
    number: int

    def as_json(self) -> dict[str, object]:
        return {"number": self.number}

    def show(self, console: Console) -> None:
        console.print(f"counted {self.number}")


def test_a_result_is_shown_to_a_person(capsys):
    run(lambda job: Counted(3), as_json=False)
    assert capsys.readouterr().out == "counted 3\n"


def test_a_result_is_one_object_for_a_machine(capsys):
    def work(job: Job) -> Counted:
        with job.screen.step("Counting"):
            return Counted(3)

    run(work, as_json=True)
    shown = capsys.readouterr()
    assert json.loads(shown.out) == {"number": 3}
    assert shown.err == ""


def test_steps_are_plain_lines_where_there_is_no_terminal(capsys, monkeypatch):
    monkeypatch.setattr(screen, "PLAIN_EVERY", 0.0)

    def work(job: Job) -> Counted:
        with job.screen.step("Counting") as step:
            step.update("1/2 tasks", 1, 2)
            step.done = "Counted"
        return Counted(3)

    run(work, as_json=False)
    first, last = capsys.readouterr().err.splitlines()
    assert first == "  Counting: 1/2 tasks, 0 s"
    assert last.startswith("✓ Counted ")
    assert last.endswith("0.0 s")


def fail(error: Exception) -> int:
    def work(job: Job) -> Counted:
        raise error

    with pytest.raises(typer.Exit) as exit_:
        run(work, as_json=False)
    return exit_.value.exit_code


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (EnvironmentProblem("no Java"), "caddis: no Java\n"),
        (PermissionError(13, "Permission denied", "/x"), "caddis: /x: Permission denied\n"),
        (
            ValueError("odd"),
            "caddis: unexpected ValueError: odd; set CADDIS_DEBUG=1 to see where\n",
        ),
    ],
)
def test_an_error_is_one_message_and_exit_code_1(capsys, monkeypatch, error, message):
    monkeypatch.delenv("CADDIS_DEBUG", raising=False)
    assert fail(error) == 1
    assert capsys.readouterr().err == message


def test_debugging_shows_where_an_error_came_from(capsys, monkeypatch):
    monkeypatch.setenv("CADDIS_DEBUG", "1")
    assert fail(ValueError("odd")) == 1
    assert (
        "raise error\nValueError: odd\ncaddis: unexpected ValueError: odd\n"
        in capsys.readouterr().err
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_came_ignored_stays_ignored(capsys, number):
    def work(job: Job) -> Counted:
        os.kill(os.getpid(), number)
        return Counted(3)

    before = signal.signal(number, signal.SIG_IGN)
    try:
        run(work, as_json=False)
        assert signal.getsignal(number) == signal.SIG_IGN
    finally:
        signal.signal(number, before)
    assert capsys.readouterr() == ("counted 3\n", "")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_closes_what_was_opened_though_the_work_goes_on(capsys, number, code):
    closed: list[str] = []
    never = threading.Event()

    def work(job: Job) -> Counted:
        job.resources.callback(closed.append, "session")
        with job.screen.step("Waiting"):
            os.kill(os.getpid(), number)
            never.wait(1)
        return Counted(0)

    with pytest.raises(typer.Exit) as exit_:
        run(work, as_json=False)
    assert exit_.value.exit_code == code
    assert closed == ["session"]
    assert capsys.readouterr().err == "caddis: stopped\n"
    never.set()


def stop_while_working(so_far: Callable[[], Counted] | None) -> None:
    never = threading.Event()

    def work(job: Job) -> Counted:
        job.so_far = so_far
        os.kill(os.getpid(), signal.SIGINT)
        never.wait(1)
        return Counted(0)

    with pytest.raises(typer.Exit):
        run(work, as_json=True)
    never.set()


def test_work_that_is_meant_to_be_stopped_shows_its_result(capsys, monkeypatch):
    monkeypatch.setattr(running, "LAST_COUNT", 0.0)
    stop_while_working(lambda: Counted(7))
    assert json.loads(capsys.readouterr().out) == {"number": 7}


def test_stopped_work_without_a_result_says_so_to_a_machine(capsys):
    stop_while_working(None)
    assert json.loads(capsys.readouterr().out)["error"]["kind"] == "Stopped"


def test_on_a_terminal_a_step_is_a_live_line_with_a_bar():
    terminal = io.StringIO()
    console = Console(file=terminal, force_terminal=True, width=80, highlight=False)
    shown = screen.Screen()
    shown.messages = console
    with shown.step("Counting") as step:
        step.update("1/2 tasks", 1, 2)
        step.done = "Counted"
    lines = terminal.getvalue()
    assert "Counting" in lines
    assert "━" in lines
    assert "1/2 tasks" in lines
    assert lines.rstrip().splitlines()[-1].rstrip().endswith("s")
