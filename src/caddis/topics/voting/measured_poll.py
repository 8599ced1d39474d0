"""How close a race is, and which protocol holds it with fewer messages.

A vote's difficulty is the paper's discriminability of its two best choices ("Local Building Blocks
for a Scalable Pub/Sub Infrastructure", section 4): d'(1,2) is the square of how far their means are
apart, by the sum of their variances; it is small if the race is close. Sums over all nodes are
enough for it, so that one aggregation, of `moments`, measures the difficulty of all votes for two
messages a node.

Voting is local: an easy vote is kept up by a few messages near each change, but a close one costs
many times what aggregation does. `FIRST` and `UPKEEP` were measured with the real nodes, in rounds,
on complete and random binary trees of 1,000 nodes with the paper's inputs of three choices:
`python bench/voting.py` prints them for each kind of tree, and here is the mean of the two. A first
vote is never cheaper by voting. Its upkeep gets dearer until about as many inputs have changed as
there are nodes, and from then on is cheaper above a d' of about 0.37 if 0.1% of the inputs change,
0.4 if 1%, 0.47 if 10%, 0.78 if all do.

Votes that are held by voting or by aggregation, whichever their difficulty asks for.

Every vote begins in an `Aggregator`, whose root hears the exact sums and the `moments` of all
costs. What it sends down is either the outcome, or that the vote is held by a `Voter` from then on.
A node's new inputs there are no longer told to the Aggregator, but noted in it.

So the Aggregator's sums of a vote that went over may be old. That does no harm. A root that sends
the vote over again, as parts of the tree join, say, is right whatever the sums are. One that makes
an outcome of them is heard by all nodes, which then tell what they noted, until the sums are exact.
A node tells each thing that it noted once, so decisions come to an end once inputs and tree do; and
all nodes of a part of the tree end with the same one, however the parts it grew from had decided.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from caddis.arrays import Bools, Floats, Int32s, Int64s
from caddis.errors import TopicError
from caddis.topics.links import Link, Sent
from caddis.topics.voting.aggregation import Aggregator, Outcomes, Recount, Sums, cheapest
from caddis.topics.voting.inputs import LARGEST, vote_numbers
from caddis.topics.voting.voter import Costs, Voter, Votes, checked_costs

DIFFICULTIES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 4.0)
SHARES = (0.001, 0.01, 0.1, 1.0)

FIRST = {
    "voting": (11.3, 8.93, 6.39, 4.88, 3.77, 2.8, 2.34, 2.09, 2.01),
    "aggregation": (2.0,) * len(DIFFICULTIES),
}
"""Messages a node of a first vote, by difficulty."""

UPKEEP = {
    "voting": (
        (0.245, 0.196, 0.141, 0.0825, 0.0267, 0.0057, 0.00182, 0.000704, 0.000359),
        (1.94, 1.62, 1.26, 0.728, 0.256, 0.0566, 0.0184, 0.00691, 0.00353),
        (8.38, 7.26, 5.76, 3.93, 1.87, 0.525, 0.184, 0.0707, 0.0358),
        (21.5, 19.2, 15.9, 12.7, 8.5, 4.03, 1.97, 0.751, 0.355),
    ),
    "aggregation": tuple((one,) * len(DIFFICULTIES) for one in (0.00933, 0.0826, 0.564, 2.54)),
}
"""Messages a node of a change of some inputs, by the share that changes and by difficulty."""

LARGEST_COUNTED = math.isqrt(LARGEST)


def moments(costs: Int64s, unit: int = 1) -> Int64s:
    """A node's input, by vote, for an aggregation that measures how difficult they are.

    costs: by vote and choice. unit: what a cost is counted in, the same at all nodes; large enough
    that the square of a cost, in it, is one that an `Aggregator` takes.

    >>> moments(np.array([[3, 5]])).tolist()
    [[1, 3, 5, 9, 25]]
    """
    counted = np.rint(costs / unit).astype(np.int64)
    most = int(np.abs(counted).max(initial=0))
    if most > LARGEST_COUNTED:
        raise TopicError(
            f"a cost is {most:,} units; the largest to be squared is {LARGEST_COUNTED:,}:"
            f" choose a unit of more than {unit:,}"
        )
    ones = np.ones((len(costs), 1), np.int64)
    return np.concatenate([ones, counted, counted * counted], axis=1)


def discriminability(totals: Int64s) -> Floats:
    """By vote, from the sum of all nodes' `moments`: d' of the best choice and the nearest to it.

    Infinite if there is no other choice, or if all nodes see the same two costs; 0 if another one
    is as good.

    >>> nodes = [moments(np.array([[0, 3]])), moments(np.array([[2, 1]]))]
    >>> discriminability(nodes[0] + nodes[1]).tolist()
    [0.5]
    """
    choices = totals.shape[1] // 2
    return np.array([_nearest(row[0], row[1:], choices) for row in totals.tolist()])


def _nearest(nodes: int, numbers: list[int], choices: int) -> float:
    """The least d' of the best choice and another, from whole numbers, which do not round."""
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
    """How many messages a node a first vote is likely to take."""
    return _between(DIFFICULTIES, FIRST[protocol], difficulty)


