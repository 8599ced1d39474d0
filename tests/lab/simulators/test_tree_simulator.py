from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from caddis.lab.simulators.tree import TreeSimulator, a_round, a_while, complete_binary_tree
from caddis.topics import Voter
from caddis.topics.links import CLOCK, Link, Sent, Wake
from tests.runs import seeds


class Note:
    """A message of two bytes."""

    nbytes = 2

    def __init__(self, text: str) -> None:
        self.text = text


class Listener:
    """A node that writes down what it hears, and says what it is asked to."""

    def __init__(self) -> None:
        self.lines: list[tuple[object, ...]] = []
        self.up: list[Link] = []
        self.linked: list[Link] = []

    def neighbour_joined(self, link: Link, *, up: bool = False) -> Sent:
        self.lines.append(("joined", link, up))
        self.linked.append(link)
        self.up += [link] * up
        return []

    def neighbour_left(self, link: Link) -> Sent:
        self.lines.append(("left", link))
        self.linked.remove(link)
        self.up = [other for other in self.up if other != link]
        return []

    def handle(self, link: Link, message: Note | Wake) -> Sent:
        self.lines.append((link, message.token if isinstance(message, Wake) else message.text))
        return []


def listening(
    count: int, delay=a_while, seed: int = 0, **more
) -> tuple[list[Listener], TreeSimulator]:
    nodes = [Listener() for _ in range(count)]
    return nodes, TreeSimulator(nodes, np.random.default_rng(seed), delay, **more)


def heard(node: Listener, link: Link) -> list[object]:
    return [line[1] for line in node.lines if line[0] == link]


def test_links_keep_the_order_of_their_messages():
    nodes, tree = listening(2, parents=[-1, 0])
    for place in range(50):
        tree.say(0, [(1, Note(str(place)))])
    tree.run()
    assert heard(nodes[1], 0) == [str(place) for place in range(50)]
    assert 0 < tree.now <= 100


def test_a_tree_that_is_given_is_known_to_all_from_the_start():
    nodes, tree = listening(3, parents=[-1, 0, 1])
    assert tree.now == 0
    assert nodes[1].lines == [("joined", 0, True), ("joined", 2, False)]
    assert tree.quiet


def test_the_ends_of_a_link_hear_of_it_at_different_moments():
    nodes, tree = listening(2)
    tree.join(0, 1)
    moments = []
    while not tree.quiet:
        tree.run(until_ms=tree.now + 0.5)
        moments.append(len(nodes[0].lines) + len(nodes[1].lines))
    assert Counter(moments)[1] > 1


def test_a_message_in_flight_dies_with_its_link():
    heard_old = 0
    for seed in range(50):
        nodes, tree = listening(2, seed=seed, parents=[-1, 0])
        tree.say(0, [(1, Note("old"))])
        tree.leave(0, 1)
        tree.join(0, 1)
        tree.run()
        tree.say(0, [(1, Note("new"))])
        tree.run()
        lines = nodes[1].lines
        assert lines[-1] == (0, "new")
        assert (0, "old") not in lines[lines.index(("left", 0)) :]
        heard_old += (0, "old") in lines
    assert 0 < heard_old < 50


def test_one_run_is_like_the_other_if_the_seed_is():
    def run(seed: int) -> tuple[list[int], float]:
        rng = np.random.default_rng(seed)
        voters = [Voter(3) for _ in range(40)]
        tree = TreeSimulator(voters, rng, parents=complete_binary_tree(40))
        for node, voter in enumerate(voters):
            tree.say(node, voter.set_input(rng.integers(0, 9, 3)))
        tree.at(30, lambda: tree.leave(3, 1))
        tree.run()
        return tree.messages.tolist(), tree.now

    assert run(1) == run(1)
    assert run(1) != run(2)


