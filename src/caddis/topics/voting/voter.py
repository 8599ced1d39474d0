"""Multiple-choice voting: which of k choices costs all nodes of a tree the least together.

Algorithm 1 of "Local Building Blocks for a Scalable Pub/Sub Infrastructure" (Shraer et al.). Every
node has a cost for each choice. A node sends a neighbour the sum of what it knows from all others,
at first and whenever that neighbour might otherwise judge wrongly. Once nothing is sent any more,
all nodes have chosen the least of the sum over all of them, and among equals the first (Theorem 2).
How far news travels depends on how close the race is, not on the size of the tree.

What the paper leaves open: costs are integers, a flag says whether a link was used at all, and
links are in order and have epochs (see `caddis.topics.links`). One `Voter` casts many votes, and
all of them that have something to say through a link say it in one message.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from caddis.arrays import Bools, Int32s, Int64s
from caddis.errors import TopicError
from caddis.topics.links import Link, Sent
from caddis.topics.voting.kernels import speak
from caddis.topics.voting.local import Costs, LocalVotes, Poll, checked_costs, vote_numbers


class Votes(NamedTuple):
    """What the sender knows of some votes from all but the receiver.

    costs: by vote and choice; the least of each vote is 0.
    """

    votes: Int32s
    costs: Int64s

    @property
    def nbytes(self) -> int:
        return self.votes.nbytes + self.costs.nbytes


class Voter(LocalVotes, Poll):
    """A node's part in some votes on the same number of choices.

    Its choice in a vote that it has not opened is 0.

    >>> west, east = Voter(choices=3), Voter(choices=3)
    >>> _ = west.set_input([10, 0, 11]), east.set_input([10, 10, 0])
    >>> [(_, message)] = west.neighbour_joined("east")
    >>> _ = east.neighbour_joined("west")
    >>> east.choice()
    2
    >>> _ = east.handle("west", message)
    >>> east.choice()
    1
    """

    def __init__(self, choices: int, votes: int = 1) -> None:
        if choices < 1 or votes < 1:
            raise TopicError(f"a voter needs a vote and a choice, not {votes} and {choices}")
        super().__init__(votes, choices)
        self._choices = np.zeros(votes, np.int32)

    @property
    def choices(self) -> Int32s:
        """What this node takes for the best choice of each vote now."""
        return self._choices.copy()

    def set_input(self, costs: Costs, votes: Int32s | None = None) -> Sent:
        """Say what each choice costs this node: in all votes, or in some."""
        rows = vote_numbers(votes, len(self._own))
        return self._open_with(checked_costs(costs, len(rows), self._own.shape[1]), rows)

    def _judge(self, rows: Int32s) -> Bools:
        links = self._links
        return speak(rows, self._own, links.received, links.sent, links.used, self._choices)

    def _message(self, votes: Int32s, numbers: Int64s) -> Votes:
        return Votes(votes, numbers)

    def _numbers(self, _: Link, message: Votes) -> Int64s:
        return message.costs
