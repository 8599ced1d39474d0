"""Brokers in processes of their own, killed with -9 while they work and started again."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.runs import times
from tests.spark.overlay.site import Pairs, central, event, notified
from tests.spark.program import quickly

pytestmark = pytest.mark.spark

OVERLAY = """
schema: "event_id BIGINT, city STRING, title STRING"
models: ["models.py"]
brokers:
  galway: {subscriptions: galway.csv, publishes: galway}
  dublin: {joins: galway, subscriptions: dublin.csv, publishes: dublin}
"""
SLOW_MODELS = """
import time
import caddis

@caddis.concept(reads="title", cost=2.0)
def boat(title):
    time.sleep(0.01)
    return "boat" in title

@caddis.concept(reads="title", cost=3.0)
def red(title):
    time.sleep(0.01)
    return "red" in title
"""
SUBSCRIPTIONS = {
    "galway": {"ann": "boat(title) AND city = 'Galway'", "bo": "city = 'Sligo'"},
    "dublin": {"cy": "red(title) AND boat(title)", "dee": "NOT red(title)"},
}
STARTING = [sys.executable, "-c", "from caddis.cli import main; main()"]


class Processes:
    """Brokers, each in a process of its own, that are killed and started again."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.run = root / "overlay.run"
        self.number = 0
        self.kills: list[str] = []
        self.alive: dict[str, subprocess.Popen[bytes]] = {}
        (root / "overlay.yaml").write_text(OVERLAY)
        (root / "models.py").write_text(SLOW_MODELS)
        for name, wheres in SUBSCRIPTIONS.items():
            rows = [f'{one},"{where}"' for one, where in wheres.items()]
            (root / f"{name}.csv").write_text("\n".join(["subscription_id,where", *rows]))
            (root / name).mkdir()

    def start(self, name: str) -> None:
        words = ["overlay", "broker", name, "overlay.yaml", "--master", "local[1]"]
        words += ["--format", "jsonl"]
        log = (self.root / f"{name}.log").open("ab")
        self.alive[name] = subprocess.Popen(
            [*STARTING, *words], cwd=self.root, env=quickly(), stdout=log, stderr=log
        )
        log.close()

    def publish(self, at: str, files: int = 1) -> None:
        """Some more events at a broker."""
        for _ in range(files):
            lines = []
            for key in range(self.number * 10, self.number * 10 + 10):
                one = event(key)
                lines.append(json.dumps({n: one[n] for n in ("event_id", "city", "title")}))
            file = self.root / at / f".{self.number}.jsonl"
            file.write_text("\n".join(lines))
            file.rename(file.with_name(file.name[1:]))
            self.number += 1

    def expected(self) -> Pairs:
        wheres = {one: where for some in SUBSCRIPTIONS.values() for one, where in some.items()}
        return central([event(key) for key in range(self.number * 10)], wheres)

    def kill(self, name: str) -> None:
        self.alive[name].kill()
        self.alive[name].wait()
        del self.alive[name]
        self.kills.append(self.state(name))

    def is_running(self, name: str) -> bool:
        """Whether its query has begun, and so all brokers have heard of each other."""
        return (self.run / "brokers" / name / "checkpoint" / "metadata").exists()

    def state(self, name: str) -> str:
        """How far a broker is, as its folder tells."""
        home = self.run / "brokers" / name
        if list((home / "out").glob(".staging-*")):
            return "staged"
        batches = sorted(one.name for one in (home / "out").glob("0*"))
        done = sorted(int(one.name) for one in (home / "checkpoint" / "commits").glob("[0-9]*"))
        if batches and (not done or int(batches[-1]) > done[-1]):
            return "committed"
        begun = sorted(int(one.name) for one in (home / "checkpoint" / "offsets").glob("[0-9]*"))
        return "begun" if begun[-1:] != done[-1:] else "idle"

    def wait_until(
        self, there: Callable[[], bool], seconds: float = 180, every: float = 0.01
    ) -> None:
        end = time.monotonic() + seconds
        while not there():
            assert time.monotonic() < end, self.story()
            for name, process in self.alive.items():
                assert process.poll() is None, (name, self.story())
            time.sleep(every)

    def wait_for_all(self) -> None:
        """Until everybody is notified."""
        wanted = self.expected()
        self.wait_until(lambda: notified(self.run) >= wanted, every=0.2)

    def story(self) -> str:
        logs = [(self.root / f"{name}.log").read_text()[-2000:] for name in self.alive]
        return "\n".join([str(self.kills), *logs])

    def end(self) -> None:
        for process in self.alive.values():
            process.send_signal(signal.SIGTERM)
        assert [process.wait(60) for process in self.alive.values()] == [143] * len(self.alive)


@contextmanager
def processes(root: Path) -> Iterator[Processes]:
    brokers = Processes(root)
    try:
        for name in SUBSCRIPTIONS:
            brokers.start(name)
        yield brokers
        brokers.end()
    finally:
        for process in brokers.alive.values():
            process.kill()
            process.wait()


def test_brokers_killed_while_they_work_lose_and_double_nothing(tmp_path: Path):
    with processes(tmp_path) as brokers:
        brokers.wait_until(lambda: all(map(brokers.is_running, SUBSCRIPTIONS)))
        for _ in range(times(1, 4)):
            killed = list(SUBSCRIPTIONS)[: times(1, 2)]
            for name in killed:
                brokers.publish(name, 2)
                brokers.wait_until(lambda name=name: brokers.state(name) == "staged")  # type: ignore[misc]
                brokers.kill(name)
            for name in killed:
                brokers.start(name)
        for name in SUBSCRIPTIONS:
            brokers.publish(name)
        brokers.wait_for_all()
    assert notified(brokers.run) == brokers.expected()
    assert set(brokers.kills) == {"staged"}
