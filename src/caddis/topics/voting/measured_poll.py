"""Votes that are held by voting or by aggregation, whichever their difficulty asks for.

A vote's difficulty is the paper's discriminability of its two best choices ("Local Building Blocks
for a Scalable Pub/Sub Infrastructure", section 4): d'(1,2) is the squared distance of their means
divided by the sum of their variances; it is small if the race is close. Sums over all nodes are
enough to compute it, so one aggregation of `moments` measures all votes for two messages a node.

Voting is local: an easy vote is kept up by a few messages near each change, but a close one costs
many times what aggregation does. `FIRST` and `UPKEEP` were measured with the real nodes, in rounds,
on complete and random binary trees of 1,000 nodes with the paper's inputs of three choices:
`python bench/voting.py` prints them for each kind of tree, and here is the mean of the two. A first
vote is never cheaper by voting. Its upkeep gets costlier until about as many inputs have changed as
there are nodes, and from then on is cheaper above a d' of about 0.37 if 0.1% of the inputs change,
0.4 if 1%, 0.47 if 10%, 0.78 if all do.

A `MeasuredPoll` begins every vote in an `Aggregator`, whose root hears the exact sums and the
`moments` of all costs. It sends down either the outcome, or that a `Voter` holds the vote from then
on. After that a node's new inputs are only noted in the Aggregator, and not sent.

So the Aggregator's sums of a vote that went over may be old. That does no harm. If the root sends
the vote over again, because parts of the tree have joined, say, that is right whatever the sums
are. If it makes an outcome of old sums, all nodes hear of it and send what they had noted, until
the sums are exact. A node sends each noted input once, so decisions come to an end once inputs and
tree stay as they are, and all nodes of a part of the tree end with the same one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from caddis.arrays import Bools, Floats, Int32s, Int64s
from caddis.errors import TopicError
from caddis.topics.links import Link, Sent
from caddis.topics.voting.aggregation import Aggregator, Outcomes, Recount, Sums, cheapest
from caddis.topics.voting.local import LARGEST, Costs, Poll, checked_costs, vote_numbers
from caddis.topics.voting.voter import Voter, Votes

DIFFICULTIES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 4.0)
SHARES = (0.001, 0.01, 0.1, 1.0)

FIRST = {
    "voting": (11.3, 8.93, 6.39, 4.88, 3.77, 2.8, 2.34, 2.09, 2.01),
    "aggregation": (2.0,) * len(DIFFICULTIES),
}
"""Messages that a first vote takes per node, by difficulty."""

UPKEEP = {
    "voting": (
        (0.245, 0.196, 0.141, 0.0825, 0.0267, 0.0057, 0.00182, 0.000704, 0.000359),
        (1.94, 1.62, 1.26, 0.728, 0.256, 0.0566, 0.0184, 0.00691, 0.00353),
        (8.38, 7.26, 5.76, 3.93, 1.87, 0.525, 0.184, 0.0707, 0.0358),
        (21.5, 19.2, 15.9, 12.7, 8.5, 4.03, 1.97, 0.751, 0.355),
    ),
    "aggregation": tuple((one,) * len(DIFFICULTIES) for one in (0.00933, 0.0826, 0.564, 2.54)),
}
"""Messages that a change of inputs takes per node, by the share that changes and by difficulty."""

LARGEST_COUNTED = math.isqrt(LARGEST)
"""The largest cost, in units, whose square an `Aggregator` still takes."""


def moments(costs: Int64s, unit: int = 1) -> Int64s:
    """A node's input to an aggregation that measures how difficult votes are.

    Each vote becomes a row: 1 for the node itself, its costs, and the squares of these.

    costs: by vote and choice.
    unit: costs are counted in multiples of this, the same at all nodes. It must be so large that
        no cost is more than `LARGEST_COUNTED` units.

    >>> moments(np.array([[3, 5]])).tolist()
    [[1, 3, 5, 9, 25]]
    """
    counted = np.rint(costs / unit).astype(np.int64)
    most = int(np.abs(counted).max(initial=0))
    if most > LARGEST_COUNTED:
        raise TopicError(
            f"a cost is {most:,} units; the largest that can be squared is {LARGEST_COUNTED:,}:"
            f" choose a unit of more than {unit:,}"
        )
    ones = np.ones((len(costs), 1), np.int64)
    return np.concatenate([ones, counted, counted * counted], axis=1)


def discriminability(totals: Int64s) -> Floats:
    """The difficulty d' of each vote: that of the best choice and the one nearest to it.

    It is infinite if there is no other choice, or if all nodes have the same two costs, and 0 if
    another choice is as good as the best.

    totals: the sum of all nodes' `moments`.

    >>> nodes = [moments(np.array([[0, 3]])), moments(np.array([[2, 1]]))]
    >>> discriminability(nodes[0] + nodes[1]).tolist()
    [0.5]
    """
    choices = totals.shape[1] // 2
    return np.array([_nearest(row[0], row[1:], choices) for row in totals.tolist()])


def _nearest(nodes: int, numbers: list[int], choices: int) -> float:
    """The least d' of the best choice and another one.

    Python's whole numbers do not round: floats would blur the variance of large costs.
    """
    sums, squares = numbers[:choices], numbers[choices:]
    variances = [nodes * square - one**2 for one, square in zip(sums, squares, strict=True)]
    best = sums.index(min(sums))
    gaps = [(one - sums[best]) ** 2 for one in sums]
    spreads = [variance + variances[best] for variance in variances]
    others = [choice for choice in range(choices) if choice != best]
    if any(not gaps[choice] for choice in others):
        return 0.0
    return min((gaps[one] / spreads[one] for one in others if spreads[one]), default=math.inf)


def first_messages(protocol: str, difficulty: float) -> float:
    """How many messages per node a first vote is likely to take."""
    return _between(DIFFICULTIES, FIRST[protocol], difficulty)


def upkeep_messages(protocol: str, difficulty: float, changed_share: float) -> float:
    """How many messages per node it is likely to take if a share of the inputs changes at once."""
    if not 0 < changed_share <= 1:
        raise TopicError(f"a share is more than 0 and at most 1, not {changed_share:g}")
    shares = [_between(DIFFICULTIES, row, difficulty) for row in UPKEEP[protocol]]
    return _between(SHARES, shares, changed_share)


def choose_protocol(
    difficulty: float,
    changed_share: float = 1.0,
    *,
    changes: float = math.inf,
    standing: str | None = None,
) -> str:
    """Choose the protocol that takes fewer messages: "voting" or "aggregation".

    The choice rests on measurements with trees of 1,000 nodes and three choices; other sizes and
    numbers of choices move the difficulty above which voting pays.

    difficulty: d' of the vote (see `discriminability`).
    changed_share: the share of the inputs that change at once.
    changes: how many times inputs change after the first vote. By default they change so often
        that the first vote does not count; with 0 there is nothing but the first vote.
    standing: the protocol that holds the vote already, and so needs no first vote.

    >>> choose_protocol(0.01, 0.01), choose_protocol(1.0, 0.01), choose_protocol(1.0, changes=0)
    ('aggregation', 'voting', 'aggregation')
    """
    if not difficulty >= 0:
        raise TopicError(f"a difficulty is 0 or more, not {difficulty:g}")
    if not changes >= 0:
        raise TopicError(f"inputs change 0 times or more often, not {changes:g} times")
    if standing not in (None, *FIRST):
        raise TopicError(f"a vote is held by {' or '.join(FIRST)}, not by {standing!r}")

    def cost(protocol: str) -> float:
        upkeep = upkeep_messages(protocol, difficulty, changed_share)
        if math.isinf(changes):
            return upkeep
        first = 0.0 if protocol == standing else first_messages(protocol, difficulty)
        return first + changes * upkeep

    return min(("aggregation", "voting"), key=cost)


def _between(
    places: tuple[float, ...], figures: tuple[float, ...] | list[float], at: float
) -> float:
    """Interpolate measured figures on logarithmic scales; beyond them the nearest one holds."""
    inside = min(max(at, places[0]), places[-1])
    return float(np.exp(np.interp(np.log(inside), np.log(places), np.log(figures))))


Message = Votes | Sums | Outcomes | Recount


class MeasuredPoll(Poll):
    """A node's part in some votes on the same number of choices.

    A vote goes over to voting as soon as its sums say that this pays, and stays there until the
    root measures it again (`measure`) or the tree changes.

    changed_share: the share of the inputs that is likely to change at once.
    changes: how often that is likely to happen (see `choose_protocol`).
    unit: the unit in which costs are counted when their difficulty is measured (see `moments`).
        The outcome of a vote is exact with any unit.

    >>> root, leaf = (MeasuredPoll(choices=2, changed_share=0.01) for _ in range(2))
    >>> _ = root.neighbour_joined("leaf"), leaf.neighbour_joined("root", up=True)
    >>> _ = root.set_input([0, 10])
    >>> [(_, sums)] = leaf.set_input([1, 12])
    >>> [(_, outcomes), (_, votes)] = root.handle("leaf", sums)
    >>> [(_, answer)] = leaf.handle_all([("root", outcomes), ("root", votes)])
    >>> leaf.protocols, leaf.choice()
    (('voting',), 0)
    """

    def __init__(
        self,
        choices: int,
        votes: int = 1,
        *,
        changed_share: float,
        changes: float = math.inf,
        unit: int = 1,
    ) -> None:
        self._voter = Voter(choices, votes)
        self._aggregator = Aggregator(3 * choices + 1, votes, self._decide)
        self._voting: Bools = np.zeros(votes, np.bool_)
        self._inputs: Int64s = np.zeros((votes, choices), np.int64)
        self._open: Bools = np.zeros(votes, np.bool_)
        self._changed_share, self._changes, self._unit = changed_share, changes, unit
        self._pays(math.inf)

    @property
    def choices(self) -> Int32s:
        """What this node takes for the best choice of each vote now."""
        return np.where(self._voting, self._voter.choices, self._aggregator.choices)

    @property
    def protocols(self) -> tuple[str, ...]:
        """How each vote is held, "voting" or "aggregation", as far as this node has heard."""
        return tuple("voting" if voting else "aggregation" for voting in self._voting.tolist())

    def measure(self, votes: Int32s | None = None) -> Sent:
        """Choose again how all votes, or some, are held. Only the root may ask."""
        return self._followed(self._aggregator.recount(votes))

    def set_input(self, costs: Costs, votes: Int32s | None = None) -> Sent:
        """Say what each choice costs this node: in all votes, or in some."""
        rows = vote_numbers(votes, len(self._open))
        inputs = checked_costs(costs, len(rows), self._inputs.shape[1])
        measured = np.concatenate([inputs, moments(inputs, self._unit)], axis=1)
        first, voting = ~self._open[rows], self._voting[rows]
        self._inputs[rows], self._open[rows] = inputs, True
        self._aggregator.note_input(measured[voting & ~first], rows[voting & ~first])
        sent = self._voter.set_input(inputs[voting], rows[voting])
        # A vote's first input is always sent: until all nodes have given one, no sum is complete.
        summed = first | ~voting
        return sent + self._followed(self._aggregator.set_input(measured[summed], rows[summed]))

    def neighbour_joined(self, link: Link, *, up: bool = False) -> Sent:
        """Add a link that came up; with `up`, it leads to the root."""
        sent = self._voter.neighbour_joined(link, up=up)
        return sent + self._followed(self._aggregator.neighbour_joined(link, up=up))

    def neighbour_left(self, link: Link) -> Sent:
        """Drop a link that went down, with all that came through it."""
        sent = self._voter.neighbour_left(link)
        return sent + self._followed(self._aggregator.neighbour_left(link))

    def handle_all(self, heard: Sequence[tuple[Link, Message]]) -> Sent:
        """Take in all that came at one time, then answer."""
        counted = [(link, message) for link, message in heard if not isinstance(message, Votes)]
        cast = [(link, message) for link, message in heard if isinstance(message, Votes)]
        # A vote that goes over begins with this node's own input, before it hears of others: the
        # less neighbours know of each other at first, the more may change later without a message.
        sent = self._followed(self._aggregator.handle_all(counted)) if counted else []
        return sent + self._voter.handle_all(cast) if cast else sent

    def _followed(self, sent: Sent) -> Sent:
        """Follow what the Aggregator says now: put inputs into votes that went over to voting."""
        before, self._voting = self._voting, self._aggregator.choices == self._inputs.shape[1]
        new = np.flatnonzero(self._voting & ~before & self._open).astype(np.int32)
        return sent + self._voter.set_input(self._inputs[new], new) if len(new) else sent

    def _decide(self, sums: Int64s) -> Int32s:
        """The outcome of each vote, or the number of choices if it is to be held by voting."""
        choices = self._inputs.shape[1]
        outcomes, measured = cheapest(sums[:, :choices]), sums[:, choices:]
        pays = [self._pays(difficulty) for difficulty in discriminability(measured).tolist()]
        alone = measured[:, 0] == 1
        outcomes[np.array(pays, np.bool_) & ~alone] = choices
        return outcomes

    def _pays(self, difficulty: float) -> bool:
        share, changes = self._changed_share, self._changes
        chosen = choose_protocol(difficulty, share, changes=changes, standing="aggregation")
        return chosen == "voting"
