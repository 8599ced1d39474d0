"""An overlay of four brokers on made-up photos, for a first look."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.text import Text

from caddis.cli.overlay.command import DemoOptions, RunOptions
from caddis.cli.overlay.preparing import PreparedOverlay
from caddis.cli.overlay.summary import OverlaySummary, OverlayTree
from caddis.cli.overlay.verbs import read_overlay, run_brokers
from caddis.cli.shell import Job
from caddis.errors import OverlayError
from caddis.matching import Matcher
from caddis.models import Asker, Catalogue, Statistics
from caddis.ordering import Executor

FILE = "overlay.yaml"
OVERLAY = """\
# Four sites; photos are published at two of them.
schema: "event_id BIGINT, city STRING, likes INT, photo STRING"
models: ["models.py"]
policy: emec
brokers:
  galway:
    subscriptions: galway.csv
    publishes: galway
    advertises: "city IN ('Galway', 'Sligo')"
  dublin:
    joins: galway
    delay_ms: 4
    subscriptions: dublin.csv
    publishes: dublin
  cork:
    joins: dublin
    delay_ms: 5
    subscriptions: cork.csv
  kerry:
    joins: cork
    delay_ms: 3
    subscriptions: kerry.csv
"""
MODELS = '''\
"""Stand-ins for networks that look at photos: here a photo is the list of what is on it."""

import caddis


@caddis.concept(reads="photo", cost=10.0)
def beach(photo):
    return "beach" in photo


@caddis.concept(reads="photo", cost=12.0)
def sunset(photo):
    return "sunset" in photo


@caddis.concept(reads="photo", answers=["dog", "crowd"], cost=15.0)
def who_is_there(photo):
    return ["dog" in photo, "crowd" in photo]
'''
CONCEPTS = ("beach", "sunset", "dog", "crowd")
CHANCES = (0.4, 0.25, 0.2, 0.5)
SITES = ("galway", "dublin", "cork", "kerry")
PUBLISHED = {"galway": ("Galway", "Sligo"), "dublin": ("Dublin", "Cork", "Galway")}


@dataclass(frozen=True, slots=True)
class OverlayDemo:
    """What the brokers did, and what it would have cost without sharing."""

    tree: OverlayTree
    summary: OverlaySummary
    unshared: int
    """How often models would run if every subscription were decided by itself."""
    folder: Path

    def as_json(self) -> dict[str, object]:
        """The summary as JSON."""
        return {**self.summary.as_json(), "models_unshared": self.unshared, "folder": self.folder}

    def show(self, console: Console) -> None:
        """Show the tree, the table and the comparison."""
        console.print()
        self.tree.show(console)
        self.summary.show(console)
        saved = 1 - self.summary.models / max(1, self.unshared)
        console.print(
            Text(
                f"\nModels ran {self.summary.models:,} times. With every subscription decided by "
                f"itself they\nwould have run {self.unshared:,} times: {saved:.0%} are saved, as "
                "brokers share answers and\npass them on with the photos."
            )
        )
        console.print(Text(f"The files are in {self.folder}: read {FILE}, change it, run it."))


def run_demo(options: DemoOptions, job: Job) -> OverlayDemo:
    """Write the files, run the overlay once, and count what sharing saves."""
    folder = options.folder or Path(tempfile.mkdtemp(prefix="caddis-overlay-"))
    if folder.exists() and any(folder.iterdir()):
        raise OverlayError(f"{folder} is not empty; name a new folder with --dir")
    photos = write_demo(folder, options.events, options.seed)
    run_options = RunOptions(file=folder / FILE, master=options.master, once=True)
    prepared = read_overlay(run_options, job)
    summary = run_brokers(prepared, prepared.names, run_options, job)
    with job.screen.step("Counting what it costs without sharing") as step:
        unshared = _unshared(prepared, photos)
        step.done = "Counted what it costs without sharing"
    return OverlayDemo(OverlayTree(prepared), summary, unshared, folder)


def write_demo(folder: Path, events: int, seed: int) -> pa.Table:
    """Write the overlay file and everything that it names; return all events."""
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / FILE).write_text(OVERLAY)
    (folder / "models.py").write_text(MODELS)
    for site in SITES:
        lines = [f'{site}-{number},"{_where(rng)}"' for number in range(12)]
        (folder / f"{site}.csv").write_text("\n".join(["subscription_id,where", *lines]) + "\n")
    rows: list[Mapping[str, object]] = []
    for at, (site, cities) in enumerate(PUBLISHED.items()):
        some = [_photo(rng, number * 2 + at, cities) for number in range((events + 1 - at) // 2)]
        (folder / site).mkdir()
        (folder / site / "photos.jsonl").write_text("\n".join(map(json.dumps, some)) + "\n")
        rows += some
    return pa.Table.from_pylist(rows)


def _photo(rng: np.random.Generator, key: int, cities: tuple[str, ...]) -> dict[str, object]:
    seen = [name for name, chance in zip(CONCEPTS, CHANCES, strict=True) if rng.random() < chance]
    return {
        "event_id": key,
        "city": cities[int(rng.integers(len(cities)))],
        "likes": int(rng.integers(100)),
        "photo": f"photo {key}: {', '.join(seen) or 'nothing'}",
    }


def _where(rng: np.random.Generator) -> str:
    """A WHERE clause: a city or a number of likes, and one to three concepts, some negated."""
    city = ("Galway", "Sligo", "Dublin", "Cork")[int(rng.integers(4))]
    cheap = f"city = '{city}'" if rng.random() < 0.6 else f"likes >= {int(rng.integers(20, 80))}"
    chosen = rng.choice(CONCEPTS, int(rng.integers(1, 4)), replace=False, p=(0.4, 0.3, 0.2, 0.1))
    asked = [f"{'NOT ' if rng.random() < 0.25 else ''}{name}(photo)" for name in chosen]
    return " AND ".join([cheap, *asked])


def _unshared(prepared: PreparedOverlay, events: pa.Table) -> int:
    """How often models run in one match of everything if no answer serves two subscriptions."""
    catalogue = Catalogue(prepared.models)
    wheres = [where for some in prepared.subscriptions.values() for where in some.values()]
    table = pa.table({"subscription_id": np.arange(len(wheres)), "where": wheres})
    concepts = catalogue.vocabulary_for(prepared.schema)
    executor = Executor(
        [Matcher.compile(table, prepared.schema, concepts=concepts)],
        catalogue,
        statistics=Statistics(),
        asker=Asker(cache=None, clock=time.perf_counter),
        policy="per-subscription",
    )
    [batch] = events.cast(prepared.schema).combine_chunks().to_batches()
    return sum(tally.runs for tally in executor.match(batch).tallies)
