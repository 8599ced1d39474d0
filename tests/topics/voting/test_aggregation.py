import numpy as np
import pytest

from caddis.arrays import Int32s, Int64s
from caddis.errors import TopicError
from caddis.lab.simulators.tree import (
    TreeSimulator,
    a_round,
    a_while,
    complete_binary_tree,
    random_tree,
)
from caddis.topics.voting.aggregation import Aggregator, Outcomes, Recount, Sums
from tests.runs import seeds
from tests.topics.changing_trees import check_large_tree, check_polls, drifted


def standing(
    parents: Int32s, inputs: Int64s, delay=a_while
) -> tuple[list[Aggregator], TreeSimulator]:
    """A tree on which a first vote has been held."""
    nodes, votes, choices = inputs.shape
    polls = [Aggregator(choices, votes) for _ in range(nodes)]
    tree = TreeSimulator(polls, np.random.default_rng(0), delay, parents=parents)
    for node, poll in enumerate(polls):
        tree.say(node, poll.set_input(inputs[node]))
    tree.run()
    return polls, tree


@pytest.mark.no_cover
def test_all_hear_the_least_of_all_costs_whatever_happened_before():
    for seed in seeds(300, 1000):
        check_polls(Aggregator, seed)


@pytest.mark.no_cover
def test_roots_know_the_sum_of_their_part_of_the_tree():
    for seed in seeds(100, 200):
        world = drifted(Aggregator, seed)
        roots = np.array([world.tree.root(node) for node in range(len(world.polls))])
        for root in np.unique(roots).tolist():
            poll = world.polls[root]
            assert isinstance(poll, Aggregator)
            assert poll.complete.all()
            assert poll.totals.tolist() == world.inputs[roots == root].sum(axis=0).tolist()


@pytest.mark.no_cover
def test_larger_trees_end_right_too():
    for seed in seeds(2, 4):
        check_large_tree(Aggregator, seed)


@pytest.mark.parametrize("delay", [a_while, a_round])
def test_a_first_vote_is_two_messages_a_node(delay):
    rng = np.random.default_rng(1)
    parents = random_tree(200, rng)
    _, tree = standing(parents, rng.integers(0, 9, (200, 1, 3)), delay)
    assert int(tree.messages.sum()) == 2 * 199


def test_many_votes_go_in_one_message():
    rng = np.random.default_rng(1)
    parents = complete_binary_tree(63)
    _, tree = standing(parents, rng.integers(0, 9, (63, 40, 3)), a_round)
    assert int(tree.messages.sum()) == 40 * 2 * 62
    assert int(tree.packets.sum()) == 2 * 62


def test_a_change_that_does_not_matter_goes_up_to_the_root_and_no_further():
    inputs = np.tile(np.array([0, 10]), (15, 1, 1))
    polls, tree = standing(complete_binary_tree(15), inputs)
    before = tree.messages
    tree.say(14, polls[14].set_input([1, 10]))
    tree.run()
    assert np.flatnonzero(tree.messages - before).tolist() == [2, 6, 14]
    assert int((tree.messages - before).sum()) == 3
    assert polls[0].totals.tolist() == [[1, 150]]


def test_a_change_of_the_outcome_comes_down_to_all():
    inputs = np.tile(np.array([0, 1]), (15, 1, 1))
    polls, tree = standing(complete_binary_tree(15), inputs)
    before = int(tree.messages.sum())
    tree.say(14, polls[14].set_input([100, 1]))
    tree.run()
    assert {poll.choice() for poll in polls} == {1}
    assert int(tree.messages.sum()) - before == 3 + 14


def test_a_vote_that_some_node_has_not_opened_is_not_reported():
    polls = [Aggregator(choices=2, votes=2) for _ in range(7)]
    tree = TreeSimulator(polls, np.random.default_rng(0), parents=complete_binary_tree(7))
    for node in range(6):
        tree.say(node, polls[node].set_input([[1, 0], [1, 0]]))
    tree.say(6, polls[6].set_input([[1, 0]], np.array([1], np.int32)))
    tree.run()
    assert [poll.choices.tolist() for poll in polls] == [[0, 1]] * 7
    assert polls[0].complete.tolist() == [False, True]
    assert polls[2].complete.tolist() == [False, True]
    assert polls[1].complete.tolist() == [True, True]
    tree.say(6, polls[6].set_input([[9, 0]], np.array([0], np.int32)))
    tree.run()
    assert [poll.choices.tolist() for poll in polls] == [[1, 1]] * 7
    assert polls[0].totals.tolist() == [[15, 0], [7, 0]]


