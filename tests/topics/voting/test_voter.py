from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import pytest

from caddis.arrays import Floats, Int32s, Int64s
from caddis.errors import TopicError
from caddis.lab.simulators.tree import (
    TreeSimulator,
    a_round,
    eccentricities,
    random_binary_tree,
    random_tree,
)
from caddis.topics.links import Link, Sent
from caddis.topics.voting.aggregation import Aggregator
from caddis.topics.voting.kernels import least, must_send, take_rest
from caddis.topics.voting.local import LARGEST, Poll
from caddis.topics.voting.measured_poll import MeasuredPoll
from caddis.topics.voting.voter import Voter, Votes
from tests.runs import seeds, times
from tests.topics.changing_trees import ChangingPolls, check_large_tree, check_polls
from tests.topics.voting.plain_voter import LiteralVoter, PlainVoter

Costs = list[int]


class Listening(Voter):
    """A voter that counts the messages it hears, by link."""

    def __init__(self, choices: int, votes: int = 1) -> None:
        super().__init__(choices, votes)
        self.heard: Counter[Link] = Counter()

    def handle_all(self, heard: Sequence[tuple[Link, Votes]]) -> Sent:
        self.heard.update(link for link, _ in heard)
        return super().handle_all(heard)


def small_tree(seed: int, most: int) -> tuple[np.random.Generator, Int32s]:
    rng = np.random.default_rng(seed)
    nodes = int(rng.integers(2, most))
    if seed % 3 == 0:
        return rng, np.arange(-1, nodes - 1, dtype=np.int32)
    return rng, (random_tree if seed % 3 == 1 else random_binary_tree)(nodes, rng)


def drawn_inputs(rng: np.random.Generator, nodes: int) -> Int64s:
    spread = int(rng.choice([0, 1, 3, 1000]))
    return rng.integers(-spread, spread + 1, (nodes, int(rng.integers(1, 7))))


def in_rounds(
    voters: Sequence[Voter | PlainVoter], parents: Int32s, inputs: Int64s | Floats
) -> TreeSimulator:
    tree = TreeSimulator(voters, np.random.default_rng(0), a_round, parents=parents)
    for node, voter in enumerate(voters):
        tree.say(node, voter.set_input(inputs[node].tolist()))
    return tree


class UVW:
    """The paper's example: u, v and w in a row, whose messages are handled by hand."""

    def __init__(self) -> None:
        self.nodes = {name: Voter(choices=3) for name in "uvw"}
        self.flying: list[tuple[str, str, Votes]] = []
        self.log: list[tuple[str, str, Costs]] = []
        for one, other in ("uv", "vu", "vw", "wv"):
            self.nodes[one].neighbour_joined(other)

    def put_in(self, name: str, *costs: int) -> None:
        self.send(name, self.nodes[name].set_input(costs))

    def send(self, name: str, sent: Sent) -> None:
        for link, message in sent:
            self.flying.append((name, str(link), message))
            self.log.append((name, str(link), message.costs[0].tolist()))

    def deliver(self) -> None:
        flying, self.flying = self.flying, []
        heard: dict[str, list[tuple[Link, Votes]]] = {}
        for name, link, message in flying:
            heard.setdefault(link, []).append((name, message))
        for name, messages in heard.items():
            self.send(name, self.nodes[name].handle_all(messages))

    def choices(self) -> list[int]:
        return [node.choice() for node in self.nodes.values()]


def the_example() -> UVW:
    example = UVW()
    example.put_in("u", 10, 0, 11)
    example.put_in("v", 10, 0, 11)
    example.put_in("w", 10, 10, 0)
    return example


def test_the_papers_example_begins_with_everybodys_own_vector():
    example = the_example()
    assert example.choices() == [1, 1, 2]
    assert example.log == [
        ("u", "v", [10, 0, 11]),
        ("v", "u", [10, 0, 11]),
        ("v", "w", [10, 0, 11]),
        ("w", "v", [10, 10, 0]),
    ]


def test_in_the_papers_example_v_tells_u_what_w_brought():
    """(20, 10, 11), less its least: the paper is quiet here, but its second rule holds, 12 < 22."""
    example = the_example()
    example.deliver()
    assert example.choices() == [1, 1, 1]
    assert example.log[4:] == [("v", "u", [20 - 10, 10 - 10, 11 - 10])]
    example.deliver()
    assert not example.flying
    assert example.choices() == [1, 1, 1]


def test_in_the_papers_example_all_change_their_choice_with_u():
    example = the_example()
    example.deliver()
    example.deliver()
    before = len(example.log)
    example.put_in("u", 10, 15, 11)
    while example.flying:
        example.deliver()
    assert example.choices() == [2, 2, 2]
    assert len(example.log) - before <= 4
    assert {name for name, _, _ in example.log[before:]} >= {"u", "v"}


@pytest.mark.no_cover
def test_all_choose_the_least_of_all_costs_whatever_happened_before():
    """Theorem 2, on trees that change while messages travel."""
    for seed in seeds(400, 2000):
        check_polls(Voter, seed)


