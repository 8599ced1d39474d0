"""Whether topics come to rest, how good their channels are, and how long that takes.

    python bench/clustering.py [--parts rest optima large speed] [--models MODEL ...] [--quick]

    rest     everybody's interest in 20 of 100 topics changes; concurrent votes by the schedule, and
             outcomes adopted unseen as the paper has it, a fifth of the topics or all at a time
    optima   what restarts, merging and splitting, and swaps gain beyond K-Means
    large    waves of the schedule over thousands of topics, from several starts
    speed    CPU time of counting and of a pass of K-Means over 20 million interests

Interests are drawn by seeded models (`caddis.lab.workloads`); `optima` also takes real ones
from a JSON file of users and the topics that each wants (`--interests FILE`). Votes are settled by
algebra: no messages are sent.
"""

import argparse
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table as Printed

from caddis.arrays import Int32s
from caddis.lab.local_building_blocks import (
    adopt_all,
    agglomerative,
    outcomes_and_cost,
    random_channels,
    settled,
)
from caddis.lab.workloads import MODELS, from_json, planted, redrawn, zipf_interests
from caddis.topics.clustering import (
    Effort,
    Interests,
    Schedule,
    Settings,
    Table,
    count,
    kmeans,
    search,
)

PARTS = ("rest", "optima", "large", "speed")
TOPICS, CHANGED = 100, 20
CHANNELS = (5, 10, 20)
MOST_WAVES = 200
EFFORTS = {
    "K-Means": Effort(merge_splits=0),
    "10 restarts": Effort(restarts=10, merge_splits=0),
    "10 merge-splits": Effort(merge_splits=10),
    "30 merge-splits": Effort(merge_splits=30),
    "swaps": Effort(merge_splits=0, swap_rounds=20),
    "all three": Effort(restarts=5, merge_splits=30, swap_rounds=20),
}


class Run(NamedTuple):
    """How one change of interests ended.

    waves: until rest; None if it did not come to rest.
    ratio, scratch: its cost against that of K-Means from the same map, and from none.
    """

    waves: int | None
    ratio: float
    scratch: float


def rest(arguments: argparse.Namespace) -> Iterator[Printed]:
    runs = 30 if arguments.quick else 300
    printed = Printed(title=f"{CHANGED} of {TOPICS} topics change for all; {runs} runs each")
    for heading in ("interests", "k", "protocol", "at rest", "waves: mean", "p99", "want to move"):
        printed.add_column(heading)
    printed.add_column("cost / leader's")
    printed.add_column("/ from scratch")
    for model in arguments.models:
        for k in CHANNELS:
            wanting, by_protocol = changes(model, k, runs)
            for protocol, ended in by_protocol.items():
                printed.add_row(model, str(k), protocol, *figures(ended, wanting))
    yield printed


def figures(ended: list[Run], wanting: list[int]) -> list[str]:
    waves = [run.waves for run in ended if run.waves is not None]
    return [
        f"{100 * len(waves) / len(ended):.1f}%",
        f"{np.mean(waves):.0f}" if waves else "-",
        f"{np.percentile(waves, 99):.0f}" if waves else "-",
        f"{np.mean(wanting):.0f}, at most {max(wanting)}",
        f"{np.mean([run.ratio for run in ended]):.4f}",
        f"{np.mean([run.scratch for run in ended]):.4f}",
    ]


def changes(model: str, k: int, runs: int) -> tuple[list[int], dict[str, list[Run]]]:
    """How many topics want to move after each change, and where each protocol ends."""
    wanting: list[int] = []
    ended: dict[str, list[Run]] = defaultdict(list)
    for seed in range(runs):
        rng = np.random.default_rng([seed, k])
        nodes = int(rng.integers(200, 1001))
        before = MODELS[model](nodes, TOPICS, rng)
        start = kmeans(before, k, rng).channels
        after = redrawn(before, MODELS[model](nodes, TOPICS, rng), CHANGED, rng)
        wanting.append(int((outcomes_and_cost(after, start, k)[0] != start).sum()))
        leader, scratch = kmeans(after, k, rng, start).cost, kmeans(after, k, rng).cost
        for name, channels, waves in protocols(after, start, k, rng):
            chosen, cost = outcomes_and_cost(after, channels, k)
            if waves is not None and (chosen != channels).any():
                raise AssertionError(f"{name} rests where a move pays: {model}, k={k}, {seed}")
            ended[name].append(Run(waves, cost / leader, cost / scratch))
    return wanting, ended


def protocols(
    interests: Interests, start: Int32s, k: int, rng: np.random.Generator
) -> Iterator[tuple[str, Int32s, int | None]]:
    """Where each comes to rest, and after how many waves."""
    for share in (0.2, 1.0):
        settings = Settings(share, patience=MOST_WAVES)
        schedule = Schedule(start, k, settings, rng)
        chosen, _ = outcomes_and_cost(interests, start, k)
        moved = np.flatnonzero(chosen != start).astype(np.int32)
        end = settled(interests, schedule, k, schedule.stir(moved))
        rested = end.mode == "concurrent"
        yield f"schedule, share {share}", end.channels, end.waves if rested else None
    for share in (0.2, 1.0):
        yield f"adopted unseen, {share}", *adopt_all(interests, start, k, share, rng, MOST_WAVES)


