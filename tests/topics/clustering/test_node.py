"""Clustering by nodes ends where a single mind would: at a map that no single move improves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caddis.arrays import Bools, Int32s, Int64s, offsets_of
from caddis.errors import TopicError
from caddis.lab.simulators.tree import TreeSimulator, random_tree
from caddis.topics.clustering.ballots import PROTOCOLS as REGISTERED
from caddis.topics.clustering.ballots import Ballots, last_words
from caddis.topics.clustering.interests import (
    Interests,
    count,
    outcomes,
    total_cost,
    vote_costs,
)
from caddis.topics.clustering.kernels import own_cost, own_costs
from caddis.topics.clustering.messages import FIRST, Announcement, Offer, Report
from caddis.topics.clustering.node import ClusteringNode
from caddis.topics.clustering.schedule import Settings
from caddis.topics.links import CLOCK, Link, Sent
from caddis.topics.voting.aggregation import Sums
from caddis.topics.voting.voter import Votes
from tests.runs import seeds

PROTOCOLS = list(REGISTERED)


def packed(wanted: Bools, rates: Int64s) -> Interests:
    topics = np.nonzero(wanted)[1].astype(np.int32)
    return Interests(offsets_of(wanted.sum(axis=1)), topics, rates)


class Federation:
    """Nodes on a tree that changes, and what everybody wants, which only the test knows."""

    def __init__(
        self,
        wanted: Bools,
        rates: Int64s,
        k: int,
        rng: np.random.Generator,
        *,
        parents: Int32s | None = None,
        protocol: str = "aggregation",
        settle_ms: float = 1_500.0,
        settings: Settings | None = None,
    ) -> None:
        self.wanted, self.rates, self.k = wanted.copy(), rates, k
        self.protocol = protocol
        self.nodes = [
            ClusteringNode(
                name, rates, k, own, protocol=protocol, settle_ms=settle_ms, settings=settings
            )
            for name, own in enumerate(rng.spawn(len(wanted)))
        ]
        self.tree = TreeSimulator(self.nodes, rng, parents=parents)
        for node in range(len(wanted)):
            self.want(node, wanted[node])

    def want(self, node: int, wanted: Bools) -> None:
        self.wanted[node] = wanted
        self.tree.say(node, self.nodes[node].set_wanted(np.flatnonzero(wanted)))

    def rest(self, most_ms: float = 20_000_000.0) -> None:
        self.tree.run(self.tree.now + most_ms)
        assert self.tree.quiet

    def parts(self) -> dict[int, list[int]]:
        parts: dict[int, list[int]] = {}
        for node in range(len(self.nodes)):
            parts.setdefault(self.tree.root(node), []).append(node)
        return parts

    def outcomes_and_cost(self, root: int) -> tuple[Int32s, int]:
        """What all votes of a part come to at its map, and the map's cost, by algebra."""
        interests = packed(self.wanted[self.parts()[root]], self.rates)
        channels = self.nodes[root].channels
        tallies = count(interests, channels, self.k)
        costs = vote_costs(tallies, channels, self.rates)
        return outcomes(costs, channels), total_cost(tallies, channels, self.rates)

    def check(self) -> None:
        """Every part of the tree is at rest, on one map, and no single move makes it better."""
        for root, part in self.parts().items():
            leader = self.nodes[root]
            assert leader.at_rest
            for node in (self.nodes[name] for name in part):
                assert node.leads == (node is leader)
                assert node.version == leader.version
                assert node.channels.tolist() == leader.channels.tolist()
                assert node.agreed[1].tolist() == leader.channels.tolist()
            wanted_moves, cost = self.outcomes_and_cost(root)
            assert wanted_moves.tolist() == leader.channels.tolist()
            assert self.protocol != "aggregation" or leader.cost == cost

    @property
    def packets(self) -> int:
        return int(self.tree.packets.sum())


def drawn(
    seed: int, nodes: int = 12, topics: int = 10, support: float = 0.3
) -> tuple[Bools, Int64s, np.random.Generator]:
    rng = np.random.default_rng(seed)
    return rng.random((nodes, topics)) < support, rng.integers(1, 10, topics), rng


def clustered(seed: int, protocol: str = "aggregation", k: int = 3) -> Federation:
    wanted, rates, rng = drawn(seed)
    parents = random_tree(len(wanted), rng)
    federation = Federation(wanted, rates, k, rng, parents=parents, protocol=protocol)
    federation.rest()
    return federation


def votes_in(sent: Sent) -> set[int]:
    """The votes that messages are about."""
    return {int(vote) for _, message in sent if hasattr(message, "votes") for vote in message.votes}


# ---------------------------------------------------------------------------- one node


