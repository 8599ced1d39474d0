"""The experiments whose inputs are drawn: the votes of section 4 of the paper, majority filters.

`Conditions`, `Scale` and `Setup` are what every run for this paper is given. An experiment is a
function of a setting and of an x along its axis, and gives all that it measured by name; messages
are per node. All ways to vote see the same tree and the same inputs, and all must come to the same
outcome.

Votes are in rounds: a node takes in all messages of a round before it answers. `measure_delays`
casts the same vote by real `Voter`s, too, whose messages take random times.

`measure_filters` compares Theorem 1 with what nodes really get. Nodes hold about 20 of 100
elements, each of which a fifth of them holds, so that nothing is popular and whatever seems so is
false. The theorem supposes that the bits of different nodes are independent; `tail_per_bit` is what
would follow from that. But nodes share the hash functions, and what follows from that is measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from caddis.arrays import Int32s, Int64s
from caddis.errors import TopicError
from caddis.lab.figures import Measured, Place
from caddis.lab.simulators import (
    Delay,
    PairRounds,
    Tree,
    TreeSimulator,
    VoteRounds,
    a_while,
    aggregated,
    aggregated_again,
    complete_binary_tree,
    gaussian_costs,
    packets,
    random_binary_tree,
)
from caddis.topics.clustering import Interests
from caddis.topics.majority import (
    aggregation_bound,
    aggregation_bound_per_bit,
    aggregation_tail_per_bit,
    popular_bits,
)
from caddis.topics.voting import Voter

DRAWN = "drawn"


@dataclass(frozen=True, slots=True)
class Conditions:
    """What all runs have in common; runs under other conditions are not comparable.

    nodes: how many a tree has, where that does not vary.
    changed: the share of nodes whose inputs change once a vote is quiet.
    interests: where the interests come from whose topics are voted on: DRAWN, or a digest of
        their file.
    subscribers, topics: how many these interests have.
    k: the number of channels that topics are voted into.
    """

    nodes: int = 1000
    changed: float = 0.01
    seed: int = 1
    interests: str = DRAWN
    subscribers: int = 10_000
    topics: int = 100
    k: int = 10

    def of_file(self, interests: Interests, digest: str) -> Conditions:
        """Conditions with the real interests of a file."""
        return replace(
            self,
            interests=digest,
            subscribers=interests.subscribers,
            topics=interests.topic_count,
        )


@dataclass(frozen=True, slots=True)
class Scale:
    """Where experiments are run along their axes, and how often.

    repeats: how often; few: how often where a single run is large.
    distances: values of d'(1,2); second: of d'(2,3); fixed: of d'(1,2) where that does not vary.
    together: how many votes are cast side by side.
    delayed: values of d'(1,2) where messages take random times.
    every: how far apart the topics are that are voted on; 5 takes every fifth.
    shares: the shares of the topics that vote at once.
    topics: the topics whose votes are cast, once each; see `on_topics`.
    """

    repeats: int = 30
    few: int = 5
    distances: tuple[float, ...] = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 4)
    second: tuple[float, ...] = (0, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2, 4)
    fixed: tuple[float, ...] = (0.01, 0.05, 0.1, 0.5, 1)
    nodes: tuple[float, ...] = (1e3, 1e4, 1e5, 1e6)
    choices: tuple[float, ...] = (2, 3, 5, 10, 20)
    together: tuple[float, ...] = (1, 3, 10, 30, 100)
    bits: tuple[float, ...] = (40, 50, 60, 80, 100, 150, 200)
    every: int = 1
    channels: tuple[float, ...] = (2, 5, 10, 20, 40)
    shares: tuple[float, ...] = (0.1, 0.2, 0.5, 1.0)
    delayed: tuple[float, ...] = (0.01, 0.1, 0.5, 1, 4)
    topics: tuple[float, ...] = ()
    once: int = 1

    def on_topics(self, count: int) -> Scale:
        """A scale that votes on topics, of which there are so many."""
        return replace(self, topics=tuple(map(float, range(0, count, self.every))))


QUICK = Scale(
    repeats=5,
    few=2,
    distances=(0.01, 0.1, 0.5, 1, 4),
    second=(0, 0.1, 0.5, 1, 4),
    fixed=(0.1, 1),
    nodes=(1e3, 1e4, 1e5),
    choices=(2, 3, 5, 10),
    together=(1, 10, 30),
    bits=(50, 60, 80, 100),
    every=5,
    channels=(5, 10, 20),
    shares=(0.2, 1.0),
    delayed=(0.1, 1),
)
QUICK_SUBSCRIBERS = 2000


class Setup(NamedTuple):
    """What every run is given: the conditions, and the interests whose topics are voted on."""

    conditions: Conditions
    interests: Interests

    def rng(self, place: Place) -> np.random.Generator:
        """What a run draws from: the n-th repeat draws alike at all places."""
        return np.random.default_rng([self.conditions.seed, place.repeat])


COMPLETE, RANDOM = "complete", "random"
CHOICES, SECOND = 3, 1.0
"""The number of choices, and d'(2,3), where these do not vary."""


def tree_of(shape: str, nodes: int, rng: np.random.Generator) -> Tree:
    """A binary tree: a random one, or a complete one."""
    if shape == RANDOM:
        return Tree.of(random_binary_tree(nodes, rng))
    return Tree.of(complete_binary_tree(nodes))