def test_a_vote_goes_on_without_a_child_that_left_before_it_voted():
    root = Aggregator(choices=2)
    for child in ("west", "east"):
        root.neighbour_joined(child)
    root.set_input([1, 0])
    sums = Sums(np.array([0], np.int32), np.array([[0, 5]]))
    assert root.handle("west", sums) == []
    [(link, outcomes)] = root.neighbour_left("east")
    assert (link, outcomes.choices.tolist()) == ("west", [0])


def test_a_node_without_a_link_up_is_the_root_of_its_part():
    inputs = np.zeros((7, 1, 2), np.int64)
    inputs[:, 0, 0] = [9, 9, 0, 9, 9, 0, 0]
    inputs[:, 0, 1] = 1
    polls, tree = standing(complete_binary_tree(7), inputs)
    assert {poll.choice() for poll in polls} == {1}
    tree.leave(0, 2)
    tree.run()
    assert [poll.choice() for poll in polls] == [1, 1, 0, 1, 1, 0, 0]
    assert polls[2].totals.tolist() == [[0, 3]]


def test_of_two_links_up_the_last_counts():
    poll = Aggregator(choices=2)
    votes = np.array([0], np.int32)
    poll.set_input([0, 1])
    [(first, _)] = poll.neighbour_joined("old", up=True)
    [(second, _)] = poll.neighbour_joined("new", up=True)
    assert (first, second) == ("old", "new")
    poll.handle("new", Outcomes(votes, np.array([1], np.int32)))
    poll.handle("old", Outcomes(votes, np.array([0], np.int32)))
    assert poll.choice() == 1
    assert poll.set_input([0, 2])[0][0] == "new"
    [(again, sums)] = poll.neighbour_left("new")
    assert (again, sums.costs.tolist()) == ("old", [[0, 2]])
    assert poll.choice() == 0


def test_what_is_noted_counts_when_votes_are_counted_again():
    polls, tree = standing(complete_binary_tree(15), np.tile(np.array([0, 1]), (15, 1, 1)))
    before = int(tree.messages.sum())
    polls[14].note_input([100, 1])
    assert tree.quiet
    assert {poll.choice() for poll in polls} == {0}
    tree.say(0, polls[0].recount())
    assert not polls[0].complete.any()
    tree.run()
    assert {poll.choice() for poll in polls} == {1}
    assert int(tree.messages.sum()) - before == 3 * 14


def test_a_root_may_decide_something_else():
    root = Aggregator(choices=2, decide=lambda sums: sums[:, 0].astype(np.int32))
    root.set_input([7, 0])
    assert root.choice() == 7


def test_messages_say_how_large_they_are():
    votes = np.zeros(3, np.int32)
    assert Sums(votes, np.zeros((3, 2), np.int64)).nbytes == 3 * (4 + 16)
    assert Outcomes(votes, votes).nbytes == 3 * 8
    assert Recount(votes).nbytes == 3 * 4


def test_an_aggregator_needs_something_to_vote_on():
    with pytest.raises(TopicError, match="a vote and a choice, not 1 and 0"):
        Aggregator(choices=0)


def test_a_neighbour_says_what_is_its_to_say():
    votes = np.array([0], np.int32)
    sums, outcomes = Sums(votes, np.array([[0, 5]])), Outcomes(votes, votes)
    poll = Aggregator(choices=2)
    poll.neighbour_joined("above", up=True)
    poll.neighbour_joined("below")
    with pytest.raises(TopicError, match="Sums came from 'above', which is above"):
        poll.handle("above", sums)
    for message in (outcomes, Recount(votes)):
        with pytest.raises(TopicError, match="came from 'below', which is below"):
            poll.handle("below", message)
        with pytest.raises(TopicError, match="'nobody' is not up"):
            poll.handle_all([("below", sums), ("nobody", message)])
    assert poll.totals.tolist() == [[0, 0]]
    assert poll.handle_all([]) == []
