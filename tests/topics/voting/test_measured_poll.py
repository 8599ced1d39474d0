import math
from collections.abc import Iterable
from contextlib import suppress

import numpy as np
import pytest

from caddis.arrays import Int32s, Int64s
from caddis.errors import TopicError
from caddis.lab.simulators.tree import TreeSimulator, a_round, complete_binary_tree
from caddis.lab.simulators.vote_rounds import gaussian_costs
from caddis.topics.voting.aggregation import Sums, cheapest
from caddis.topics.voting.measured_poll import MeasuredPoll, choose_protocol
from caddis.topics.voting.voter import Votes
from tests.runs import seeds
from tests.topics.changing_trees import ChangingPolls

CLOSE, CLEAR = 0.005, 2.0
UNIT = 1 << 10
NODES = 63


class Whimsical(MeasuredPoll):
    """A poll whose roots send a vote over, or not, with almost every change of the sums."""

    def _decide(self, sums: Int64s) -> Int32s:
        choices = self._inputs.shape[1]
        return np.where(sums.sum(axis=1) // 3 % 2, cheapest(sums[:, :choices]), choices)


class Remeasured(ChangingPolls):
    """A tree whose roots measure again at any time, with votes that are close and others."""

    def change(self) -> None:
        super().change()
        if self.rng.random() < 0.3:
            node = int(self.rng.integers(len(self.polls)))
            poll = self.polls[node]
            assert isinstance(poll, MeasuredPoll)
            votes = np.flatnonzero(self.rng.random(self.opened.shape[1]) < 0.7).astype(np.int32)
            with suppress(TopicError):
                self.tree.say(node, poll.measure(votes))

    def _drawn(self, votes: int) -> Int64s:
        drawn = super()._drawn(votes)
        return drawn + np.arange(drawn.shape[1]) * int(self.rng.choice([0, 1, 700]))


def remeasured(
    kind: type[MeasuredPoll], seed: int, *, nodes: int = 9, changes: int = 12
) -> ChangingPolls:
    rng = np.random.default_rng(seed)

    def make(choices: int, votes: int) -> MeasuredPoll:
        return kind(choices, votes, changed_share=0.01, unit=1)

    size, choices = int(rng.integers(1, nodes + 1)), int(rng.integers(1, 7))
    world = Remeasured(make, rng, nodes=size, choices=choices, votes=int(rng.integers(1, 4)))
    world.spread = int(rng.choice([0, 1, 3, 1000]))
    world.grow()
    for _ in range(changes):
        world.change()
    world.settle()
    return world


def protocols(world: ChangingPolls) -> list[tuple[int, tuple[str, ...]]]:
    """By node: the root of its part, and how its votes are held."""
    return [
        (world.tree.root(node), poll.protocols)
        for node, poll in enumerate(world.polls)
        if isinstance(poll, MeasuredPoll)
    ]


@pytest.mark.no_cover
@pytest.mark.parametrize("kind", [MeasuredPoll, Whimsical])
def test_all_choose_the_least_of_all_costs_whatever_happened_before(kind: type[MeasuredPoll]):
    """Theorem 2, and one protocol for all nodes of a part."""
    held = set()
    for seed in seeds(100, 300):
        world = remeasured(kind, seed)
        assert world.chosen() == world.expected(), f"seed {seed}"
        assert len(set(protocols(world))) == len({root for root, _ in protocols(world)})
        held |= {name for _, names in protocols(world) for name in names}
        sent = world.tree.packets.sum()
        for node, poll in enumerate(world.polls):
            world.tree.say(node, poll.set_input(world.inputs[node]))
        assert world.tree.packets.sum() == sent, f"seed {seed}: the same input again is no news"
    assert held == {"voting", "aggregation"}


@pytest.mark.no_cover
def test_larger_trees_end_right_too():
    for seed in seeds(2, 4):
        world = remeasured(Whimsical, seed, nodes=120, changes=120)
        assert world.chosen() == world.expected(), f"seed {seed}"


class Grove:
    """A complete binary tree of polls on a close vote and a clear one, which have been held."""

    def __init__(self, *, changes: float = math.inf) -> None:
        self.rng = np.random.default_rng(2)
        self.polls = [
            MeasuredPoll(3, 2, changed_share=0.01, changes=changes, unit=UNIT) for _ in range(NODES)
        ]
        parents = complete_binary_tree(NODES)
        self.tree = TreeSimulator(self.polls, self.rng, a_round, parents=parents)
        self.inputs = np.zeros((NODES, 2, 3), np.int64)
        self.sent = 0
        self.take(range(NODES), (CLOSE, CLEAR))

    def take(self, nodes: Iterable[int], difficulties: tuple[float, float]) -> int:
        """Let some nodes draw their inputs; gives how many messages that was."""
        some = list(nodes)
        for vote, difficulty in enumerate(difficulties):
            self.inputs[some, vote] = gaussian_costs(len(some), (difficulty, 1.0), self.rng)
        for node in some:
            self.tree.say(node, self.polls[node].set_input(self.inputs[node]))
        return self.settle()

    def settle(self) -> int:
        self.tree.run()
        before, self.sent = self.sent, int(self.tree.messages.sum())
        best = self.inputs.sum(axis=0).argmin(axis=1).tolist()
        assert [poll.choices.tolist() for poll in self.polls] == [best] * NODES
        return self.sent - before

    @property
    def protocols(self) -> set[tuple[str, ...]]:
        return {poll.protocols for poll in self.polls}


def test_a_clear_vote_goes_over_to_voting_and_a_close_one_does_not():
    assert Grove().protocols == {("aggregation", "voting")}


def test_a_vote_that_does_not_go_over_is_two_messages_a_node():
    grove = Grove(changes=0)
    assert grove.protocols == {("aggregation", "aggregation")}
    assert grove.sent == 2 * 2 * (NODES - 1)


def test_what_measuring_took_is_spent_when_a_protocol_is_chosen():
    """20 changes of 1% would pay for a first vote by voting instead, but not on top."""
    assert choose_protocol(CLEAR, 0.01, changes=20) == "voting"
    assert Grove(changes=20).protocols == {("aggregation", "aggregation")}


def test_inputs_of_a_vote_that_went_over_are_told_to_voters_only():
    poll = Grove().polls[NODES - 1]
    said = poll.set_input([[0, 1 << 20, 0], [1 << 20, 0, 0]])
    told = {type(message): message.votes.tolist() for _, message in said}
    assert told == {Votes: [1], Sums: [0]}


def test_a_vote_that_has_become_close_is_aggregated_once_it_is_measured_again():
    grove = Grove()
    dear = sum(grove.take([node], (CLOSE, CLOSE)) for node in range(NODES))
    assert grove.protocols == {("aggregation", "voting")}
    grove.tree.say(0, grove.polls[0].measure(np.array([1], np.int32)))
    assert grove.settle() == 3 * (NODES - 1)
    assert grove.protocols == {("aggregation", "aggregation")}
    assert sum(grove.take([node], (CLOSE, CLOSE)) for node in range(NODES)) < dear


def test_measuring_again_is_two_messages_a_node_if_nothing_comes_of_it():
    grove = Grove()
    grove.tree.say(0, grove.polls[0].measure())
    assert grove.settle() == 2 * 2 * (NODES - 1)
    assert grove.protocols == {("aggregation", "voting")}


def test_only_the_root_can_measure_again():
    with pytest.raises(TopicError, match="only the root can have votes counted again; 0 is above"):
        Grove().polls[1].measure()


def test_a_part_that_is_cut_off_decides_for_itself_and_is_told_when_it_comes_back():
    grove = Grove()
    grove.tree.leave(0, 1)
    grove.tree.run()
    apart = [node for node in range(NODES) if grove.tree.root(node) == 1]
    for node in apart:
        grove.inputs[node, 0] = [0, 9 << 20, 9 << 20]
        grove.tree.say(node, grove.polls[node].set_input(grove.inputs[node]))
    grove.tree.run()
    assert {grove.polls[node].protocols for node in apart} == {("voting", "voting")}
    assert grove.polls[0].protocols == ("aggregation", "voting")
    grove.tree.join(0, 1)
    grove.settle()
    assert len(grove.protocols) == 1


def test_a_node_alone_has_nothing_to_measure():
    poll = MeasuredPoll(choices=2, changed_share=0.01)
    assert poll.set_input([5, 0]) == []
    assert (poll.protocols, poll.choice()) == (("aggregation",), 1)


def test_the_choice_is_exact_whatever_the_unit():
    polls = [MeasuredPoll(choices=2, changed_share=0.01, unit=1 << 20) for _ in range(2)]
    tree = TreeSimulator(polls, np.random.default_rng(0), parents=[-1, 0])
    for node, costs in enumerate([[1 << 40, (1 << 40) - 1], [3, 3]]):
        tree.say(node, polls[node].set_input(costs))
    tree.run()
    assert [poll.choice() for poll in polls] == [1, 1]


def test_costs_that_are_refused_change_nothing():
    poll = MeasuredPoll(choices=2, changed_share=0.01)
    poll.set_input([5, 0])
    with pytest.raises(TopicError, match="choose a unit of more than 1"):
        poll.set_input([0, 1 << 30])
    assert poll.choice() == 1


def test_a_share_is_a_share():
    with pytest.raises(TopicError, match="more than 0 and at most 1"):
        MeasuredPoll(choices=2, changed_share=0)