def measure_distance(setup: Setup, place: Place) -> Measured:
    """Cast a vote and keep it up in all three ways; x: d'(1,2), setting: the tree's shape."""
    rng = setup.rng(place)
    ours = setup.conditions
    tree, distances = tree_of(place.setting, ours.nodes, rng), (place.x, SECOND)
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


def measure_second(setup: Setup, place: Place) -> Measured:
    """Cast a first vote, and one on pairs; x: d'(2,3), setting: d'(1,2)."""
    rng = setup.rng(place)
    nodes = setup.conditions.nodes
    tree = tree_of(COMPLETE, nodes, rng)
    costs = gaussian_costs(nodes, (float(place.setting), place.x), rng)
    pairs = quiet(PairRounds(tree, costs), costs)
    return _first(tree, costs) | {"pairs": pairs.messages, "pairs_radius": _mean_radius(pairs)}


def measure_growth(setup: Setup, place: Place) -> Measured:
    """Cast a first vote; x: nodes, setting: the tree's shape and d'(1,2)."""
    rng = setup.rng(place)
    shape, distance = place.setting.split()
    tree = tree_of(shape, int(place.x), rng)
    return _first(tree, gaussian_costs(int(place.x), (float(distance), SECOND), rng))


def measure_choices(setup: Setup, place: Place) -> Measured:
    """Cast votes on many choices, and on pairs; x: choices, setting: d'(1,2).

    Each choice after the second is as far from the one before it as SECOND says.
    """
    rng = setup.rng(place)
    nodes = setup.conditions.nodes
    tree = tree_of(COMPLETE, nodes, rng)
    costs = gaussian_costs(nodes, (float(place.setting), *[SECOND] * (int(place.x) - 2)), rng)
    voting = quiet(VoteRounds(tree, costs), costs)
    pairs = quiet(PairRounds(tree, costs), costs)
    return {
        "voting": voting.messages,
        "voting_numbers": voting.numbers,
        "pairs": pairs.messages,
        "pairs_numbers": pairs.numbers,
    }


def measure_packets(setup: Setup, place: Place) -> Measured:
    """Cast votes side by side; x: how many, setting: d'(1,2)."""
    rng = setup.rng(place)
    nodes, distances = setup.conditions.nodes, (float(place.setting), SECOND)
    tree = tree_of(COMPLETE, nodes, rng)
    costs = [gaussian_costs(nodes, distances, rng) for _ in range(int(place.x))]
    votes = [VoteRounds(tree, one) for one in costs]
    shared = packets(votes)
    for vote, one in zip(votes, costs, strict=True):
        quiet(vote, one)
    return {"packets": shared, "messages": sum(vote.messages for vote in votes)}


def quiet(vote: VoteRounds, costs: Int64s) -> VoteRounds:
    """Run a vote until it is quiet, and check that its outcome is right at every node."""
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


MEAN_MS = 50.0
"""The mean time of a message (`a_while`), which is taken for the time of one round."""


def measure_delays(setup: Setup, place: Place) -> Measured:
    """Cast a first vote in rounds and with delays; x: d'(1,2), setting: the tree's shape."""
    rng = setup.rng(place)
    nodes = setup.conditions.nodes
    tree = tree_of(place.setting, nodes, rng)
    costs = gaussian_costs(nodes, (place.x, SECOND), rng)
    vote = quiet(VoteRounds(tree, costs), costs)
    real = simulated(tree, costs, rng, a_while)
    return {
        "rounds": vote.messages,
        "rounds_time": vote.rounds,
        "delays": float(real.messages.sum()) / nodes,
        "delays_time": real.now / MEAN_MS,
    }


def simulated(tree: Tree, costs: Int64s, rng: np.random.Generator, delay: Delay) -> TreeSimulator:
    """Let real nodes cast a first vote until it is quiet, and check its outcome."""
    voters = [Voter(choices=costs.shape[1]) for _ in costs]
    simulator = TreeSimulator(voters, rng, delay, parents=tree.parents)
    for node, voter in enumerate(voters):
        simulator.say(node, voter.set_input(costs[node]))
    simulator.run()
    check_outcome(np.array([voter.choice() for voter in voters]), costs)
    return simulator


ELEMENTS, SUPPORT, HASHES = 100, 0.2, 3
DRAWS = 50
"""How many sets of hash functions are tried on the same interests."""


def measure_filters(setup: Setup, place: Place) -> Measured:
    """Compare bounds with false positives; x: bits of the filter, setting: the threshold."""
    rng = setup.rng(place)
    nodes, bits = setup.conditions.nodes, int(place.x)
    case = nodes, ELEMENTS * SUPPORT, HASHES, bits, place.setting
    interests = rng.random((nodes, ELEMENTS)) < SUPPORT
    taken, set_bits = 0, 0
    for _ in range(DRAWS):
        places = rng.integers(0, bits, (ELEMENTS, HASHES)).astype(np.int32)
        popular = popular_bits(interests, places, bits, place.setting)
        set_bits += int(popular.sum())
        taken += int(popular[places].all(axis=1).sum())
    return {
        "bound_per_bit": aggregation_bound_per_bit(*case),
        "bound": aggregation_bound(*case),
        "tail_per_bit": aggregation_tail_per_bit(*case),
        "measured_bits": set_bits / (DRAWS * bits),
        "measured": taken / (DRAWS * ELEMENTS),
    }