@pytest.mark.no_cover
def test_larger_trees_end_right_too():
    for seed in seeds(3, 6):
        check_large_tree(Voter, seed)


@pytest.mark.no_cover
def test_a_voter_says_what_the_papers_lines_say():
    """The same world for both: the same choices, and the same number of the same messages."""
    for seed in seeds(100, 300):
        worlds = []
        makes: list[Callable[[int, int], Poll]] = [Voter, PlainVoter]
        for make in makes:
            rng = np.random.default_rng(seed)
            world = ChangingPolls(make, rng, nodes=int(rng.integers(1, 12)), choices=3)
            world.grow()
            trace = []
            for _ in range(10):
                world.change()
                trace.append((world.tree.packets.tolist(), world.tree.now))
            world.settle()
            worlds.append((trace, world.tree.packets.tolist(), world.chosen()))
        assert worlds[0] == worlds[1], f"seed {seed}"


@pytest.mark.no_cover
def test_the_kernels_judge_as_plain_python_does():
    rng = np.random.default_rng(0)
    for _ in range(times(1000, 3000)):
        size = int(rng.integers(1, 6))
        total, sent, received = rng.integers(-2, 3, (3, size))
        plain = PlainVoter(size)
        plain.own = (total - received).tolist()
        plain.received, plain.sent = {"w": received.tolist()}, {"w": sent.tolist()}
        best = least(total)
        assert best == plain.choice()
        assert must_send(total, best, sent, received) == plain.must_send("w")
        take_rest(total, received, sent)
        assert sent.tolist() == (total - received - (total - received).min()).tolist()


@pytest.mark.no_cover
def test_a_link_carries_at_most_a_message_for_each_node_behind_it():
    for seed in seeds(150, 400):
        rng, parents = small_tree(seed, 25)
        inputs = drawn_inputs(rng, len(parents))
        voters = [Listening(inputs.shape[1]) for _ in parents]
        in_rounds(voters, parents, inputs).run()
        below = np.ones(len(parents), np.int64)
        for node in range(len(parents) - 1, 0, -1):
            below[parents[node]] += below[node]
        for node, parent in enumerate(parents.tolist()):
            if parent >= 0:
                assert voters[parent].heard[node] <= below[node], f"seed {seed}"
                assert voters[node].heard[parent] <= len(parents) - below[node], f"seed {seed}"


@pytest.mark.no_cover
def test_a_first_vote_takes_no_more_rounds_than_the_paper_says():
    """r² + 2r − 1, where r is the greatest distance of two nodes, as in the paper's proof."""
    for seed in seeds(200, 600):
        rng, parents = small_tree(seed, 25)
        inputs = drawn_inputs(rng, len(parents))
        tree = in_rounds([Voter(inputs.shape[1]) for _ in parents], parents, inputs)
        tree.run()
        r = int(eccentricities(parents).max())
        assert tree.now <= r * r + 2 * r - 1, f"seed {seed}"


def test_with_the_least_eccentricity_for_r_the_papers_bound_would_not_hold():
    """Seven nodes in a row, 3 links from the middle to an end: 16 rounds, not 14."""
    inputs = [[1, 0], [1, 0], [1, 0], [0, 0], [0, 0], [0, 1], [0, 1]]
    parents = np.arange(-1, 6, dtype=np.int32)
    tree = in_rounds([Voter(2) for _ in parents], parents, np.array(inputs))
    tree.run()
    r = int(eccentricities(parents).min())
    assert (r, tree.now) == (3, 16)
    assert tree.now > r * r + 2 * r - 1


@pytest.mark.no_cover
def test_many_votes_in_one_voter_are_as_many_voters_with_one_each_in_fewer_packets():
    for seed in seeds(10, 20):
        rng, parents = small_tree(seed, 15)
        inputs = rng.integers(0, 5, (len(parents), 8, 3))
        many = [Voter(choices=3, votes=8) for _ in parents]
        together = in_rounds(many, parents, inputs)
        together.run()
        packets = messages = 0
        for vote in range(8):
            single = [Voter(choices=3) for _ in parents]
            alone = in_rounds(single, parents, inputs[:, vote])
            alone.run()
            assert [one.choices[vote] for one in many] == [one.choice() for one in single]
            packets += int(alone.packets.sum())
            messages += int(alone.messages.sum())
        assert int(together.messages.sum()) == messages
        assert int(together.packets.sum()) < packets / 2


def test_without_a_flag_nodes_that_do_not_care_never_fall_silent():
    for make, quiet in ((LiteralVoter, False), (Voter, True)):
        voters = [make(choices=2) for _ in range(2)]
        tree = in_rounds(voters, np.array([-1, 0], np.int32), np.zeros((2, 2), np.int64))
        tree.run(until_ms=1000)
        assert tree.quiet == quiet


def test_with_floats_nodes_never_fall_silent():
    rng = np.random.default_rng(0)
    parents = random_binary_tree(60, rng)
    costs = rng.normal(size=(60, 3))
    for scale, quiet in ((1.0, False), (1e6, True)):
        inputs = costs if scale == 1.0 else np.rint(costs * scale)
        tree = in_rounds([PlainVoter(3) for _ in parents], parents, inputs)
        tree.run(until_ms=1000)
        assert tree.quiet == quiet


