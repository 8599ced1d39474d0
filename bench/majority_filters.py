"""How often majority filters take unpopular topics for popular ones, and what they send.

    python bench/majority_filters.py [--parts theorem zipf recipe cascade traffic real] [--quick]
                                     [--interests FILE.json]

    theorem  100 topics of 20% support, 1,000 nodes, λ = 0.8, h = 3: Theorem 1 and what is measured
    zipf     1,000 Zipf topics, λ = 0.1 and 0.2: the same
    recipe   the bits that keep false positives at 1%, by topics, interests a node and λ
    cascade  false positives by level, and those of filters of the same thresholds on their own
    traffic  packets and bytes a node until quiet: real nodes on a random tree, a filter's bits
             against a vote for each topic
    real     interests of a JSON file (node -> topics); runs if --interests names one

Rates are those of topics that some nodes hold, but too few; `nobody's` is the rate of elements that
no node holds. Bits are counted centrally, which gives what nodes settle on (tests show that). Every
run has another key and, except for `real`, other interests. Rates do not depend on the machine.
"""

import argparse
import json
from collections.abc import Iterator
from math import log
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from caddis.arrays import Bools, Floats, Int64s
from caddis.bloom import false_positive_rate
from caddis.lab.simulators import TreeSimulator, random_tree
from caddis.topics.majority import (
    Hashing,
    MajorityFilter,
    SignVoter,
    aggregation_bound,
    aggregation_bound_per_bit,
    aggregation_tail_per_bit,
    as_threshold,
    bits_for,
    expected_false_positives,
    majority_input,
    popular_bits,
)

PARTS = ("theorem", "zipf", "recipe", "cascade", "traffic", "real")
NODES, HASHES = 1000, 3


class Rates:
    """The rates of topics that seem popular and are not, and of elements that nobody holds."""

    def __init__(self) -> None:
        self.wrong = self.unpopular = self.runs = 0
        self.nobodys = 0.0

    def count(self, interests: Bools, places: Int64s, bits: Bools, threshold: str) -> None:
        share = as_threshold(threshold)
        holders = interests.sum(axis=0)
        enough = holders * share.denominator >= share.numerator * len(interests)
        popular: Bools = np.asarray(enough)
        seems: Bools = np.asarray(bits[places].all(axis=1))
        if not seems[popular].all():
            raise SystemExit("a popular topic was missed")
        self.wrong += int(np.count_nonzero(seems & ~popular & (holders > 0)))
        self.unpopular += int(np.count_nonzero(~popular & (holders > 0)))
        self.nobodys += float(bits.mean()) ** places.shape[1]
        self.runs += 1

    @property
    def cells(self) -> list[str]:
        counts = f"{self.wrong:,} of {self.unpopular:,}"
        return [shown(self.wrong / self.unpopular), counts, shown(self.nobodys / self.runs)]


def shown(rate: float) -> str:
    return f"{rate:.2g}"


def zipf(topics: int, interests: float, most: float = 0.9) -> Floats:
    """Supports that fall with the rank and add up to the interests of a node."""
    ranks = np.arange(1, topics + 1)
    least, largest = 0.0, float(topics)
    for _ in range(60):
        middle = (least + largest) / 2
        few = np.minimum(most, middle / ranks).sum() < interests
        least, largest = (middle, largest) if few else (least, middle)
    return np.minimum(most, least / ranks)


def places_of(topics: int, bits: int, run: int) -> Int64s:
    hashing = Hashing(bits, HASHES, run.to_bytes(4, "little"))
    return hashing.positions_of(str(topic) for topic in range(topics)).astype(np.int64)


def measured(supports: Floats, bits: int, threshold: str, runs: int) -> Rates:
    rates = Rates()
    for run in range(runs):
        rng = np.random.default_rng(run)
        interests = rng.random((NODES, len(supports)), np.float32) < supports
        places = places_of(len(supports), bits, run)
        found = popular_bits(interests, places.astype(np.int32), bits, threshold)
        rates.count(interests, places, found, threshold)
    return rates


def estimated(supports: Floats, bits: int, threshold: str, nodes: int = NODES) -> str:
    rng = np.random.default_rng(0)
    found = expected_false_positives(supports, bits, HASHES, threshold, nodes, rng)
    return shown(found[supports < float(threshold)].mean())


