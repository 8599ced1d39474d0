import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from caddis.arrays import Int64s
from caddis.errors import TopicError
from caddis.lab.simulators.tree import TreeSimulator, a_round, random_binary_tree
from caddis.lab.simulators.vote_rounds import Tree, VoteRounds, gaussian_costs
from caddis.topics.voting.aggregation import Aggregator
from caddis.topics.voting.measured_poll import (
    DIFFICULTIES,
    FIRST,
    SHARES,
    UPKEEP,
    choose_protocol,
    discriminability,
    first_messages,
    moments,
    upkeep_messages,
)


def plain_discriminability(costs: Int64s) -> float:
    """Of one vote, by node and choice: the paper's definition, with the nearest to the best."""
    means, variances = costs.mean(axis=0), costs.var(axis=0)
    best = int(costs.sum(axis=0).argmin())
    return min(
        float((means[one] - means[best]) ** 2 / (variances[one] + variances[best]))
        for one in range(len(means))
        if one != best
    )


@pytest.mark.parametrize("seed", range(10))
def test_discriminability_is_what_the_nodes_costs_say(seed: int):
    rng = np.random.default_rng(seed)
    costs = rng.integers(-50, 50, (30, 5, 4)) + rng.integers(0, 40, (5, 4))
    totals = sum(moments(one) for one in costs)
    assert isinstance(totals, np.ndarray)
    expected = [plain_discriminability(costs[:, vote]) for vote in range(5)]
    assert discriminability(totals).tolist() == pytest.approx(expected, rel=1e-9)


def test_discriminability_is_the_papers():
    costs = np.array([[0, 6, 88], [4, 8, 92]])
    totals = moments(costs).sum(axis=0, keepdims=True)
    assert discriminability(totals).tolist() == [(2 - 7) ** 2 / (4 + 1)]


def test_the_papers_inputs_are_as_far_apart_as_they_were_drawn():
    costs = gaussian_costs(100_000, (0.1, 1.0), np.random.default_rng(0))
    sums = moments(costs, unit=1 << 10).sum(axis=0, keepdims=True)
    assert discriminability(sums)[0] == pytest.approx(0.1, rel=0.05)
    assert discriminability(sums)[0] == pytest.approx(plain_discriminability(costs), rel=1e-3)


def test_large_means_do_not_blur_small_differences():
    costs = np.array([[1 << 19, (1 << 19) + 1], [(1 << 19) + 1, (1 << 19) + 2]] * 5_000)
    sums = moments(costs).sum(axis=0, keepdims=True)
    assert discriminability(sums).tolist() == [2.0]


@pytest.mark.parametrize(
    ("costs", "expected"),
    [
        ([[5], [7]], math.inf),
        ([[1, 2], [1, 2]], math.inf),
        ([[2, 2], [2, 2]], 0.0),
        ([[1, 3], [3, 1]], 0.0),
        ([[0, 0], [0, 0]], 0.0),
    ],
)
def test_a_race_may_be_none(costs: list[list[int]], expected: float):
    sums = moments(np.array(costs)).sum(axis=0, keepdims=True)
    assert discriminability(sums).tolist() == [expected]


def test_one_aggregation_measures_all_votes_for_two_messages_a_node():
    rng = np.random.default_rng(0)
    nodes = 50
    costs = rng.integers(0, 1000, (nodes, 4, 3))
    polls = [Aggregator(choices=7, votes=4) for _ in range(nodes)]
    tree = TreeSimulator(polls, rng, parents=random_binary_tree(nodes, rng))
    for node, poll in enumerate(polls):
        tree.say(node, poll.set_input(moments(costs[node])))
    tree.run()
    assert int(tree.packets.sum()) == 2 * (nodes - 1)
    expected = [plain_discriminability(costs[:, vote]) for vote in range(4)]
    assert discriminability(polls[0].totals).tolist() == pytest.approx(expected, rel=1e-9)


def test_costs_whose_squares_are_too_large_want_another_unit():
    assert moments(np.array([[-(1 << 20), 0]])).tolist() == [[1, -(1 << 20), 0, 1 << 40, 0]]
    with pytest.raises(TopicError, match=r"1,048,577 units; .* a unit of more than 1"):
        moments(np.array([[0, -(1 << 20) - 1]]))
    assert moments(np.array([[0, -(1 << 21)]]), unit=2).shape == (1, 5)


@pytest.mark.parametrize("share", SHARES)
def test_voting_keeps_up_easy_votes_and_aggregation_close_ones(share: float):
    chosen = [choose_protocol(difficulty, share) for difficulty in DIFFICULTIES]
    assert chosen == sorted(chosen)
    assert (chosen[0], chosen[-1]) == ("aggregation", "voting")


@pytest.mark.parametrize("difficulty", [0.0, *DIFFICULTIES, math.inf])
def test_a_first_vote_is_held_by_aggregation(difficulty: float):
    assert choose_protocol(difficulty, changes=0) == "aggregation"


def test_voting_pays_once_changes_have_paid_for_its_first_vote():
    dear = first_messages("voting", 0.5) - first_messages("aggregation", 0.5)
    saved = upkeep_messages("aggregation", 0.5, 0.01) - upkeep_messages("voting", 0.5, 0.01)
    enough = dear / saved
    assert choose_protocol(0.5, 0.01, changes=0.9 * enough) == "aggregation"
    assert choose_protocol(0.5, 0.01, changes=1.1 * enough) == "voting"


