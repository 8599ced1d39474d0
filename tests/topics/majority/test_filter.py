"""Once quiet, nodes hold the bits that a central count gives, and no popular element is missed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import pytest

from caddis.errors import TopicError
from caddis.lab.simulators.tree import TreeSimulator
from caddis.topics.links import Links
from caddis.topics.majority.false_positives import popular_bits
from caddis.topics.majority.filter import BloomFilter, LevelSigns, MajorityCascade, MajorityFilter
from caddis.topics.majority.sign_voter import Signs
from tests.runs import seeds
from tests.topics.changing_trees import ChangingTree, on_a_random_tree, shaken

TOPICS = [f"topic {i}" for i in range(12)]
Sets = list[set[str]]


def drawn_set(rng: np.random.Generator) -> set[str]:
    """Topics of all supports, the first the rarest."""
    return {topic for i, topic in enumerate(TOPICS) if rng.random() < (i + 0.5) / len(TOPICS)}


def support(sets: Sets, topic: str) -> Fraction:
    return Fraction(sum(topic in held for held in sets), len(sets))


def popular_centrally(sets: Sets, like: MajorityFilter) -> BloomFilter:
    """Count every bit over all nodes' filters."""
    hashing = like.hashing
    counts = np.zeros(hashing.bits, int)
    for held in sets:
        counts += BloomFilter(hashing.bits, hashing.hashes, hashing.key, elements=held).ones
    return like.input.with_ones(np.array([count >= like.threshold * len(sets) for count in counts]))


class ChangingSets(ChangingTree):
    """A tree of filters or cascades, whose nodes hold random sets."""

    def __init__(
        self, nodes: Sequence[MajorityFilter] | Sequence[MajorityCascade], seed: int
    ) -> None:
        super().__init__(nodes, np.random.default_rng(seed))
        self.nodes = nodes
        self.sets: dict[int, set[str]] = {}

    def vote(self, node: int) -> None:
        if self.rng.random() < 0.8:
            self.sets[node] = drawn_set(self.rng)
            self.tree.say(node, self.nodes[node].set_elements(self.sets[node]))

    def vote_late(self, node: int) -> None:
        while node not in self.sets:
            self.vote(node)


def check_filters(seed: int, bits: int, size: int) -> None:
    threshold = Fraction(1 + seed % 5, 5)
    nodes = [MajorityFilter(bits, 3, threshold, b"k") for _ in range(size)]
    world = ChangingSets(nodes, seed)
    shaken(world)
    for part in world.parts():
        sets = [world.sets[node] for node in part]
        right = popular_centrally(sets, nodes[0])
        assert all((nodes[node].output.ones == right.ones).all() for node in part)
        for topic in TOPICS:
            assert nodes[part[-1]].popular(topic) or support(sets, topic) < threshold


@pytest.mark.no_cover
@pytest.mark.parametrize("seed", seeds(15, 40))
def test_all_nodes_settle_on_the_bits_of_a_central_count(seed):
    check_filters(seed, bits=(16, 40, 200)[seed % 3], size=1 + seed % 17)


def test_one_filter_settles_on_the_bits_of_a_central_count():
    check_filters(seed=2, bits=40, size=7)


def cascade_levels(sets: Sets, like: MajorityCascade, bits: Callable[[int, BloomFilter], None]):
    """How many filters in a row each topic passes if each counts what the last let through."""
    inputs, levels = sets, dict.fromkeys(TOPICS, 0)
    for level, one in enumerate(like.filters):
        output = popular_centrally(inputs, one)
        bits(level, output)
        for topic in TOPICS:
            levels[topic] += levels[topic] == level and topic in output
        inputs = [{topic for topic in held if topic in output} for held in inputs]
    return levels


def check_cascade(seed: int, bits: int, size: int) -> None:
    nodes = [MajorityCascade(["0.2", "0.5", "0.75", "1"], bits, 2) for _ in range(size)]
    world = ChangingSets(nodes, seed)
    shaken(world)
    for part in world.parts():
        check_levels([nodes[node] for node in part], [world.sets[node] for node in part])


def check_levels(nodes: list[MajorityCascade], sets: Sets) -> None:
    def same_bits(level: int, output: BloomFilter) -> None:
        assert all((node.filters[level].output.ones == output.ones).all() for node in nodes)

    right = cascade_levels(sets, nodes[0], same_bits)
    for topic in TOPICS:
        assert {node.level(topic) for node in nodes} == {right[topic]}
        reached = sum(support(sets, topic) >= one.threshold for one in nodes[0].filters)
        assert right[topic] >= reached


@pytest.mark.no_cover
@pytest.mark.parametrize("seed", seeds(15, 40))
def test_a_cascade_settles_on_the_levels_of_a_central_count_and_on_none_too_low(seed):
    check_cascade(seed, bits=(20, 60, 300)[seed % 3], size=1 + seed % 13)


def test_one_cascade_settles_on_the_levels_of_a_central_count():
    check_cascade(seed=1, bits=60, size=6)


@pytest.mark.parametrize("missing", [0, 1])
def test_an_element_is_popular_at_exactly_the_threshold(missing):
    """0.8 of ten nodes are eight: as a float, 0.8 is a little more than four fifths."""
    nodes = [MajorityFilter(64, 3, 0.8) for _ in range(10)]
    tree = on_a_random_tree(nodes, np.random.default_rng(0))
    for number, node in enumerate(nodes):
        tree.say(number, node.set_elements(["jazz"] if number < 8 - missing else []))
    tree.run()
    assert {"jazz" in node for node in nodes} == {not missing}