def theorem(arguments: argparse.Namespace) -> Iterator[Table]:
    """Where the theorem's premise fails."""
    supports, threshold = np.full(100, 0.2), "0.8"
    title = "100 topics of 20% support, 1,000 nodes, λ = 0.8, h = 3"
    names = ("bound a bit", "bound", "tail", "estimate", "measured", "topics", "nobody's")
    table = a_table(title, "b", *names)
    for bits in (40, 50, 64, 80, 100, 128):
        case = NODES, 20, HASHES, bits, threshold
        runs = (20 if bits < 80 else 100) if arguments.quick else (500 if bits < 80 else 5000)
        table.add_row(
            str(bits),
            shown(aggregation_bound_per_bit(*case)),
            shown(aggregation_bound(*case)),
            shown(aggregation_tail_per_bit(*case) ** HASHES),
            estimated(supports, bits, threshold),
            *measured(supports, bits, threshold, runs).cells,
        )
    yield table


def by_zipf(arguments: argparse.Namespace) -> Iterator[Table]:
    """Many rare topics and a few popular ones."""
    supports, runs = zipf(1000, 10), 5 if arguments.quick else 100
    for threshold in ("0.1", "0.2"):
        popular = int((supports >= float(threshold)).sum())
        title = f"1,000 Zipf topics, 10 a node, λ = {threshold}, h = 3: {popular} popular"
        names = ("classical", "bound", "estimate", "measured", "topics", "nobody's")
        table = a_table(title, "b", *names)
        for bits in (100, 200, 400, 800, 1600):
            table.add_row(
                str(bits),
                shown(false_positive_rate(popular, bits, HASHES)),
                shown(aggregation_bound(NODES, 10, HASHES, bits, threshold)),
                estimated(supports, bits, threshold),
                *measured(supports, bits, threshold, runs).cells,
            )
        yield table


def recipe(arguments: argparse.Namespace) -> Iterator[Table]:
    """The bits for 1%, and how many times h l / ln(1 / (1 - λ)) that is."""
    title = "Bits for 1% false positives, h = 3, 1,000 nodes; in brackets ÷ (h l / ln(1 / (1 - λ)))"
    thresholds = ("0.05", "0.1", "0.2", "0.5", "0.8")
    table = a_table(title, "topics", "a node", *(f"λ = {one}" for one in thresholds))
    sizes = (100, 1000) if arguments.quick else (100, 1000, 10_000)
    for topics in sizes:
        for interests in (5, 10, 20):
            supports = zipf(topics, interests)
            cells = []
            for threshold in thresholds:
                bits = bits_of(supports, threshold)
                unit = HASHES * interests / log(1 / (1 - float(threshold)))
                cells.append("all popular" if bits is None else f"{bits:,} ({bits / unit:.1f})")
            table.add_row(f"{topics:,}", str(interests), *cells)
    yield table


def bits_of(supports: Floats, threshold: str) -> int | None:
    if (supports >= float(threshold)).all():
        return None
    return bits_for(supports, HASHES, threshold, NODES, rate=0.01)


def cascade(arguments: argparse.Namespace) -> Iterator[Table]:
    """Each filter hashes with its own key; the next one's input is what the last let through."""
    thresholds, supports = ("0.05", "0.1", "0.2", "0.5"), zipf(1000, 10)
    runs = 5 if arguments.quick else 100
    title = "False positives by level: 1,000 Zipf topics, 10 a node, h = 3"
    table = a_table(title, "b", "", *(f"λ = {one}" for one in thresholds))
    for bits in (200, 400, 800):
        alone, together = ([Rates() for _ in thresholds] for _ in range(2))
        for run in range(runs):
            rng = np.random.default_rng(run)
            interests = rng.random((NODES, 1000), np.float32) < supports
            left = np.ones(1000, np.bool_)
            for level, threshold in enumerate(thresholds):
                places = places_of(1000, bits, 1000 * level + run)
                few = places.astype(np.int32)
                ones = popular_bits(interests, few, bits, threshold)
                alone[level].count(interests, places, ones, threshold)
                ones = popular_bits(interests & left, few, bits, threshold)
                left &= ones[places].all(axis=1)
                count_left(together[level], interests, left, threshold)
        table.add_row(str(bits), "alone", *(one.cells[0] for one in alone))
        table.add_row("", "cascade", *(one.cells[0] for one in together))
    yield table


def count_left(rates: Rates, interests: Bools, left: Bools, threshold: str) -> None:
    """The topics that would be left if each had a bit of its own."""
    rates.count(interests, np.arange(len(left))[:, None], left, threshold)