def test_an_unopened_vote_says_nothing_and_is_told_all():
    voter, other = Voter(choices=2, votes=2), Voter(choices=2, votes=2)
    assert voter.neighbour_joined("other") == []
    other.neighbour_joined("voter")
    [(_, message)] = other.set_input([[5, 0], [0, 5]])
    assert voter.handle("other", message) == []
    [(_, answer)] = voter.set_input([[1, 0]], np.array([1], np.int32))
    assert answer.votes.tolist() == [1]
    assert voter.choices.tolist() == [0, 0]
    assert other.handle("voter", answer) == []


def test_a_message_does_not_change_with_its_sender():
    voter = Voter(choices=2)
    voter.neighbour_joined("west")
    [(_, message)] = voter.set_input([3, 4])
    voter.set_input([9, 0])
    assert message.costs.tolist() == [[0, 1]]


@pytest.mark.parametrize(
    ("costs", "problem"),
    [
        ([1.0, 2.0], "costs are whole numbers, not 1.0: choose a smaller unit"),
        ([[1, None, 3], [1, 2, 3]], "costs are whole numbers, not None$"),
        ([[True, False, True]] * 2, "costs are whole numbers, not True$"),
        ([[1, 2, 3], [1, 2]], "costs are rows of the same length"),
        ([1, 2, 3], r"2 votes on 3 choices have costs of shape \(2, 3\), not \(3,\)"),
        ([[1, 2], [3, 4], [5, 6]], r"shape \(2, 3\), not \(3, 2\)"),
        ([[LARGEST + 1, 0, 0], [0, 0, 0]], "a cost is 1,099,511,627,777; the largest is 1,099,5"),
        ([[0, 0, 2**70], [0, 0, 0]], "a cost is 1,180,591,.* choose a larger unit"),
        ([[2**63, 0, -1], [0, 0, 0]], "a cost is 9,223,372,036,854,775,808; .* a larger unit"),
        ([[-(2**63), 0, 0], [0, 0, 0]], "a cost is 9,223,372,036,854,775,808"),
    ],
)
def test_costs_that_are_not_usable_are_refused(costs: list[int], problem: str):
    with pytest.raises(TopicError, match=problem):
        Voter(choices=3, votes=2).set_input(costs)


@pytest.mark.parametrize("make", [Voter, Aggregator, partial(MeasuredPoll, changed_share=0.1)])
@pytest.mark.parametrize("votes", [[True, False, True], [-1], [3], [0.5], [[0, 1]]])
def test_votes_that_there_are_not_are_refused(make: Callable[[int, int], Poll], votes: list[int]):
    poll = make(2, 3)
    costs = np.zeros((len(votes), 2), np.int64)
    with pytest.raises(TopicError, match=r"votes are named by their numbers, from 0 to 2, not by"):
        poll.set_input(costs, np.array(votes))


def test_no_votes_at_all_are_fine():
    assert Voter(choices=2).set_input(np.zeros((0, 2), np.int64), np.zeros(0, np.int32)) == []


@pytest.mark.parametrize("make", [Voter, Aggregator, partial(MeasuredPoll, changed_share=0.1)])
def test_a_link_joins_and_leaves_once(make: Callable[[int, int], Poll]):
    poll = make(2, 1)
    with pytest.raises(TopicError, match="'west' is not up"):
        poll.neighbour_left("west")
    poll.neighbour_joined("west", up=True)
    for up in (True, False):
        with pytest.raises(TopicError, match="'west' is up already"):
            poll.neighbour_joined("west", up=up)
    poll.neighbour_left("west")
    with pytest.raises(TopicError, match="'west' is not up"):
        poll.neighbour_left("west")


def test_what_comes_through_a_link_that_is_not_up_is_refused():
    voter = Voter(choices=2)
    voter.set_input([0, 1])
    voter.neighbour_joined("west")
    message = Votes(np.array([0], np.int32), np.array([[9, 0]]))
    with pytest.raises(TopicError, match="'east' is not up"):
        voter.handle_all([("west", message), ("east", message)])
    assert voter.set_input([0, 1]) == []
    assert voter.choice() == 0
    assert voter.handle_all([]) == []


@pytest.mark.parametrize(("choices", "votes"), [(0, 1), (1, 0)])
def test_a_voter_needs_something_to_vote_on(choices: int, votes: int):
    with pytest.raises(TopicError, match=f"a vote and a choice, not {votes} and {choices}"):
        Voter(choices, votes)


def test_the_largest_costs_of_many_nodes_add_up_without_overflow():
    nodes = 200
    parents = np.zeros(nodes, np.int32)
    parents[0] = -1
    inputs = np.full((nodes, 2), LARGEST, np.int64)
    inputs[:, 1] = -LARGEST
    voters = [Voter(choices=2) for _ in parents]
    in_rounds(voters, parents, inputs).run()
    assert {voter.choice() for voter in voters} == {1}