def test_a_protocol_that_holds_the_vote_already_needs_no_first_one():
    saved = upkeep_messages("aggregation", 0.5, 0.01) - upkeep_messages("voting", 0.5, 0.01)
    enough = first_messages("voting", 0.5) / saved
    chosen = [
        choose_protocol(0.5, 0.01, changes=share * enough, standing="aggregation")
        for share in (0.9, 1.1)
    ]
    assert chosen == ["aggregation", "voting"]


@pytest.mark.parametrize("protocol", ["voting", "aggregation"])
def test_predictions_are_between_those_that_were_measured(protocol: str):
    near = [upkeep_messages(protocol, 0.03, share) for share in (0.01, 0.05, 0.1)]
    assert near == sorted(near)
    low, high = (upkeep_messages(protocol, difficulty, 0.01) for difficulty in (0.05, 0.02))
    assert low <= upkeep_messages(protocol, 0.03, 0.01) <= high
    assert upkeep_messages(protocol, 1e-9, 0.01) == upkeep_messages(protocol, 0.01, 0.01)


@pytest.mark.parametrize(
    ("share", "expected"), [(0.001, 0.37), (0.01, 0.4), (0.1, 0.47), (1.0, 0.78)]
)
def test_voting_pays_above_the_difficulties_that_are_told(share: float, expected: float):
    chosen = [choose_protocol(factor * expected, share) for factor in (0.95, 1.05)]
    assert chosen == ["aggregation", "voting"]


def test_real_nodes_aggregate_by_about_as_many_messages_as_are_foretold():
    rng, nodes, difficulty, share = np.random.default_rng(1), 1000, 0.1, 0.1
    polls = [Aggregator(3) for _ in range(nodes)]
    tree = TreeSimulator(polls, rng, a_round, parents=random_binary_tree(nodes, rng))

    def vote(some: Sequence[int]) -> float:
        before = tree.messages.sum()
        costs = gaussian_costs(len(some), (difficulty, 1.0), rng)
        for node, one in zip(some, costs, strict=True):
            tree.say(node, polls[node].set_input(one))
        tree.run()
        return float(tree.messages.sum() - before) / nodes

    assert vote(range(nodes)) == pytest.approx(first_messages("aggregation", difficulty), rel=0.1)
    upkeep = vote(rng.choice(nodes, round(share * nodes), replace=False).tolist())
    assert upkeep == pytest.approx(upkeep_messages("aggregation", difficulty, share), rel=0.3)


@pytest.mark.no_cover
@pytest.mark.parametrize(("difficulty", "share"), [(0.1, 0.1), (1.0, 0.01)])
def test_votes_take_about_as_many_messages_as_are_foretold_once_much_has_changed(
    difficulty: float, share: float
):
    rng, nodes = np.random.default_rng(1), 1000
    size, turn, first, upkeep = round(share * nodes), round(1 / share), [], []
    for _ in range(8):
        tree = Tree.of(random_binary_tree(nodes, rng))
        vote = VoteRounds(tree, gaussian_costs(nodes, (difficulty, 1.0), rng)).run()
        first.append(vote.messages)
        for change in range(3 * turn):
            some = rng.choice(nodes, size, replace=False).astype(np.int32)
            vote.change(some, gaussian_costs(size, (difficulty, 1.0), rng))
            vote.run()
            upkeep += [vote.messages] if change >= 2 * turn else []
    assert np.mean(first) == pytest.approx(first_messages("voting", difficulty), rel=0.1)
    assert np.mean(upkeep) == pytest.approx(upkeep_messages("voting", difficulty, share), rel=0.3)


@pytest.mark.parametrize("protocol", ["voting", "aggregation"])
def test_easier_votes_and_smaller_changes_never_take_more(protocol: str):
    upkeep = np.array(UPKEEP[protocol])
    assert upkeep.shape == (len(SHARES), len(DIFFICULTIES))
    assert (np.diff(upkeep, axis=1) <= 0).all()
    assert (np.diff(upkeep, axis=0) > 0).all()
    assert (np.diff(FIRST[protocol]) <= 0).all()
    assert len(FIRST[protocol]) == len(DIFFICULTIES)


@pytest.mark.parametrize(
    ("case", "problem"),
    [
        ({"difficulty": math.nan}, "difficulty is 0 or more, not nan"),
        ({"difficulty": -1.0}, "difficulty is 0 or more, not -1"),
        ({"difficulty": 1.0, "changes": -5}, "not -5 times"),
        ({"difficulty": 1.0, "changes": math.nan}, "not nan times"),
        ({"difficulty": 1.0, "standing": "nonsense"}, "voting or aggregation, not by 'nonsense'"),
        ({"difficulty": 1.0, "changed_share": math.nan}, "at most 1, not nan"),
    ],
)
def test_a_choice_that_means_nothing_is_refused(case: dict[str, Any], problem: str):
    with pytest.raises(TopicError, match=problem):
        choose_protocol(**case)


@pytest.mark.parametrize("share", [0, -0.1, 1.01])
def test_a_share_is_a_share(share: float):
    with pytest.raises(TopicError, match=r"more than 0 and at most 1"):
        choose_protocol(1.0, share)