@given(st.integers(0, 1 << 30))
def test_a_node_puts_in_what_the_algebra_says_of_it_alone(seed: int):
    rng = np.random.default_rng(seed)
    topics, k = int(rng.integers(1, 9)), int(rng.integers(1, 5))
    wanted, rates = rng.random(topics) < rng.random(), rng.integers(0, 9, topics)
    channels = rng.integers(0, k, topics).astype(np.int32)
    tallies = count(packed(wanted[None], rates), channels, k)
    some = rng.permutation(topics)[: rng.integers(topics + 1)].astype(np.int32)
    expected = vote_costs(tallies, channels, rates)[some]
    assert own_costs(wanted, channels, rates, k, some).tolist() == expected.tolist()
    assert own_cost(wanted, channels, rates, k) == total_cost(tallies, channels, rates)


def test_of_what_is_said_on_a_vote_through_a_link_at_one_time_the_last_counts():
    once = Votes(np.array([1, 4], np.int32), np.array([[0, 1], [0, 2]]))
    again = Votes(np.array([4, 2], np.int32), np.array([[3, 0], [0, 4]]))
    sent: list[tuple[Link, object]] = [("west", once), ("east", once), ("west", again)]
    to_west, to_east = last_words(sent)
    assert to_east == ("east", once)
    assert to_west[1].votes.tolist() == [1, 2, 4]
    assert to_west[1].costs.tolist() == [[0, 1], [0, 4], [3, 0]]


def test_measured_votes_are_held_by_voting_unless_they_are_close():
    rates, channels = np.full(3, 1 << 30), np.array([0, 1, 0], np.int32)
    root, leaf = (Ballots(rates, 2, REGISTERED["measured"]) for _ in range(2))
    root.join("leaf", up=False)
    leaf.join("root", up=True)
    root.want([0, 2])
    leaf.want([1, 2])
    root.due[:] = leaf.due[:] = True
    assert root.cast(channels, favour=True) == []
    [(_, sums)] = leaf.cast(channels, favour=False)
    assert isinstance(sums, Sums)
    (_, outcomes), (_, votes) = root.hear([("leaf", sums)])
    assert outcomes.choices.tolist() == [2, 2, 0]
    assert votes.votes.tolist() == [0, 1]


def test_a_lonely_node_clusters_for_itself():
    node = ClusteringNode(3, np.array([2, 7, 1]), 2, np.random.default_rng(0))
    [(link, alarm)] = node.set_wanted([0, 1])
    assert link is CLOCK
    assert not node.handle(CLOCK, alarm)
    assert node.at_rest
    assert node.cost == 0


def test_a_report_of_another_map_does_not_count():
    root = ClusteringNode(0, np.array([2, 7, 1]), 2, np.random.default_rng(0))
    [(_, alarm)] = root.set_wanted([0, 1])
    root.neighbour_joined("leaf")
    [(link, announced)] = root.handle(CLOCK, alarm)
    assert link == "leaf"
    assert root.handle("leaf", Report(announced.version._replace(issuer=5), 9, 1)) == []
    assert root.handle("leaf", Report(announced.version, 9, 1))
    assert root.series[0].cost == 9 + 1


@pytest.mark.parametrize(
    ("arguments", "wanted", "complaint"),
    [
        ({"protocol": "gossip"}, [], "there is no protocol 'gossip'"),
        ({"channels": np.array([0, 1, 2], np.int32)}, [], "channels from 0 to 1"),
        ({"channels": np.array([0], np.int32)}, [], "3 topics need a channel each"),
        ({"rates": np.array([0.5, 0.9, 1.7])}, [], "whole numbers, not float64"),
        ({"rates": np.array([1, -1, 1])}, [], "rates from -1 to 1"),
        ({"rates": np.array([1, 1, 1 << 62])}, [], "at most"),
        ({"k": 0}, [], "channels is a whole number from 1 up, not 0"),
        ({"k": 2.5}, [], "channels is a whole number from 1 up, not 2.5"),
        ({"start": "quick"}, [], "a clustering starts by leader or concurrent, not 'quick'"),
        ({"settle_ms": -4.0}, [], "within 0 ms or more, not -4"),
        ({"settle_ms": np.nan}, [], "within 0 ms or more, not nan"),
        ({}, [0, 3], "numbers from 0 to 2, not 0 to 3"),
        ({}, [0.7], "whole numbers, not float64"),
        ({}, [True, False, True], "whole numbers, not bool"),
        ({}, ["jazz"], "whole numbers, not <U4"),
    ],
)
def test_what_a_node_cannot_use_is_refused(arguments, wanted, complaint: str):
    usual = {"rates": np.ones(3, np.int64), "k": 2, "rng": np.random.default_rng(0)}
    with pytest.raises(TopicError, match=complaint):
        ClusteringNode(0, **(usual | arguments)).set_wanted(wanted)


def test_without_topics_there_is_nothing_to_cluster():
    with pytest.raises(TopicError, match="no topics"):
        ClusteringNode(0, np.zeros(0, np.int64), 2, np.random.default_rng(0))