@pytest.mark.parametrize("seed", seeds(12, 120))
def test_once_quiet_all_know_the_tree_and_where_its_root_is(seed: int):
    rng = np.random.default_rng(seed)
    nodes, tree = listening(9, seed=seed)
    for _ in range(60):
        one, other = rng.integers(9, size=2).tolist()
        if tree.root(one) != tree.root(other):
            tree.join(one, other)
        elif tree.parents[one] >= 0:
            tree.leave(one, int(tree.parents[one]))
        if rng.random() < 0.3:
            tree.run(until_ms=tree.now + 20)
    tree.run()
    parents = tree.parents.tolist()
    assert parents[0] == -1
    for node, parent in enumerate(parents):
        children = [child for child, above in enumerate(parents) if above == node]
        assert sorted(nodes[node].linked, key=str) == sorted(
            [*children, *[parent] * (parent >= 0)], key=str
        )
        assert nodes[node].up == [parent] * (parent >= 0)


def test_a_part_that_is_joined_by_its_leaf_is_turned_round():
    nodes, tree = listening(5)
    for one, other in pairwise([1, 2, 3, 4]):
        tree.join(one, other)
    assert tree.parents.tolist() == [-1, -1, 1, 2, 3]
    tree.join(4, 0)
    assert tree.parents.tolist() == [-1, 2, 3, 4, 0]
    tree.run()
    assert [node.up for node in nodes] == [[], [2], [3], [4], [0]]


def test_nodes_of_one_part_cannot_be_joined_nor_strangers_parted():
    _, tree = listening(3, parents=[-1, 0, 0])
    with pytest.raises(ValueError, match="1 and 2 are already in one part"):
        tree.join(1, 2)
    with pytest.raises(ValueError, match="1 and 2 are not linked"):
        tree.leave(1, 2)
    tree.leave(0, 1)
    with pytest.raises(ValueError, match="0 and 1 are not linked"):
        tree.leave(0, 1)


def test_packets_messages_and_bytes_are_counted_by_node():
    _, tree = listening(2, parents=[-1, 0])
    tree.say(0, [(1, Note("a")), (1, Note("b"))])
    tree.say(0, [(1, Note("c"))])
    assert (tree.packets.tolist(), tree.messages.tolist()) == ([2, 0], [3, 0])
    assert tree.nbytes.tolist() == [6, 0]


def test_a_message_about_many_votes_counts_for_each():
    voters = [Voter(choices=2, votes=5) for _ in range(2)]
    tree = TreeSimulator(voters, np.random.default_rng(0), parents=[-1, 0])
    tree.say(0, voters[0].set_input(np.zeros((5, 2), np.int64)))
    assert (tree.packets.sum(), tree.messages.sum()) == (1, 5)
    assert tree.nbytes.sum() == 5 * (4 + 2 * 8)


def test_alarms_come_back_in_time():
    nodes, tree = listening(1)
    tree.say(0, [(CLOCK, Wake(30.0, token=3)), (CLOCK, Wake(20.0, token=2))])
    tree.run(until_ms=25)
    assert (nodes[0].lines, tree.now) == ([(CLOCK, 2)], 25)
    assert not tree.quiet
    tree.run()
    assert (nodes[0].lines, tree.now) == ([(CLOCK, 2), (CLOCK, 3)], 30)
    assert tree.packets.sum() == 0


def test_changes_happen_at_their_moments():
    nodes, tree = listening(2, a_round)
    tree.at(7, lambda: tree.join(0, 1))
    tree.at(20, lambda: tree.say(0, [(1, Note("a"))]))
    tree.run()
    assert tree.now == 21
    assert nodes[1].lines == [("joined", 0, True), (0, "a")]


def test_in_rounds_a_node_takes_in_all_that_came_before_it_answers():
    voters = [Voter(choices=2) for _ in range(4)]
    tree = TreeSimulator(voters, np.random.default_rng(0), a_round, parents=[-1, 0, 0, 0])
    for node, costs in enumerate([[0, 1], [1, 0], [1, 0], [1, 0]]):
        tree.say(node, voters[node].set_input(costs))
    tree.run(until_ms=1)
    assert tree.packets.tolist() == [6, 1, 1, 1]
    assert voters[0].choice() == 1
