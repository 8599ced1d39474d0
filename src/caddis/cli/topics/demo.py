"""Subscribers who want topics, made up here, and the channels that suit them: for a first look."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv
from rich.console import Console
from rich.text import Text

from caddis.cli.shell import Job
from caddis.cli.topics.cluster import cluster_files
from caddis.cli.topics.command import ClusterOptions, DemoOptions
from caddis.cli.topics.summary import ClusterSummary
from caddis.errors import TopicError
from caddis.lab.workloads import planted

INTERESTS, RATES, MAP = "interests.parquet", "rates.csv", "map"
GROUPS = 25
"""How many groups of topics there are that the same subscribers want."""
FIELDS = ("music", "chess", "film", "tennis", "travel", "baking", "news", "poems", "boats", "stars")


@dataclass(frozen=True, slots=True)
class DemoSummary:
    """What the clustering found, and how to go on."""

    summary: ClusterSummary
    folder: Path

    def as_json(self) -> dict[str, object]:
        """The same for a machine."""
        return {**self.summary.as_json(), "folder": self.folder}

    def show(self, console: Console) -> None:
        """The summary, and the command to try next."""
        self.summary.show(console)
        again = (
            f"caddis topics cluster {self.folder / INTERESTS} --rates {self.folder / RATES} "
            f"-k {self.summary.channels * 2} --out {self.folder / 'more'}"
        )
        console.print(Text(f"With more channels:\n  {again}"), soft_wrap=True)


def run_demo(options: DemoOptions, job: Job) -> DemoSummary:
    """Make up interests and rates, and cluster them."""
    folder = options.folder or Path(tempfile.mkdtemp(prefix="caddis-topics-"))
    if folder.exists() and any(folder.iterdir()):
        raise TopicError(f"{folder} is not empty; name a new folder with --dir")
    write_demo(options, folder)
    asked = ClusterOptions(
        interests=folder / INTERESTS,
        channels=options.channels,
        out=folder / MAP,
        rates=folder / RATES,
        plots=options.plots,
        seed=options.seed,
        master=options.master,
    )
    return DemoSummary(cluster_files(asked, job), folder)


def write_demo(options: DemoOptions, folder: Path) -> None:
    """Write interests with groups of topics in them, and rates: few topics publish much."""
    rng = np.random.default_rng(options.seed)
    folder.mkdir(parents=True, exist_ok=True)
    # However large the groups are, a subscriber wants at most a dozen topics of one: 300 / GROUPS.
    loyalty = min(0.7, 300 / options.topics)
    drawn = planted(options.subscribers, options.topics, rng, groups=GROUPS, loyalty=loyalty)
    names = np.array([f"{FIELDS[at % len(FIELDS)]}-{at}" for at in range(options.topics)])
    people = np.repeat(np.arange(drawn.subscribers), np.diff(drawn.offsets))
    interests = {"subscriber": people, "topic": pa.array(names[drawn.topics])}
    pq.write_table(pa.table(interests), folder / INTERESTS)
    rates = np.ceil(100 / (1 + rng.permutation(options.topics)) ** 0.5)
    csv.write_csv(pa.table({"topic": names, "rate": rates}), folder / RATES)
