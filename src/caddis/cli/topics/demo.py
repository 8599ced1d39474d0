"""People who want topics, made up here, and the channels that suit them: for a first look."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv
from rich.console import Console
from rich.text import Text

from caddis.cli.shell import Job
from caddis.cli.topics.order import ClusterOrder
from caddis.cli.topics.run import cluster_files
from caddis.cli.topics.summary import ClusterSummary
from caddis.errors import TopicError
from caddis.lab.workloads import planted

INTERESTS, RATES, MAP = "interests.parquet", "rates.csv", "map"
GROUPS = 25
FIELDS = ("music", "chess", "film", "tennis", "travel", "baking", "news", "poems", "boats", "stars")


@dataclass(frozen=True, slots=True)
class TopicDemo:
    """What to make up, and where."""

    folder: Path
    subscribers: int
    topics: int
    channels: int
    seed: int
    plots: bool
    master: str


@dataclass(frozen=True, slots=True)
class DemoSummary:
    """What was found, and how to go on."""

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
            f"-k {self.summary.order.channels * 2} --out {self.folder / 'more'}"
        )
        console.print(Text(f"With more channels:\n  {again}"), soft_wrap=True)


def run_demo(demo: TopicDemo, job: Job) -> DemoSummary:
    """Make up interests and rates, and cluster them."""
    if demo.folder.exists() and any(demo.folder.iterdir()):
        raise TopicError(f"{demo.folder} is not empty; name a new folder with --dir")
    write_demo(demo)
    order = ClusterOrder(
        interests=demo.folder / INTERESTS,
        channels=demo.channels,
        out=demo.folder / MAP,
        rates=demo.folder / RATES,
        plots=demo.plots,
        seed=demo.seed,
        master=demo.master,
    )
    return DemoSummary(cluster_files(order, job), demo.folder)


def write_demo(demo: TopicDemo) -> None:
    """Interests with groups of topics in them, and rates: few topics say much."""
    rng = np.random.default_rng(demo.seed)
    demo.folder.mkdir(parents=True, exist_ok=True)
    loyalty = min(0.7, 300 / demo.topics)
    drawn = planted(demo.subscribers, demo.topics, rng, groups=GROUPS, loyalty=loyalty)
    names = np.array([f"{FIELDS[at % len(FIELDS)]}-{at}" for at in range(demo.topics)])
    people = np.repeat(np.arange(drawn.subscribers), np.diff(drawn.offsets))
    interests = {"subscriber": people, "topic": pa.array(names[drawn.topics])}
    pq.write_table(pa.table(interests), demo.folder / INTERESTS)
    rates = np.ceil(100 / (1 + rng.permutation(demo.topics)) ** 0.5)
    csv.write_csv(pa.table({"topic": names, "rate": rates}), demo.folder / RATES)