def test_bits_counted_centrally_by_matrix_are_those_that_nodes_settle_on():
    rng = np.random.default_rng(4)
    nodes = [MajorityFilter(30, 3, "0.4") for _ in range(25)]
    interests = rng.random((25, 12)) < 0.25
    tree = on_a_random_tree(nodes, rng)
    for number, node in enumerate(nodes):
        tree.say(number, node.set_elements(TOPICS[i] for i in np.flatnonzero(interests[number])))
    tree.run()
    bits = popular_bits(interests, nodes[0].hashing.positions_of(TOPICS), 30, "0.4")
    assert 0 < bits.sum() < 30
    assert all((node.output.ones == bits).all() for node in nodes)


def test_a_changed_set_votes_only_on_the_bits_that_change():
    node = MajorityFilter(200, 3, "1/2")
    links = Links(node)
    links.join("west", epoch=0)
    [(_, packet)] = links.send(node.set_elements(["jazz", "blues"]))
    assert packet.messages[0].votes.tolist() == list(range(200))
    assert node.set_elements(["blues", "jazz"]) == []
    [(_, message)] = node.set_elements(["jazz", "blues", "metal"])
    assert set(message.votes) == set(node.hashing.positions("metal"))


def test_a_vote_on_all_bits_is_one_message_of_nine_bytes_a_bit_at_most():
    node = MajorityFilter(1000, 3, "1/2")
    node.set_elements(["jazz"])
    [(_, message)] = node.neighbour_joined("west")
    assert message.nbytes == 8125


def test_the_levels_of_a_cascade_share_a_packet():
    node = MajorityCascade(["0.2", "0.4"], 64, 3)
    links = Links(node)
    links.send(node.set_elements(["jazz"]))
    [(_, packet)] = links.join("west", epoch=0)
    assert [message.level for message in packet.messages] == [0, 1]
    assert all(isinstance(message, LevelSigns) for message in packet.messages)
    assert [len(message.votes) for message in packet.messages] == [64, 64]
    assert packet.messages[0].nbytes == 1 + 64 * 8 + 8


def test_what_falls_at_an_early_level_leaves_the_later_ones():
    """Alone, a node takes all it holds for popular; with others it must take that back."""
    nodes = [MajorityCascade(["0.4", "0.8"], 100, 3) for _ in range(4)]
    tree = TreeSimulator(nodes, np.random.default_rng(0))
    tree.say(0, nodes[0].set_elements(["jazz", "blues"]))
    for number in (1, 2, 3):
        tree.say(number, nodes[number].set_elements(["jazz"]))
    assert nodes[0].level("blues") == 2
    for number in (1, 2, 3):
        tree.join(0, number)
    tree.run()
    assert [node.level("blues") for node in nodes] == [0] * 4
    assert [node.level("jazz") for node in nodes] == [2] * 4
    assert not nodes[0].filters[1].input.contains(["blues"]).any()
    tree.leave(0, 1)
    tree.leave(0, 2)
    tree.run()
    assert [nodes[0].level("blues"), nodes[1].level("blues")] == [1, 0]


def test_what_an_early_level_lets_through_once_a_neighbour_left_enters_the_later_ones():
    node = MajorityCascade(["0.6", "0.8"], 100, 3)
    node.set_elements(["blues"])
    other = MajorityCascade(["0.6", "0.8"], 100, 3)
    other.set_elements([])
    node.neighbour_joined("other")
    node.handle_all([("other", message) for _, message in other.neighbour_joined("node")])
    assert node.level("blues") == 0
    assert not node.filters[1].input.contains(["blues"]).any()
    node.neighbour_left("other")
    assert node.level("blues") == 2


def test_levels_hash_by_keys_of_their_own():
    nodes = [MajorityCascade(["0.2", "0.4", "0.6"], 1 << 20, 3, key) for key in (b"", b"x")]
    places = [tuple(one.hashing.positions("jazz")) for node in nodes for one in node.filters]
    assert len(set(places)) == 6


@pytest.mark.parametrize("make", [MajorityFilter, lambda *size: MajorityCascade(["1"], *size[:2])])
def test_a_single_element_is_not_taken_apart(make):
    node = make(64, 3, "0.5")
    with pytest.raises(TopicError, match=r"such as \['jazz'\], not as 'jazz'"):
        node.set_elements("jazz")


@pytest.mark.parametrize("level", [-1, 1, 7])
def test_a_neighbour_with_other_levels_is_refused(level):
    node = MajorityCascade(["0.2"], 10, 1)
    node.neighbour_joined("west")
    signs = Signs(np.array([0], np.int32), np.array([1]), 10)
    with pytest.raises(TopicError, match=f"level {level}, and this node's last is 0"):
        node.handle("west", LevelSigns(level, signs))


def test_a_neighbour_with_another_size_is_refused():
    one, other = MajorityFilter(200, 3, "0.5"), MajorityFilter(100, 3, "0.5")
    one.neighbour_joined("other")
    other.set_elements(["jazz"])
    [(_, message)] = other.neighbour_joined("one")
    with pytest.raises(TopicError, match="'other' has 100 votes and this node 200"):
        one.handle("other", message)


def test_a_node_without_a_set_of_its_own_says_nothing():
    node = MajorityCascade(["0.2"], 10, 1)
    assert node.neighbour_joined("west") == []
    assert node.neighbour_left("west") == []
    assert node.level("jazz") == 0


@pytest.mark.parametrize("thresholds", [[], ["0.5", "0.5"], ["0.8", "0.2"]])
def test_thresholds_that_do_not_ascend_are_refused(thresholds):
    with pytest.raises(TopicError, match="ascending thresholds"):
        MajorityCascade(thresholds, 10, 1)
