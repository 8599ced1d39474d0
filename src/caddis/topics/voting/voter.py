"""Multiple-choice voting: which of k choices costs all nodes of a tree the least together.

Algorithm 1 of "Local Building Blocks for a Scalable Pub/Sub Infrastructure" (Shraer et al.). Every
node has a cost for each choice. A node sends a neighbour the sum of what it knows from elsewhere,
at first and whenever that neighbour might otherwise judge wrongly; once nothing is sent any more,
all nodes have chosen the least of the sum over all of them, of equals the first (Theorem 2). How
far news travels depends on how close the race is, not on the size of the tree.

What the paper leaves open: costs are integers, a flag says whether a link was used at all, and
links are in order and have epochs (see `links`). One `Voter` casts many votes, and all of them that
have something to say through a link say it in one message.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from caddis.arrays import Int32s, Int64s
from caddis.errors import TopicError
from caddis.topics.links import Link, Sent
from caddis.topics.voting.inputs import ByLink, vote_numbers, whole_numbers
from caddis.topics.voting.kernels import speak


class Votes(NamedTuple):
    """What the sender knows from elsewhere, of some votes.

    costs: by vote and choice; the least of each vote is 0.
    """

    votes: Int32s
    costs: Int64s

    @property
    def nbytes(self) -> int:
        return self.votes.nbytes + self.costs.nbytes


class Poll(Protocol):
    """A node's part in votes: by local voting, or by plain aggregation."""

    def neighbour_joined(self, link: Link, *, up: bool = False) -> Sent: ...

    def neighbour_left(self, link: Link) -> Sent: ...

    def handle(self, link: Link, message: Any) -> Sent: ...

    def set_input(self, costs: Costs, votes: Int32s | None = None) -> Sent: ...

    def choice(self, vote: int = 0) -> int: ...

    @property
    def choices(self) -> Int32s: ...


Costs = Sequence[int] | Sequence[Sequence[int]] | Int64s


class Voter:
    """A node's part in some votes on the same number of choices.

    A node says nothing in a vote that it has not opened (`set_input`), and its choice there is 0;
    what it is told meanwhile counts from then on.

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
        self._said = ByLink(votes, choices)
        self._own = np.zeros((votes, choices), np.int64)
        self._open = np.zeros(votes, np.bool_)
        """By vote: whether this node has said what it costs it."""
        self._choices = np.zeros(votes, np.int32)

    @property
    def choices(self) -> Int32s:
        """By vote: what this node takes for the best now."""
        return self._choices.copy()

    def choice(self, vote: int = 0) -> int:
        """What this node takes for the best now."""
        return int(self._choices[vote])

    def set_input(self, costs: Costs, votes: Int32s | None = None) -> Sent:
        """Say what each choice costs this node: in all votes, or in some."""
        rows = vote_numbers(votes, len(self._own))
        self._own[rows] = checked_costs(costs, len(rows), self._own.shape[1])
        self._open[rows] = True
        return self._speak(rows)

    def neighbour_joined(self, link: Link, *, up: bool = False) -> Sent:  # noqa: ARG002
        """A link came up. Voting knows no up and down."""
        self._said.join(link)
        return self._speak(self._all_open())

    def neighbour_left(self, link: Link) -> Sent:
        """A link went down, with all that came through it."""
        self._said.leave(link)
        return self._speak(self._all_open())

    def handle(self, link: Link, message: Votes) -> Sent:
        """A neighbour knows something new."""
        return self.handle_all([(link, message)])

    def handle_all(self, heard: Sequence[tuple[Link, Votes]]) -> Sent:
        """Some neighbours know something new: take it all in, then answer."""
        if not heard:
            return []
        links = [self._said.row(link) for link, _ in heard]
        for row, (_, message) in zip(links, heard, strict=True):
            self._said.received[row, message.votes] = message.costs
        votes = heard[0][1].votes if len(heard) == 1 else together(heard)
        return self._speak(votes[self._open[votes]])

    def _all_open(self) -> Int32s:
        return np.flatnonzero(self._open).astype(np.int32)

    def _speak(self, rows: Int32s) -> Sent:
        said = self._said
        due = speak(rows, self._own, said.received, said.sent, said.told, self._choices)
        sent: Sent = []
        for link, row in said.items():
            if due[row].any():
                some = rows[due[row]]
                sent.append((link, Votes(some, said.sent[row, some])))
        return sent


def checked_costs(costs: Costs, votes: int, choices: int) -> Int64s:
    """Costs as whole numbers, a row a vote."""
    given = whole_numbers(costs, "cost")
    if given.shape != (votes, choices) and (given.shape != (choices,) or votes != 1):
        raise TopicError(
            f"{votes} votes on {choices} choices have costs of shape {(votes, choices)},"
            f" not {given.shape}"
        )
    return given.reshape(votes, choices)


def together(heard: Sequence[tuple[Link, Votes]]) -> Int32s:
    """The votes that some messages are about, each once."""
    return np.unique(np.concatenate([message.votes for _, message in heard]))