# ------------------------------------------------------------------- all nodes of a tree


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("seed", range(6))
def test_nodes_come_to_rest_at_a_map_that_no_single_move_improves(protocol: str, seed: int):
    federation = clustered(seed, protocol)
    federation.check()
    assert federation.nodes[0].cost == federation.outcomes_and_cost(0)[1]
    assert federation.nodes[0].series[0].cost > federation.nodes[0].cost


@pytest.mark.parametrize("seed", range(3))
def test_all_protocols_find_the_same_map(seed: int):
    one, *others = (clustered(seed, protocol).nodes[0] for protocol in PROTOCOLS)
    for other in others:
        assert one.channels.tolist() == other.channels.tolist()
        assert one.series == other.series


def test_a_wave_takes_two_packets_a_node_by_aggregation():
    federation = clustered(1)
    links, announced = len(federation.nodes) - 1, federation.nodes[0].version.number
    assert announced == federation.nodes[0].waves + 1
    assert federation.packets == links * (1 + 2 * announced)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_at_rest_nothing_is_sent_by_who_wants_the_same_as_before(protocol: str):
    federation = clustered(2, protocol)
    for node, wanted in zip(federation.nodes, federation.wanted, strict=True):
        assert node.set_wanted(np.flatnonzero(wanted)) == []


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("seed", range(4))
def test_a_change_of_interests_starts_only_the_votes_that_it_touches(protocol: str, seed: int):
    federation = clustered(seed, protocol)
    rng = np.random.default_rng(seed)
    started = 0
    for name, node in enumerate(federation.nodes):
        channels, before = node.channels, federation.wanted[name]
        after = before ^ (rng.random(len(before)) < 0.1)
        every = np.arange(len(before), dtype=np.int32)
        one, other = (
            own_costs(wanted, channels, federation.rates, federation.k, every)
            for wanted in (before, after)
        )
        touched = set(np.flatnonzero((one != other).any(axis=1)).tolist())
        heard = votes_in(node.set_wanted(np.flatnonzero(after)))
        assert heard <= touched
        assert protocol != "aggregation" or not touched or name == 0 or heard == touched
        started += len(heard)
    assert started > 0


@pytest.mark.parametrize("seed", range(4))
def test_by_aggregation_the_root_knows_what_all_nodes_pay_at_rest(seed: int):
    federation = clustered(seed)
    rng, root = np.random.default_rng(seed), federation.nodes[0]
    unmoved = 0
    for name in rng.permutation(len(federation.nodes)).tolist():
        before, version = federation.packets, root.version
        federation.want(name, federation.wanted[name] ^ (rng.random(len(federation.rates)) < 0.1))
        federation.rest()
        assert root.cost == federation.outcomes_and_cost(0)[1]
        if root.version == version:
            unmoved += 1
            assert federation.packets - before <= depth(federation, name)
    assert unmoved > 0


def depth(federation: Federation, name: int) -> int:
    """How many links there are from a node up to the root."""
    above = int(federation.tree.parents[name])
    return 0 if above < 0 else 1 + depth(federation, above)


def test_by_aggregation_the_root_knows_what_nodes_pay_that_come_and_go_at_rest():
    federation = clustered(3)
    leaf = int(np.setdiff1d(np.arange(12), federation.tree.parents).max())
    above, root = int(federation.tree.parents[leaf]), federation.nodes[0]
    assert above != 0
    assert federation.nodes[leaf].own_cost > 0
    federation.tree.leave(leaf, above)
    federation.rest()
    assert root.cost == federation.outcomes_and_cost(0)[1]
    federation.tree.join(above, leaf)
    federation.rest()
    assert root.cost == federation.outcomes_and_cost(0)[1]


def test_by_voting_the_root_is_not_told_of_a_cost_that_changes_no_vote():
    wanted = np.tile(np.array([True, True, False, False]), (24, 1))
    wanted[::2] = ~wanted[::2]
    chain = np.arange(-1, 23, dtype=np.int32)
    rates, rng = np.full(4, 9), np.random.default_rng(2)
    federation = Federation(wanted, rates, 2, rng, parents=chain, protocol="voting")
    federation.rest()
    before = federation.packets
    federation.want(23, np.array([False, True, False, False]))
    federation.rest()
    assert federation.packets - before == 3
    assert federation.nodes[0].cost == 0
    assert federation.nodes[23].cost == federation.outcomes_and_cost(0)[1] == 9


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("seed", range(4))
def test_interests_that_change_while_topics_are_voted_on_are_not_lost(protocol: str, seed: int):
    wanted, rates, rng = drawn(seed)
    parents = random_tree(len(wanted), rng)
    federation = Federation(wanted, rates, 3, rng, parents=parents, protocol=protocol)

    def change() -> None:
        federation.want(int(rng.integers(len(wanted))), rng.random(len(rates)) < 0.3)

    for moment in rng.random(30) * 20_000:
        federation.tree.at(float(moment), change)
    federation.rest()
    federation.check()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_if_votes_are_taken_for_settled_too_early_the_map_is_still_right_in_the_end(protocol: str):
    for seed in range(4):
        wanted, rates, rng = drawn(seed)
        parents = random_tree(len(wanted), rng)
        federation = Federation(
            wanted, rates, 3, rng, parents=parents, protocol=protocol, settle_ms=5.0
        )
        federation.rest()
        federation.check()


