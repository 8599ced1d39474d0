"""Votes in rounds: they agree with the real nodes and with the paper's rules, written plainly."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caddis.arrays import Int64s
from caddis.errors import TopicError
from caddis.lab.simulators.tree import TreeSimulator, a_round, complete_binary_tree
from caddis.lab.simulators.vote_rounds import (
    UNIT,
    PairRounds,
    Tree,
    VoteRounds,
    aggregated,
    aggregated_again,
    gaussian_costs,
    packets,
)
from caddis.topics.links import Link, Sent
from caddis.topics.majority.sign_voter import SignVoter, pairwise, winner
from caddis.topics.voting.measured_poll import discriminability, moments
from caddis.topics.voting.voter import Voter

Heard = dict[tuple[int, int], Any]


class RealNodes:
    """Real nodes in rounds: each takes in all that it is sent in a round, then answers."""

    def __init__(self, parents: list[int], nodes: Sequence[Voter | SignVoter]) -> None:
        self.nodes, self.sending = nodes, Heard()
        for node, above in enumerate(parents):
            if above >= 0:
                nodes[node].neighbour_joined(above)
                nodes[above].neighbour_joined(node)

    def change(self, some: Iterable[int], inputs: Int64s) -> None:
        self.sending = heard(
            (node, self.nodes[node].set_input(own)) for node, own in zip(some, inputs, strict=True)
        )

    def step(self) -> None:
        arriving: dict[int, list[tuple[Link, Any]]] = {}
        for (node, link), message in self.sending.items():
            arriving.setdefault(link, []).append((node, message))
        self.sending = heard(
            (node, self.nodes[node].handle_all(all_)) for node, all_ in arriving.items()
        )


def heard(sending: Iterable[tuple[int, Sent]]) -> Heard:
    return {(node, int(str(link))): message for node, some in sending for link, message in some}


def neighbours(tree: Tree) -> list[list[int]]:
    near: list[list[int]] = [[] for _ in tree.parents]
    for u, w in links(tree):
        near[u].append(w)
    return near


def links(tree: Tree) -> list[tuple[int, int]]:
    return list(zip(tree.owner.tolist(), tree.ends.tolist(), strict=True))


@st.composite
def cases(draw: st.DrawFn) -> tuple[Tree, Int64s]:
    """Trees of all shapes with small costs, so that equals are frequent."""
    nodes = draw(st.integers(1, 12))
    parents = [-1, *(draw(st.integers(0, node - 1)) for node in range(1, nodes))]
    choices = draw(st.integers(2, 4))
    seed = draw(st.integers(0, 2**32 - 1))
    high = draw(st.sampled_from([2, 5, 1000]))
    return Tree.of(parents), np.random.default_rng(seed).integers(0, high, (nodes, choices))


def radius_by_hand(tree: Tree, rounds: list[list[tuple[int, int]]]) -> list[int]:
    """Who heard of whom, as sets; the farthest of them by distance in the tree."""
    near = neighbours(tree)
    of: dict[tuple[int, int], set[int]] = {link: set() for link in links(tree)}
    for sending in rounds:
        news = {(u, w): {u}.union(*(of[u, v] for v in near[u] if v != w)) for u, w in sending}
        for (u, w), nodes in news.items():
            of[w, u] = nodes
    known = [set().union(*(of[u, w] for w in near[u])) for u in range(len(tree))]
    return [max((distance(tree, u, v) for v in some), default=0) for u, some in enumerate(known)]


def distance(tree: Tree, u: int, v: int) -> int:
    ways = []
    for node in (u, v):
        way = [node]
        while tree.parents[way[-1]] >= 0:
            way.append(int(tree.parents[way[-1]]))
        ways.append(way)
    return len(set(ways[0]) ^ set(ways[1]))


@given(cases(), st.data())
def test_every_message_of_every_round_is_the_one_that_real_nodes_send(case, data):
    tree, costs = case
    voters = [Voter(costs.shape[1]) for _ in tree.parents]
    real = RealNodes(tree.parents.tolist(), voters)
    vote, both = VoteRounds(tree, costs), links(tree)
    real.change(range(len(tree)), costs)
    for _ in range(2):
        for sending in vote.spoken():
            carried = {both[link]: vote._sent[link].tolist() for link in sending.tolist()}
            assert carried == {
                link: votes.costs[0].tolist() for link, votes in real.sending.items()
            }
            real.step()
        assert real.sending == {}
        assert vote.choices.tolist() == [voter.choice() for voter in voters]
        assert set(vote.choices.tolist()) == {int(costs.sum(axis=0).argmin())}
        some = sorted(data.draw(st.sets(st.integers(0, len(tree) - 1), min_size=1)))
        costs = costs.copy()
        costs[some] = np.random.default_rng(len(some)).integers(0, 9, (len(some), costs.shape[1]))
        vote.change(np.array(some, np.int32), costs[some])
        real.change(some, costs[some])


@given(cases())
def test_pairs_are_voted_on_as_real_nodes_do(case):
    tree, costs = case
    votes = pairwise(costs)
    voters = [SignVoter(votes.shape[1]) for _ in tree.parents]
    real = RealNodes(tree.parents.tolist(), voters)
    found, both = PairRounds(tree, costs), links(tree)
    real.change(range(len(tree)), votes)
    numbers = 0
    for sending in found.spoken():
        assert {both[link] for link in sending.tolist()} == set(real.sending)
        for link in sending.tolist():
            signs = real.sending[both[link]]
            assert found._sent[link, signs.votes].tolist() == signs.values.tolist()
            numbers += len(signs.votes)
        real.step()
    assert real.sending == {}
    assert round(found.numbers * len(tree)) == numbers
    assert found.choices.tolist() == [winner(voter.signs) for voter in voters]
    assert set(found.choices.tolist()) == {int(costs.sum(axis=0).argmin())}


@pytest.mark.no_cover
def test_a_thousand_simulated_nodes_send_as_many_messages_in_as_many_rounds():
    parents = complete_binary_tree(1000)
    costs = gaussian_costs(1000, [0.3, 1.0], np.random.default_rng(2))
    voters = [Voter(choices=3) for _ in parents]
    simulator = TreeSimulator(voters, np.random.default_rng(0), a_round, parents=parents)
    for node, voter in enumerate(voters):
        simulator.say(node, voter.set_input(costs[node]))
    simulator.run()
    vote = VoteRounds(Tree.of(parents), costs).run()
    assert vote.node_messages.tolist() == simulator.messages.tolist()
    assert vote.choices.tolist() == [voter.choice() for voter in voters]
    assert vote.rounds == simulator.now


@given(cases())
def test_a_radius_is_the_distance_of_the_farthest_that_a_node_was_told_of(case):
    tree, costs = case
    vote, both = VoteRounds(tree, costs), links(tree)
    rounds = [[both[link] for link in sending.tolist()] for sending in vote.spoken()]
    assert vote.radius.tolist() == radius_by_hand(tree, rounds)
    assert vote.rounds == len(rounds)
    assert vote.node_messages.sum() == sum(map(len, rounds))


@given(cases())
def test_a_link_carries_at_most_a_message_a_node_behind_it(case):
    tree, costs = case
    vote = VoteRounds(tree, costs).run()
    for link, (u, w) in enumerate(links(tree)):
        side = {u}
        for _ in tree.parents:
            side |= {b for a, b in links(tree) if a in side and (a, b) != (u, w)}
        assert vote.link_messages[link] <= len(side)


@given(cases())
def test_rounds_are_bounded_by_the_tree_s_radius(case):
    tree, costs = case
    reach = [max(distance(tree, u, v) for v in range(len(tree))) for u in range(len(tree))]
    radius = max(reach)
    assert VoteRounds(tree, costs).run().rounds <= max(0, radius**2 + 2 * radius - 1)


@given(cases(), st.integers(1, 4))
@settings(max_examples=30)
def test_votes_side_by_side_share_packets(case, count):
    tree, costs = case
    drawn = [np.roll(costs, shift, axis=0) for shift in range(count)]
    sent = [VoteRounds(tree, some).run().messages for some in drawn]
    together = packets([VoteRounds(tree, some) for some in drawn])
    assert max(sent) - 1e-9 <= together <= sum(sent) + 1e-9


def test_packets_are_counted_by_link_and_round():
    tree = Tree.of([-1, 0])
    same = [VoteRounds(tree, [[0, 3], [3, 1]]) for _ in range(5)]
    assert packets(same) == VoteRounds(tree, [[0, 3], [3, 1]]).run().messages


def test_a_quiet_system_stays_quiet_when_nothing_changes():
    tree = Tree.of([-1, 0, 0, 1])
    costs = np.arange(12).reshape(4, 3)
    vote = VoteRounds(tree, costs).run()
    vote.change(np.array([1, 3], np.int32), costs[[1, 3]])
    assert vote.run().messages == 0
    assert (vote.radius == 0).all()


def test_a_vote_leaves_what_it_was_given_as_it_was():
    costs = np.array([[0, 1], [1, 0]])
    vote = VoteRounds(Tree.of([-1, 0]), costs).run()
    vote.change(np.array([0], np.int32), np.array([[7, 7]]))
    assert costs.tolist() == [[0, 1], [1, 0]]


def test_inputs_do_not_change_while_messages_are_under_way():
    vote = VoteRounds(Tree.of([-1, 0]), [[0, 1], [1, 0]])
    with pytest.raises(TopicError, match="run it first"):
        vote.change(np.array([0], np.int32), np.array([[1, 1]]))


@pytest.mark.parametrize("parents", [[], [0], [-1, 2, 0], [-1, -1]])
def test_what_is_no_tree_is_refused(parents):
    with pytest.raises(TopicError, match="a tree is given by parents"):
        Tree.of(parents)


def test_sums_go_up_only_where_something_changed():
    tree = Tree.of([-1, 0, 0, 1, 1, 2])
    before = np.zeros((6, 2), np.int64)
    before[0] = [0, 100]
    after = before.copy()
    after[3], after[4] = [5, 0], [2, 0]
    assert aggregated_again(tree, before, after) == pytest.approx(3 / 6)
    after[4] = [-5, 0]
    assert aggregated_again(tree, before, after) == pytest.approx(2 / 6)
    after[4] = [500, 0]
    assert aggregated_again(tree, before, after) == pytest.approx((3 + 5) / 6)
    assert aggregated(tree) == pytest.approx(10 / 6)


def test_inputs_are_as_far_apart_as_they_were_asked_to_be():
    costs = gaussian_costs(200_000, [0.1, 1.0], np.random.default_rng(5))
    assert np.diff(costs.mean(axis=0)) / UNIT == pytest.approx([0.2**0.5, 2**0.5], abs=0.02)
    totals = moments(costs, unit=1 << 10).sum(axis=0, keepdims=True)
    assert discriminability(totals) == pytest.approx(0.1, abs=0.01)


@pytest.mark.parametrize(
    ("distance_12", "messages", "radius"),
    [(0.1, 4.68, 5.26), (0.5, 2.71, 1.76), (1.0, 2.29, 1.29), (4.0, 2.01, 1.01)],
)
def test_the_paper_s_votes_take_what_a_reference_of_their_rules_took(distance_12, messages, radius):
    tree = Tree.of(complete_binary_tree(1000))
    votes = [
        VoteRounds(tree, gaussian_costs(1000, [distance_12, 1.0], np.random.default_rng(seed)))
        for seed in range(30)
    ]
    found = [vote.run() for vote in votes]
    assert np.mean([vote.messages for vote in found]) == pytest.approx(messages, rel=0.06)
    assert np.mean([vote.radius.mean() for vote in found]) == pytest.approx(radius, rel=0.12)
