"""What a vote costs in messages: local voting beside plain aggregation.

    python bench/voting.py [--quick] [--nodes 1000] [--json FILE]

The paper's inputs (local building blocks, section 4): three choices, normally distributed costs,
d'(2,3) = 1, and d'(1,2) as the table says. Trees are complete and random binary ones. The nodes are
the real ones, in rounds, and for voting the engine of `caddis.lab.simulators`, which sends the
same messages. A vote is held, and then, again and again, a share of the nodes draws new inputs.
Figures are messages per node and vote: for the first vote, and for a change when twice as many
inputs have changed as there are nodes, since voting gets dearer until then. Seeds are fixed, so a
table is the same on any machine. `caddis.topics.voting.choose_protocol` goes by the default run.

The last table has what a vote takes in all, also by polls that choose their protocol: a first vote
on a complete tree, and then changes of 1% of the inputs.
"""

import argparse
import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from caddis.arrays import Int32s, Int64s
from caddis.lab.simulators import (
    Tree,
    TreeSimulator,
    VoteRounds,
    a_round,
    complete_binary_tree,
    gaussian_costs,
    random_binary_tree,
)
from caddis.topics.voting import Aggregator, MeasuredPoll, Poll, Voter

DIFFICULTIES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 4.0)
SHARES = (0.001, 0.01, 0.1, 1.0)
"""The share of the nodes that draws new inputs in a change."""
AGGREGATED_CHANGES = 6
"""How many changes real nodes count; what one takes does not depend on those before."""
FIRST = "first"
Record = dict[str, str | float]
IN_ALL = (0.01, 0.1, 0.2, 0.5, 2.0)
CHANGES = (20, 200)
UNIT = 1 << 10


def drawn(nodes: int, votes: int, difficulty: float, rng: np.random.Generator) -> Int64s:
    """Costs by node, vote and choice."""
    costs = gaussian_costs(nodes * votes, (difficulty, 1.0), rng)
    return costs.reshape(nodes, votes, 3)


def tree_of(shape: str, nodes: int, rng: np.random.Generator) -> Int32s:
    return complete_binary_tree(nodes) if shape == "complete" else random_binary_tree(nodes, rng)