def test_what_improves_too_little_is_let_be_until_more_changes():
    wanted, rates, rng = drawn(5, nodes=20, topics=30)
    federation = Federation(
        wanted,
        rates,
        4,
        rng,
        parents=random_tree(20, rng),
        settings=Settings(improvement=0.9),
    )
    federation.rest()
    root = federation.nodes[0]
    assert root.at_rest
    assert (federation.outcomes_and_cost(0)[0] != root.channels).any()
    waves = root.waves
    for node in range(20):
        federation.want(node, rng.random(30) < 0.3)
    federation.rest()
    assert root.at_rest
    assert root.waves > waves


# ------------------------------------------------------------------ trees that change


@pytest.mark.no_cover
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_whatever_happens_to_the_tree_every_part_ends_on_one_map(protocol: str):
    for seed in seeds(30, 60):
        federation = shaken(seed, protocol)
        federation.rest()
        federation.check()


def shaken(seed: int, protocol: str) -> Federation:
    """Nodes that join, leave and change interests, often before the last change is known to all."""
    rng = np.random.default_rng(seed)
    nodes, topics, k = (int(rng.integers(1, most)) for most in (12, 9, 5))
    wanted, rates = rng.random((nodes, topics)) < rng.random(), rng.integers(0, 10, topics)
    federation = Federation(wanted, rates, k, rng, protocol=protocol)
    tree = federation.tree

    def change() -> None:
        what, parents = rng.random(), tree.parents
        linked = np.flatnonzero(parents >= 0)
        one, other = (int(node) for node in rng.integers(nodes, size=2))
        if what < 0.3:
            federation.want(one, rng.random(topics) < rng.random())
        elif what < 0.75 and tree.root(one) != tree.root(other):
            tree.join(one, other)
        elif what >= 0.75 and len(linked):
            node = int(rng.choice(linked))
            tree.leave(node, int(parents[node]))

    span = float(rng.choice([100, 2_000, 20_000, 100_000]))
    for moment in rng.random(rng.integers(40)) * span:
        tree.at(float(moment), change)
    return federation


def test_a_node_that_was_alone_for_a_while_takes_the_map_of_the_others():
    federation = clustered(3)
    leaf = len(federation.nodes) - 1
    above = int(federation.tree.parents[leaf])
    federation.tree.leave(leaf, above)
    federation.rest()
    federation.want(leaf, ~federation.wanted[leaf])
    federation.rest()
    alone, others = federation.nodes[leaf], federation.nodes[0]
    assert alone.leads
    assert alone.version != others.version
    kept = others.channels
    federation.tree.join(above, leaf)
    federation.tree.run(federation.tree.now + 1_000)
    assert alone.channels.tolist() == kept.tolist()
    federation.rest()
    federation.check()


def test_a_root_that_begins_anew_takes_the_map_that_the_others_have():
    wanted, rates, rng = drawn(4)
    federation = Federation(wanted, rates, 3, rng)
    for node in range(2, len(wanted)):
        federation.tree.join(1, node)
    federation.rest()
    made = federation.nodes[1].channels
    assert federation.nodes[0].channels.tolist() != made.tolist()
    federation.tree.join(0, 1)
    federation.tree.run(federation.tree.now + 1_000)
    assert federation.nodes[0].channels.tolist() == made.tolist()
    federation.rest()
    federation.check()


def test_a_part_that_lost_its_root_at_rest_keeps_its_map_without_a_word():
    wanted, rates, rng = drawn(6)
    wanted[0] = False
    below_one = np.append(np.int32(-1), random_tree(len(wanted) - 1, rng) + 1)
    federation = Federation(wanted, rates, 3, rng, parents=below_one)
    federation.rest()
    before = federation.nodes[1].version
    federation.tree.leave(0, 1)
    federation.rest()
    federation.check()
    assert federation.nodes[1].leads
    assert federation.nodes[1].version == before


def test_messages_say_how_large_they_are():
    some = np.array([3], np.int32)
    part = Announcement(FIRST, FIRST, 1, "leader", some, some, some)
    assert part.nbytes > Report(FIRST, 7, 1).nbytes > 0
    assert Offer(3, some).nbytes == 12
