"""Experiments on votes whose inputs are drawn, as section 4 of the paper has them.

Each is a function of its setting and of where it stands along its axis, and gives all that it
measured by name; messages are by node. All ways to vote see the same tree and the same inputs, and
all must come to the same outcome.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from caddis.arrays import Int32s, Int64s
from caddis.errors import TopicError
from caddis.lab.figures import Measured
from caddis.lab.local_building_blocks.runs import Setup
from caddis.lab.simulators import (
    PairRounds,
    Tree,
    VoteRounds,
    aggregated,
    aggregated_again,
    complete_binary_tree,
    gaussian_costs,
    packets,
    random_binary_tree,
)

COMPLETE, RANDOM = "complete", "random"
CHOICES, SECOND = 3, 1.0
"""As many choices, and this d'(2,3), where they do not vary."""


def tree_of(shape: str, nodes: int, rng: np.random.Generator) -> Tree:
    """A binary tree."""
    if shape == RANDOM:
        return Tree.of(random_binary_tree(nodes, rng))
    return Tree.of(complete_binary_tree(nodes))


def measure_distance(setup: Setup, setting: str, x: float, rng: np.random.Generator) -> Measured:
    """A first vote and its upkeep by all three ways; x: d'(1,2), setting: the tree's shape."""
    ours = setup.conditions
    tree, distances = tree_of(setting, ours.nodes, rng), (x, SECOND)
    before = gaussian_costs(ours.nodes, distances, rng)
    size = max(1, round(ours.changed * ours.nodes))
    some = rng.choice(ours.nodes, size, replace=False).astype(np.int32)
    after = before.copy()
    after[some] = gaussian_costs(size, distances, rng)
    measured: Measured = {"aggregation": aggregated(tree)}
    for name, way in (("voting", VoteRounds), ("pairs", PairRounds)):
        vote = quiet(way(tree, before), before)
        measured |= {name: vote.messages, f"{name}_numbers": vote.numbers}
        measured |= {f"{name}_radius": _mean_radius(vote), f"{name}_rounds": vote.rounds}
        vote.change(some, after[some])
        measured[f"{name}_again"] = quiet(vote, after).messages
    measured["aggregation_again"] = aggregated_again(tree, before, after)
    return measured


def measure_second(setup: Setup, setting: str, x: float, rng: np.random.Generator) -> Measured:
    """A first vote, and one on pairs; x: d'(2,3), setting: d'(1,2)."""
    nodes = setup.conditions.nodes
    tree = tree_of(COMPLETE, nodes, rng)
    costs = gaussian_costs(nodes, (float(setting), x), rng)
    pairs = quiet(PairRounds(tree, costs), costs)
    return _first(tree, costs) | {"pairs": pairs.messages, "pairs_radius": _mean_radius(pairs)}


def measure_growth(_: Setup, setting: str, x: float, rng: np.random.Generator) -> Measured:
    """A first vote; x: nodes, setting: the tree's shape and d'(1,2)."""
    shape, distance = setting.split()
    tree = tree_of(shape, int(x), rng)
    return _first(tree, gaussian_costs(int(x), (float(distance), SECOND), rng))


def measure_choices(setup: Setup, setting: str, x: float, rng: np.random.Generator) -> Measured:
    """Voting and pairs; x: choices, setting: d'(1,2). The others are as far apart as (2,3) are."""
    nodes = setup.conditions.nodes
    tree = tree_of(COMPLETE, nodes, rng)
    costs = gaussian_costs(nodes, (float(setting), *[SECOND] * (int(x) - 2)), rng)
    voting = quiet(VoteRounds(tree, costs), costs)
    pairs = quiet(PairRounds(tree, costs), costs)
    return {
        "voting": voting.messages,
        "voting_numbers": voting.numbers,
        "pairs": pairs.messages,
        "pairs_numbers": pairs.numbers,
    }


def measure_packets(setup: Setup, setting: str, x: float, rng: np.random.Generator) -> Measured:
    """Votes side by side; x: how many, setting: d'(1,2)."""
    nodes, distances = setup.conditions.nodes, (float(setting), SECOND)
    tree = tree_of(COMPLETE, nodes, rng)
    costs = [gaussian_costs(nodes, distances, rng) for _ in range(int(x))]
    votes = [VoteRounds(tree, one) for one in costs]
    shared = packets(votes)
    for vote, one in zip(votes, costs, strict=True):
        quiet(vote, one)
    return {"packets": shared, "messages": sum(vote.messages for vote in votes)}


def quiet(vote: VoteRounds, costs: Int64s) -> VoteRounds:
    """A vote that is quiet, and whose outcome is right at every node."""
    check_outcome(vote.run().choices, costs)
    return vote


def check_outcome(choices: Int32s, costs: Int64s) -> None:
    """Refuse what nodes chose unless it is what costs all of them the least together."""
    best = int(costs.sum(axis=0).argmin())
    if (choices != best).any():
        raise TopicError(f"a vote ended with {np.unique(choices)}, not {best} everywhere")


def _first(tree: Tree, costs: Int64s) -> Measured:
    vote = quiet(VoteRounds(tree, costs), costs)
    return {
        "voting": vote.messages,
        "voting_radius": _mean_radius(vote),
        "voting_rounds": vote.rounds,
    }


def _mean_radius(vote: VoteRounds) -> float:
    return float(vote.radius.mean())


def names(numbers: Sequence[float]) -> tuple[str, ...]:
    """Numbers as the settings of experiments.

    >>> names([0.1, 1])
    ('0.1', '1')
    """
    return tuple(f"{number:g}" for number in numbers)
