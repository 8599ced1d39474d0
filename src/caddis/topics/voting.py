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
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from caddis.arrays import Bools, Int32s, Int64s
from caddis.errors import TopicError
from caddis.topics.links import Link, Sent
from caddis.topics.vote_kernels import speak

LARGEST = 1 << 40
"""The largest cost: sums over a million nodes then fit into 64 bits."""


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


Grown = TypeVar("Grown", Int64s, Bools)
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
        self._links: dict[Link, int] = {}
        self._own = np.zeros((votes, choices), np.int64)
        self._open = np.zeros(votes, np.bool_)
        """By vote: whether this node has said what it costs it."""
        self._received = np.zeros((0, votes, choices), np.int64)
        self._sent = np.zeros((0, votes, choices), np.int64)
        self._told = np.zeros((0, votes), np.bool_)
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
        rows = np.asarray(range(len(self._own)) if votes is None else votes, np.int32)
        self._own[rows] = checked_costs(costs, len(rows), self._own.shape[1])
        self._open[rows] = True
        return self._speak(rows)

    def neighbour_joined(self, link: Link, *, up: bool = False) -> Sent:  # noqa: ARG002
        """A link came up. Voting knows no up and down."""
        self._links[link] = len(self._links)
        self._received = _with_one_more(self._received)
        self._sent = _with_one_more(self._sent)
        self._told = _with_one_more(self._told)
        return self._speak(self._all_open())

    def neighbour_left(self, link: Link) -> Sent:
        """A link went down, with all that came through it."""
        gone = self._links.pop(link)
        self._links = {name: row - (row > gone) for name, row in self._links.items()}
        self._received = np.delete(self._received, gone, axis=0)
        self._sent = np.delete(self._sent, gone, axis=0)
        self._told = np.delete(self._told, gone, axis=0)
        return self._speak(self._all_open())

    def handle(self, link: Link, message: Votes) -> Sent:
        """A neighbour knows something new."""
        return self.handle_all([(link, message)])

    def handle_all(self, heard: Sequence[tuple[Link, Votes]]) -> Sent:
        """Some neighbours know something new: take it all in, then answer."""
        for link, message in heard:
            self._received[self._links[link], message.votes] = message.costs
        votes = heard[0][1].votes if len(heard) == 1 else together(heard)
        return self._speak(votes[self._open[votes]])

    def _all_open(self) -> Int32s:
        return np.flatnonzero(self._open).astype(np.int32)

    def _speak(self, rows: Int32s) -> Sent:
        due = speak(rows, self._own, self._received, self._sent, self._told, self._choices)
        sent: Sent = []
        for link, row in self._links.items():
            if due[row].any():
                some = rows[due[row]]
                sent.append((link, Votes(some, self._sent[row, some])))
        return sent


def checked_costs(costs: Costs, votes: int, choices: int) -> Int64s:
    """Costs as whole numbers, a row a vote.

    >>> checked_costs([0.5, 1.0], 1, 2)
    Traceback (most recent call last):
    caddis.errors.TopicError: costs are whole numbers, not float64: choose a smaller unit
    """
    given = np.asarray(costs)
    if given.dtype.kind not in "iu" and given.size:
        raise TopicError(f"costs are whole numbers, not {given.dtype}: choose a smaller unit")
    if given.shape != (votes, choices) and (given.shape != (choices,) or votes != 1):
        raise TopicError(
            f"{votes} votes on {choices} choices have costs of shape {(votes, choices)},"
            f" not {given.shape}"
        )
    most = max(int(given.max()), -int(given.min())) if given.size else 0
    if most > LARGEST:
        raise TopicError(f"a cost is {most:,}; the largest is {LARGEST:,}")
    return given.reshape(votes, choices).astype(np.int64)


def together(heard: Sequence[tuple[Link, Votes]]) -> Int32s:
    """The votes that some messages are about, each once."""
    return np.unique(np.concatenate([message.votes for _, message in heard]))


def _with_one_more(rows: Grown) -> Grown:
    return np.concatenate([rows, np.zeros((1, *rows.shape[1:]), rows.dtype)])