def optima(arguments: argparse.Namespace) -> Iterator[Printed]:
    seeds = 3 if arguments.quick else 10
    printed = Printed(title=f"cost against K-Means, mean of {seeds} seeds (passes over all topics)")
    for heading in ("interests", "k", "by chance", "agglomerative", *EFFORTS):
        printed.add_column(heading)
    for name, interests, channels in instances(arguments.interests):
        for k in channels:
            printed.add_row(name, str(k), *efforts(interests, k, seeds))
    yield printed


def instances(real: Path | None) -> Iterator[tuple[str, Interests, tuple[int, ...]]]:
    rng = np.random.default_rng(1)
    if real is not None:
        yield real.stem, from_json(real.read_text())[0], CHANNELS
    yield "uniform", MODELS["uniform"](500, 100, rng), (10,)
    yield "zipf", zipf_interests(2000, 300, rng), (10, 20)
    yield "planted, 20 groups", planted(2000, 300, rng, groups=20), (10, 20, 30)


def efforts(interests: Interests, k: int, seeds: int) -> Iterator[str]:
    found = {
        name: [
            search(interests, k, np.random.default_rng(seed), effort=effort)
            for seed in range(seeds)
        ]
        for name, effort in EFFORTS.items()
    }
    plain = np.mean([run.cost for run in found["K-Means"]])
    rng = np.random.default_rng(1)
    by_chance = random_channels(interests.topic_count, k, rng)
    for channels in (by_chance, agglomerative(interests, k)):
        yield f"{outcomes_and_cost(interests, channels, k)[1] / plain:.3f}"
    for clusterings in found.values():
        cost = np.mean([run.cost for run in clusterings]) / plain
        yield f"{cost:.3f} ({np.mean([run.passes for run in clusterings]):.0f})"


def large(arguments: argparse.Namespace) -> Iterator[Printed]:
    subscribers = 20_000 if arguments.quick else 100_000
    printed = Printed(
        title=f"waves until a turn brings less than 0.1%; {subscribers:,} subscribers, zipf; "
        "costs against K-Means to its end"
    )
    for heading in ("topics", "k", "start", "share", "waves", "void", "cost at first", "after 20"):
        printed.add_column(heading)
    printed.add_column("in the end")
    for topics, k in ((2000, 10), (10_000, 30)):
        interests = zipf_interests(subscribers, topics, np.random.default_rng(1))
        full = kmeans(interests, k, np.random.default_rng(2)).cost
        for name, start in starts(interests, k):
            for share, moves in ((0.2, 0.2), (1.0, 0.05)):
                row = many_waves(interests, start, k, Settings(share, 0.001, moves=moves), full)
                printed.add_row(f"{topics:,}", str(k), name, f"{share}", *row)
    yield printed


def starts(interests: Interests, k: int) -> Iterator[tuple[str, Int32s]]:
    yield "by chance", random_channels(interests.topic_count, k, np.random.default_rng(3))
    some = interests.subscribers // 5
    offsets = interests.offsets[: some + 1]
    sample = Interests(offsets, interests.topics[: offsets[-1]], interests.rates)
    yield f"K-Means on {some:,}", kmeans(sample, k, np.random.default_rng(3)).channels


def many_waves(
    interests: Interests, start: Int32s, k: int, settings: Settings, full: int
) -> Iterator[str]:
    schedule = Schedule(start, k, settings, np.random.default_rng(4))
    end = settled(interests, schedule, k, schedule.begin("concurrent"), most=400)
    least = np.minimum.accumulate(end.costs)
    yield f"{end.waves}"
    yield f"{(np.array(end.costs[1:]) >= least[:-1]).sum()}"
    for cost in (least[0], least[min(20, len(least) - 1)], end.cost):
        yield f"{cost / full:.4f}"


def speed(arguments: argparse.Namespace) -> Iterator[Printed]:
    subscribers = 100_000 if arguments.quick else 1_000_000
    interests = zipf_interests(subscribers, 10_000, np.random.default_rng(1))
    printed = Printed(
        title=f"CPU seconds of one core; {subscribers:,} subscribers, 10,000 topics, "
        f"{len(interests):,} interests"
    )
    for heading in ("k", "count all votes", "K-Means: lay out", "first pass", "third pass"):
        printed.add_column(heading)
    for k in (10, 30, 100):
        printed.add_row(str(k), *timings(interests, k))
    yield printed


def timings(interests: Interests, k: int) -> Iterator[str]:
    channels = random_channels(interests.topic_count, k, np.random.default_rng(2))
    few = zipf_interests(10, interests.topic_count, np.random.default_rng(3))
    count(few, channels, k)
    order = np.arange(interests.topic_count, dtype=np.int32)
    Table(few, k).place(order)
    begin = time.process_time()
    count(interests, channels, k)
    yield f"{time.process_time() - begin:.2f}"
    begin = time.process_time()
    table = Table(interests, k)
    table.take(channels)
    yield f"{time.process_time() - begin:.2f}"
    for turn in range(3):
        begin = time.process_time()
        table.place(order)
        if turn != 1:
            yield f"{time.process_time() - begin:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS))
    parser.add_argument("--interests", type=Path, metavar="FILE", help="real ones, as JSON")
    parser.add_argument("--quick", action="store_true", help="fewer runs: a few minutes")
    arguments = parser.parse_args()
    console = Console(width=None if Console().is_terminal else 150)
    for part in arguments.parts:
        for printed in globals()[part](arguments):
            console.print(printed)


if __name__ == "__main__":
    main()