def by_voting(
    parents: Int32s, difficulty: float, votes: int, rng: np.random.Generator
) -> dict[str, float]:
    """Messages per node and vote, for the first vote and for changes by their share."""
    tree, distances = Tree.of(parents), (difficulty, 1.0)
    found: dict[str, list[float]] = {what: [] for what in (FIRST, *map(str, SHARES))}
    for share in SHARES:
        size = max(1, round(share * len(tree)))
        turn = -(-len(tree) // size)
        for _ in range(votes if turn < len(tree) else max(1, votes // 4)):
            vote = VoteRounds(tree, gaussian_costs(len(tree), distances, rng)).run()
            found[FIRST].append(vote.messages)
            for change in range(2 * turn + max(turn, 4)):
                some = rng.choice(len(tree), size, replace=False).astype(np.int32)
                vote.change(some, gaussian_costs(size, distances, rng))
                vote.run()
                if change >= 2 * turn:
                    found[str(share)].append(vote.messages)
    return {what: float(np.mean(ones)) for what, ones in found.items()}


def by_aggregation(
    parents: Int32s, difficulty: float, votes: int, rng: np.random.Generator
) -> dict[str, float]:
    """The same, counted with real nodes."""
    nodes = len(parents)
    polls = [Aggregator(3, votes) for _ in range(nodes)]
    tree = TreeSimulator(polls, rng, a_round, parents=parents)
    inputs = np.zeros((nodes, votes, 3), np.int64)
    sent = 0

    def take(some: Int32s) -> float:
        nonlocal sent
        inputs[some] = drawn(len(some), votes, difficulty, rng)
        for node in some.tolist():
            tree.say(node, polls[node].set_input(inputs[node]))
        tree.run()
        before, sent = sent, int(tree.messages.sum())
        return (sent - before) / nodes / votes

    found = {FIRST: take(np.arange(nodes, dtype=np.int32))}
    for share in SHARES:
        size = max(1, round(share * nodes))
        draws = [rng.choice(nodes, size, replace=False) for _ in range(AGGREGATED_CHANGES)]
        found[str(share)] = float(np.mean([take(draw.astype(np.int32)) for draw in draws]))
    check(polls, inputs)
    return found


def check(polls: Sequence[Poll], inputs: Int64s) -> None:
    """Make sure that no figure is printed for votes that ended wrong."""
    best = inputs.sum(axis=0).argmin(axis=1)
    if not all((poll.choices == best).all() for poll in polls):
        raise SystemExit("some node did not choose the least")


PROTOCOLS = {"voting": by_voting, "aggregation": by_aggregation}


def measured(shape: str, nodes: int, trees: int, votes: int) -> list[Record]:
    rows: list[Record] = []
    for difficulty in DIFFICULTIES:
        for protocol, counted in PROTOCOLS.items():
            runs = []
            for seed in range(trees):
                rng = np.random.default_rng(seed)
                runs.append(counted(tree_of(shape, nodes, rng), difficulty, votes, rng))
            averages = {what: float(np.mean([run[what] for run in runs])) for what in runs[0]}
            rows.append({"tree": shape, "difficulty": difficulty, "protocol": protocol, **averages})
    return rows


def in_all(
    make: Callable[[int, int], Poll], nodes: int, difficulty: float, votes: int, changes: int
) -> float:
    """Messages per node and vote for a first vote and changes of 1% after it, one by one."""
    rng = np.random.default_rng(0)
    polls = [make(3, votes) for _ in range(nodes)]
    tree = TreeSimulator(polls, rng, a_round, parents=complete_binary_tree(nodes))
    inputs = np.zeros((nodes, votes, 3), np.int64)
    size = max(1, nodes // 100)
    for change in range(changes + 1):
        some = rng.choice(nodes, size, replace=False) if change else np.arange(nodes)
        inputs[some] = drawn(len(some), votes, difficulty, rng)
        for node in some.tolist():
            tree.say(node, polls[node].set_input(inputs[node]))
        tree.run()
    check(polls, inputs)
    return float(tree.messages.sum()) / nodes / votes


def print_in_all(console: Console, nodes: int, votes: int) -> list[Record]:
    """Each protocol's messages, and how many times those of aggregation they are."""
    title = f"a complete binary tree of {nodes:,} nodes: messages a node in all (÷ aggregation)"
    table = Table(title=title, box=None, title_justify="left", pad_edge=False)
    for name in ("d'(1,2)", "1% changes", "aggregation", "voting", "measured"):
        table.add_column(name, justify="right", no_wrap=True)
    rows: list[Record] = []
    for difficulty in IN_ALL:
        for changes in CHANGES:
            measured = partial(MeasuredPoll, changed_share=0.01, changes=changes, unit=UNIT)
            makes: dict[str, Callable[[int, int], Poll]]
            makes = {"aggregation": Aggregator, "voting": Voter, "measured": measured}
            found = {
                name: in_all(make, nodes, difficulty, votes, changes)
                for name, make in makes.items()
            }
            rows.append({"difficulty": difficulty, "changes": changes, **found})
            ratios = [f"{one:.2f} ({one / found['aggregation']:.2f})" for one in found.values()]
            table.add_row(f"{difficulty:g}", str(changes), *ratios)
    console.print(table)
    return rows


def print_ratios(console: Console, shape: str, rows: Sequence[Record], nodes: int) -> None:
    title = f"{shape} binary trees of {nodes:,} nodes: messages a node, voting ÷ aggregation"
    table = Table(title=title, box=None, title_justify="left", pad_edge=False)
    for name in ("d'(1,2)", "first vote", *(f"{share:.1%} change" for share in SHARES)):
        table.add_column(name, justify="right", no_wrap=True)
    for voting, summing in zip(rows[::2], rows[1::2], strict=True):
        cells = [f"{voting['difficulty']:g}"]
        for column in (FIRST, *map(str, SHARES)):
            one, other = float(voting[column]), float(summing[column])
            cells.append(f"{one:.3g} ÷ {other:.3g} = {one / other:.2f}")
        table.add_row(*cells)
    console.print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--quick", action="store_true", help="one tree and few votes")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    if arguments.nodes < 2:
        parser.error("nodes that vote together are at least 2")
    trees, votes = (1, 10) if arguments.quick else (3, 20)
    console, found = Console(width=130), []
    for shape in ("complete", "random"):
        rows = measured(shape, arguments.nodes, trees, votes)
        print_ratios(console, shape, rows, arguments.nodes)
        found += rows
    found += print_in_all(console, arguments.nodes, votes)
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
