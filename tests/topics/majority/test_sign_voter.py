"""Once quiet, every node has the sign of the exact sum, whatever happened on the way."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from caddis.arrays import Int32s
from caddis.errors import TopicError
from caddis.lab.simulators.tree import TreeSimulator, a_round, complete_binary_tree
from caddis.topics.links import Links, Packet, Sent
from caddis.topics.majority.sign_voter import (
    Signs,
    SignVoter,
    as_threshold,
    majority_input,
    pairwise,
    winner,
)
from caddis.topics.voting.kernels import must_tell, speak_signs
from caddis.topics.voting.local import Costs
from tests.runs import seeds
from tests.topics.changing_trees import drifted, on_a_random_tree

plainly_tell = must_tell.py_func  # type: ignore[attr-defined]


class PairPoll:
    """Votes on choices, by a majority vote on each two of them."""

    def __init__(self, choices: int, votes: int = 1) -> None:
        self.pairs = max(1, choices * (choices - 1) // 2)
        self.shape = votes, choices
        self.voter = SignVoter(votes * self.pairs)
        self.neighbour_joined = self.voter.neighbour_joined
        self.neighbour_left = self.voter.neighbour_left
        self.handle, self.handle_all = self.voter.handle, self.voter.handle_all

    def set_input(self, costs: Costs, votes: Int32s | None = None) -> Sent:
        meant = np.arange(self.shape[0]) if votes is None else votes
        values = np.zeros((len(meant), self.pairs), np.int64)
        if self.shape[1] > 1:
            values[:] = pairwise(costs)
        numbers = meant[:, None] * self.pairs + np.arange(self.pairs)
        return self.voter.set_input(values.ravel(), numbers.ravel().astype(np.int32))

    def choice(self, vote: int = 0) -> int:
        return int(self.choices[vote])

    @property
    def choices(self) -> Int32s:
        signs = self.voter.signs.reshape(self.shape[0], self.pairs)
        return np.array([winner(row) for row in signs], np.int32)


SPREADS = (0, 1, 3, 1000, 1 << 39)


@pytest.mark.no_cover
def test_all_nodes_settle_on_the_signs_of_the_sums_whatever_happened_before():
    for seed in seeds(200, 500):
        world = drifted(PairPoll, seed, spreads=SPREADS)
        assert world.chosen() == world.expected(), f"seed {seed}"


def test_a_tree_that_changes_under_way_settles_on_the_signs_of_the_sums():
    world = drifted(PairPoll, 3, spreads=SPREADS)
    assert world.chosen() == world.expected()


def test_two_parts_of_a_cut_tree_judge_for_themselves():
    voters = [SignVoter() for _ in range(4)]
    tree = TreeSimulator(voters, np.random.default_rng(0), parents=[-1, 0, 0, 2])
    for node, value in enumerate([1, 1, -1, -2]):
        tree.say(node, voters[node].set_input([value]))
    tree.run()
    assert [voter.sign() for voter in voters] == [False] * 4
    tree.leave(0, 2)
    tree.run()
    assert [voter.sign() for voter in voters] == [True, True, False, False]


def test_a_sum_of_zero_is_reached():
    voters = [SignVoter() for _ in range(3)]
    tree = TreeSimulator(voters, np.random.default_rng(0), parents=[-1, 0, 1])
    for node, value in enumerate([4, -1, -3]):
        tree.say(node, voters[node].set_input([value]))
    tree.run()
    assert all(voter.sign() for voter in voters)


def test_nothing_is_said_when_nothing_changes():
    world = drifted(PairPoll, 10, spreads=SPREADS)
    before = world.tree.packets.sum()
    assert before > 0
    for node, poll in enumerate(world.polls):
        world.tree.say(node, poll.set_input(world.inputs[node]))
    assert world.tree.quiet
    assert world.tree.packets.sum() == before


def test_a_vote_that_all_agree_on_costs_each_link_one_message_each_way():
    voters = [SignVoter(votes=5) for _ in range(63)]
    parents = complete_binary_tree(63)
    tree = TreeSimulator(voters, np.random.default_rng(0), a_round, parents=parents)
    for node, voter in enumerate(voters):
        tree.say(node, voter.set_input([1, 1, -1, -2, 0]))
    tree.run()
    assert tree.packets.sum() == 2 * 62


def test_all_votes_with_news_for_a_link_share_a_message():
    voter = SignVoter(votes=4)
    links = Links(voter)
    links.join("west", epoch=0)
    [(_, packet)] = links.send(voter.set_input([1, -1, 2, -2]))
    assert isinstance(packet, Packet)
    [message] = packet.messages
    assert message.votes.tolist() == [0, 1, 2, 3]
    assert message.values.tolist() == [1, -1, 2, -2]
    [(_, message)] = voter.set_input([-5, 5], np.array([0, 3], np.int32))
    assert message.votes.tolist() == [0, 3]


def test_a_node_is_silent_about_votes_that_it_has_no_value_for():
    voter = SignVoter(votes=3)
    assert voter.neighbour_joined("west") == []
    assert voter.handle("west", Signs(np.array([0], np.int32), np.array([7]), 3)) == []
    assert not voter.signs.any()
    [(_, message)] = voter.set_input([-1], np.array([0], np.int32))
    assert message.votes.tolist() == [0]
    assert voter.signs.tolist() == [True, False, False]


def test_a_message_names_its_votes_in_the_shorter_of_two_ways():
    few, values = np.arange(2, dtype=np.int32), np.zeros(2, np.int64)
    assert Signs(few, values, of=800).nbytes == 16 + 8
    assert Signs(few, values, of=16).nbytes == 16 + 2


@pytest.mark.parametrize(
    ("values", "problem"),
    [([0.5], "whole numbers"), ([1, 2], "1 votes have 1 values"), ([1 << 41], "larger unit")],
)
def test_values_that_cannot_be_summed_exactly_are_refused(values, problem):
    with pytest.raises(TopicError, match=problem):
        SignVoter().set_input(values)


def test_a_voter_without_votes_is_refused():
    with pytest.raises(TopicError, match="at least one vote"):
        SignVoter(votes=0)


def test_a_link_that_is_up_already_does_not_join_again():
    voter = SignVoter()
    voter.set_input([1])
    voter.neighbour_joined("west")
    with pytest.raises(TopicError, match="'west' is up already"):
        voter.neighbour_joined("west")
    voter.neighbour_joined("east")
    [(link, message)] = voter.handle("west", some_signs(-2))
    assert (link, message.values.tolist()) == ("east", [-1])


def some_signs(value: int, of: int = 1) -> Signs:
    return Signs(np.array([0], np.int32), np.array([value]), of)


def test_a_link_that_is_not_up_says_nothing_and_does_not_leave():
    voter = SignVoter()
    voter.set_input([1])
    voter.neighbour_joined("west")
    with pytest.raises(TopicError, match="'east' is not up"):
        voter.handle_all([("west", some_signs(-2)), ("east", some_signs(-2))])
    assert voter.sign()
    with pytest.raises(TopicError, match="'east' is not up"):
        voter.neighbour_left("east")
    assert voter.handle_all([]) == []


def test_a_neighbour_with_other_votes_is_refused():
    voter = SignVoter(votes=200)
    voter.neighbour_joined("west")
    with pytest.raises(TopicError, match="'west' has 100 votes and this node 200"):
        voter.handle("west", some_signs(1, of=100))


@given(st.integers(-9, 9), st.integers(-9, 9), st.integers(-9, 9))
def test_a_neighbour_hears_what_may_turn_its_sign(total, sent, received):
    shared = sent + received
    plain = (shared >= 0 and total < shared) or (shared < 0 and total > shared)
    assert must_tell(total, sent, received) == plainly_tell(total, sent, received) == plain


@given(st.integers(0, 10_000), st.integers(0, 3), st.integers(1, 4))
def test_the_kernel_agrees_with_plain_python(seed, links, votes):
    rng = np.random.default_rng(seed)
    own = rng.integers(-4, 5, votes)
    received, sent = rng.integers(-4, 5, (2, links, votes))
    told = rng.random((links, votes)) < 0.5
    rows = np.flatnonzero(rng.random(votes) < 0.7).astype(np.int32)
    signs = np.zeros(votes, np.bool_)
    ours = sent.copy(), told.copy(), signs.copy()
    due = speak_signs(rows, own, received, sent, told, signs)
    assert (due == speak_plainly(rows, own, received, *ours)).all()
    for one, other in zip(ours, (sent, told, signs), strict=True):
        assert (one == other).all()


def speak_plainly(rows, own, received, sent, told, signs):
    due = np.zeros((len(received), len(rows)), bool)
    for place, vote in enumerate(rows):
        total = own[vote] + received[:, vote].sum()
        signs[vote] = total >= 0
        for link in range(len(received)):
            if not told[link, vote] or plainly_tell(total, sent[link, vote], received[link, vote]):
                sent[link, vote] = total - received[link, vote]
                told[link, vote] = due[link, place] = True
    return due


@given(st.integers(1, 300).flatmap(lambda n: st.tuples(st.integers(1, n), st.just(n))))
def test_a_support_of_exactly_the_threshold_is_a_majority(share):
    """However the threshold is written."""
    support, nodes = share
    holders = np.arange(nodes) < support
    for given_as in (Fraction(support, nodes), f"{support}/{nodes}", support / nodes):
        threshold = as_threshold(given_as)
        assert majority_input(holders, threshold).sum() >= 0
        holders[support - 1] = False
        assert majority_input(holders, threshold).sum() < 0
        holders[support - 1] = True


def test_a_threshold_written_as_a_decimal_is_that_decimal():
    assert as_threshold("0.8") == as_threshold(0.8) == as_threshold(np.float64(0.8))
    assert as_threshold(0.8) == Fraction(4, 5)
    assert as_threshold(0.1 + 0.2) == Fraction(3, 10)
    assert as_threshold(0.12345678) == Fraction(12345678, 10**8)
    assert as_threshold(1) == 1


@pytest.mark.parametrize("given_as", [0, -0.5, 1.5, "most", "1/0", float("nan"), np.inf])
def test_a_threshold_that_is_no_share_is_refused(given_as):
    with pytest.raises(TopicError, match="above 0 and at most 1"):
        as_threshold(given_as)


@pytest.mark.parametrize("given_as", [Fraction(1, 1 << 50), 1e-20])
def test_a_threshold_with_an_endless_denominator_is_refused(given_as):
    with pytest.raises(TopicError, match="denominator"):
        as_threshold(given_as)


@given(st.integers(1, 10**7).flatmap(lambda n: st.tuples(st.integers(1, n), st.just(n))))
def test_a_float_is_the_share_of_up_to_ten_million_nodes_that_it_stands_for(share):
    assert as_threshold(share[0] / share[1]) == Fraction(*share)
    assert as_threshold(np.float64(share[0]) / share[1]) == Fraction(*share)


def test_a_support_of_exactly_the_threshold_is_a_majority_of_millions():
    """With denominators of a million at most, as_threshold was above this share."""
    threshold = as_threshold(1_666_667 / 2_500_001)
    assert threshold.denominator * 1_666_667 >= threshold.numerator * 2_500_001


@given(st.integers(1, 1000).flatmap(lambda n: st.tuples(st.integers(1, n), st.just(n))))
def test_a_float_of_single_precision_is_the_share_of_up_to_a_thousand_nodes(share):
    assert as_threshold(np.float32(share[0] / share[1])) == Fraction(*share)


@given(arrays(np.int64, st.integers(1, 6), elements=st.integers(-3, 3)))
def test_the_winner_of_all_pairs_is_the_first_of_the_least(costs):
    assert winner(pairwise(costs) >= 0) == costs.argmin()


def test_pairwise_votes_settle_on_the_least_of_the_sums():
    rng = np.random.default_rng(1)
    costs = rng.integers(0, 4, (20, 5))
    voters = [SignVoter(votes=10) for _ in costs]
    tree = on_a_random_tree(voters, rng)
    for node, values in enumerate(pairwise(costs)):
        tree.say(node, voters[node].set_input(values))
    tree.run()
    assert {winner(voter.signs) for voter in voters} == {int(costs.sum(axis=0).argmin())}