def traffic(arguments: argparse.Namespace) -> Iterator[Table]:
    """What nodes send until all is quiet, and after a hundredth of them changed a topic."""
    nodes = 100 if arguments.quick else 1000
    title = f"A node's packets and kB until quiet: {nodes:,} nodes on a random tree, 10 topics each"
    names = ("packets", "kB", "packets, 1% change", "kB, 1% change")
    table = a_table(title, "topics", "λ", "votes on", *names)
    for topics in (100, 1000):
        for threshold in ("0.2", "0.5"):
            supports = zipf(topics, 10)
            size = bits_for(supports, HASHES, threshold, NODES, rate=0.01)
            for what, bits in ((f"{size} bits", size), ("each topic", 0)):
                cells = traffic_of(supports, nodes, threshold, bits)
                table.add_row(str(topics), threshold, what, *cells)
    yield table


class TopicVoter(SignVoter):
    """The exact alternative: a vote for each topic, where nodes can number them."""

    def __init__(self, topics: int, threshold: str) -> None:
        super().__init__(topics)
        self._threshold, self._held = as_threshold(threshold), np.zeros(0, np.bool_)

    def set_topics(self, held: Bools) -> list[tuple[object, object]]:
        changed = np.flatnonzero(held != self._held) if len(self._held) else np.arange(len(held))
        self._held = held.copy()
        values = majority_input(held[changed], self._threshold)
        return self.set_input(values, changed.astype(np.int32))


def traffic_of(supports: Floats, nodes: int, threshold: str, bits: int) -> list[str]:
    rng = np.random.default_rng(0)
    interests = rng.random((nodes, len(supports))) < supports
    voters: list[MajorityFilter | TopicVoter] = [
        MajorityFilter(bits, HASHES, threshold) if bits else TopicVoter(len(supports), threshold)
        for _ in range(nodes)
    ]
    tree = TreeSimulator(voters, rng, parents=random_tree(nodes, rng))

    def say(number: int) -> None:
        held, node = interests[number], voters[number]
        if isinstance(node, MajorityFilter):
            tree.say(number, node.set_elements(map(str, np.flatnonzero(held))))
        else:
            tree.say(number, node.set_topics(held))

    for number in range(nodes):
        say(number)
    tree.run()
    first = tree.packets.sum(), tree.nbytes.sum()
    for number in rng.choice(nodes, nodes // 100, replace=False):
        interests[number, rng.choice(len(supports), p=supports / supports.sum())] ^= True
        say(int(number))
    tree.run()
    more = tree.packets.sum() - first[0], tree.nbytes.sum() - first[1]
    pairs = (first, more)
    return [f"{count / nodes:.3g}" for pair in pairs for count in (pair[0], pair[1] / 1000)]


def real(arguments: argparse.Namespace) -> Iterator[Table]:
    """Interests of real people, which are not independent."""
    if arguments.interests is None:
        return
    interests = read_interests(arguments.interests)
    nodes, topics = interests.shape
    supports, runs = interests.mean(axis=0), 3 if arguments.quick else 20
    each = interests.sum() / nodes
    title = f"{arguments.interests.name}: {nodes:,} nodes, {topics} topics, {each:.1f} a node"
    names = ("popular", "bound", "estimate", "measured", "topics", "nobody's")
    table = a_table(f"{title}, h = 3", "λ", "b", *names)
    for threshold in ("0.1", "0.2", "0.5"):
        for bits in (50, 100, 200, 400):
            rates = Rates()
            for run in range(runs):
                places = places_of(topics, bits, run)
                ones = popular_bits(interests, places.astype(np.int32), bits, threshold)
                rates.count(interests, places, ones, threshold)
            popular = str(int((supports >= float(threshold)).sum()))
            bound = shown(aggregation_bound(nodes, each, HASHES, bits, threshold))
            guess = estimated(supports, bits, threshold, nodes)
            table.add_row(threshold, str(bits), popular, bound, guess, *rates.cells)
    yield table


def read_interests(path: Path) -> Bools:
    """Who wants what, by node and topic."""
    held = list(json.loads(path.read_text()).values())
    numbers = {topic: i for i, topic in enumerate(sorted({one for some in held for one in some}))}
    interests = np.zeros((len(held), len(numbers)), np.bool_)
    for node, some in enumerate(held):
        interests[node, [numbers[topic] for topic in some]] = True
    return interests


def a_table(title: str, *names: str) -> Table:
    table = Table(title=title, box=None, title_justify="left", pad_edge=False)
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--interests", type=Path, metavar="FILE", help="JSON: node -> topics")
    parser.add_argument("--quick", action="store_true", help="few runs: a minute or two")
    arguments = parser.parse_args()
    console = Console(width=None if Console().is_terminal else 160)
    parts = {
        "theorem": theorem, "zipf": by_zipf, "recipe": recipe,
        "cascade": cascade, "traffic": traffic, "real": real,
    }  # fmt: skip
    for part in arguments.parts:
        for table in parts[part](arguments):
            console.print(table)
            console.print()


if __name__ == "__main__":
    main()