def upkeep_messages(protocol: str, difficulty: float, changed_share: float) -> float:
    """How many messages a node it is likely to take if a share of the inputs changes at once."""
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
    """Which protocol takes fewer messages: "voting" or "aggregation".

    It goes by what was measured on trees of 1,000 nodes and three choices; other sizes and numbers
    of choices move the difficulty from which on voting pays.

    changed_share: how many of the inputs change at once.
    changes: how often they do while the choice stands, after a first vote; by default so often that
        the first vote does not count. 0: there is nothing but a first vote.
    standing: the protocol that holds the vote already, which needs no first one.

    >>> choose_protocol(0.01, 0.01), choose_protocol(1.0, 0.01), choose_protocol(1.0, changes=0)
    ('aggregation', 'voting', 'aggregation')
    """
    if not difficulty >= 0:
        raise TopicError(f"a difficulty is 0 or more, not {difficulty:g}")
    if not changes >= 0:
        raise TopicError(f"inputs change no time or more often, not {changes:g} times")
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
    """Between measured figures, on logarithmic scales; beyond them, the nearest."""
    inside = min(max(at, places[0]), places[-1])
    return float(np.exp(np.interp(np.log(inside), np.log(places), np.log(figures))))


Message = Votes | Sums | Outcomes | Recount


class MeasuredPoll:
    """A node's part in some votes on the same number of choices.

    A vote goes over to voting as soon as its sums say that this pays, and stays there until the
    root measures it again (`measure`) or the tree changes.

    changed_share, changes: how many of the inputs are likely to change at once, and how often
        (see `choose_protocol`).
    unit: what costs are counted in when their difficulty is measured (see `moments`); the choice
        is exact with any.

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
        """By vote: what this node takes for the best now."""
        return np.where(self._voting, self._voter.choices, self._aggregator.choices)

    def choice(self, vote: int = 0) -> int:
        """What this node takes for the best now."""
        return int(self.choices[vote])

    @property
    def protocols(self) -> tuple[str, ...]:
        """By vote: "voting" or "aggregation", as far as this node heard."""
        return tuple("voting" if voting else "aggregation" for voting in self._voting.tolist())

    def measure(self, votes: Int32s | None = None) -> Sent:
        """Choose anew how all votes, or some, are held; the root's to ask."""
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
        told = first | ~voting
        return sent + self._followed(self._aggregator.set_input(measured[told], rows[told]))

    def neighbour_joined(self, link: Link, *, up: bool = False) -> Sent:
        """A link came up: with `up`, one that leads to the root."""
        sent = self._voter.neighbour_joined(link, up=up)
        return sent + self._followed(self._aggregator.neighbour_joined(link, up=up))

    def neighbour_left(self, link: Link) -> Sent:
        """A link went down, with all that came through it."""
        sent = self._voter.neighbour_left(link)
        return sent + self._followed(self._aggregator.neighbour_left(link))

    def handle(self, link: Link, message: Message) -> Sent:
        """A neighbour had something to say."""
        return self.handle_all([(link, message)])

    def handle_all(self, heard: Sequence[tuple[Link, Message]]) -> Sent:
        """Some neighbours had something to say: take it all in, then answer.

        A vote that goes over begins with this node's own input, before it hears of others': the
        less neighbours know of each other at first, the more may change later without a word.
        """
        counted = [(link, message) for link, message in heard if not isinstance(message, Votes)]
        cast = [(link, message) for link, message in heard if isinstance(message, Votes)]
        sent = self._followed(self._aggregator.handle_all(counted)) if counted else []
        return sent + self._voter.handle_all(cast) if cast else sent

    def _followed(self, sent: Sent) -> Sent:
        """Go by what the Aggregator says now: put inputs into votes that went over to voting."""
        before, self._voting = self._voting, self._aggregator.choices == self._inputs.shape[1]
        new = np.flatnonzero(self._voting & ~before & self._open).astype(np.int32)
        return sent + self._voter.set_input(self._inputs[new], new) if len(new) else sent

    def _decide(self, sums: Int64s) -> Int32s:
        """By vote: its outcome, or the number of choices if it is to be held by voting."""
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
