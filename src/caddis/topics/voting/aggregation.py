"""Plain aggregation: sums go up to the tree's root, outcomes come down.

This is the other way to hold multiple-choice votes (see `Poll`). A node tells its parent what the
choices cost it and all nodes below it, once all its children have told it theirs. The root knows
the sum over all nodes; the least in it, among equals the first, goes down as the outcome. That
takes 2 messages a node for a first vote, however close the race. After a change one message goes up
from each node on the way to the root, and some come down only if the outcome is another. A vote has
no outcome before all nodes have opened it (`set_input`), as a sum that lacks some nodes means
nothing.

A node without a link that leads up is the root of its part of the tree. While the tree is changing,
a node may see two such links; then the one that came up last counts.

A root may decide by something else than the least sum (`decide`). Where nodes need not report every
change (`note_input`), the root can have all of them send their sums again (`recount`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from caddis.arrays import Bools, Int32s, Int64s
from caddis.errors import TopicError
from caddis.topics.links import Link, Sent
from caddis.topics.voting.local import (
    Costs,
    Poll,
    already_up,
    checked_costs,
    not_up,
    vote_numbers,
)

UNKNOWN = -1
"""In place of a choice: the vote has no outcome yet."""


class Sums(NamedTuple):
    """What the choices of some votes cost the sender and all below it; goes up.

    costs: by vote and choice.
    """

    votes: Int32s
    costs: Int64s

    @property
    def nbytes(self) -> int:
        return self.votes.nbytes + self.costs.nbytes


class Outcomes(NamedTuple):
    """The best choice of some votes; goes down."""

    votes: Int32s
    choices: Int32s

    @property
    def nbytes(self) -> int:
        return self.votes.nbytes + self.choices.nbytes


class Recount(NamedTuple):
    """Asks all nodes to send their sums of some votes again, changed or not; goes down."""

    votes: Int32s

    @property
    def nbytes(self) -> int:
        return self.votes.nbytes


def cheapest(sums: Int64s) -> Int32s:
    """The choice of each vote that costs the least, among equals the first."""
    best: Int32s = sums.argmin(axis=1).astype(np.int32)
    return best


class _End:
    """What last went through one link, by vote."""

    def __init__(self, votes: int, choices: int) -> None:
        self.sums = np.zeros((votes, choices), np.int64)
        self.summed = np.zeros(votes, np.bool_)
        self.outcomes = np.full(votes, UNKNOWN, np.int32)


class Aggregator(Poll):
    """A node's part in some votes on the same number of choices.

    decide: turns the sums of complete votes, by vote and choice, into a number from 0 for each of
        them, which all nodes are told. The root calls it.

    >>> root, leaf = Aggregator(choices=3), Aggregator(choices=3)
    >>> _ = root.neighbour_joined("leaf"), leaf.neighbour_joined("root", up=True)
    >>> root.set_input([10, 0, 11])
    []
    >>> [(_, sums)] = leaf.set_input([0, 15, 0])
    >>> [(_, outcomes)] = root.handle("leaf", sums)
    >>> root.totals.tolist(), outcomes.choices.tolist()
    ([[10, 15, 11]], [0])
    """

    def __init__(
        self, choices: int, votes: int = 1, decide: Callable[[Int64s], Int32s] = cheapest
    ) -> None:
        if choices < 1 or votes < 1:
            raise TopicError(f"an aggregator needs a vote and a choice, not {votes} and {choices}")
        self._decide = decide
        self._above: dict[Link, _End] = {}
        self._below: dict[Link, _End] = {}
        self._own = np.zeros((votes, choices), np.int64)
        self._open = np.zeros(votes, np.bool_)
        """Whether this node has given its own costs, for each vote."""
        self._choices = np.zeros(votes, np.int32)

    @property
    def choices(self) -> Int32s:
        """The last outcome of each vote that this node heard of; 0 before the first."""
        return self._choices.copy()

    @property
    def totals(self) -> Int64s:
        """What each choice of each vote costs this node and all below it, as far as they told."""
        return self._sums(slice(None))

    @property
    def complete(self) -> Bools:
        """Whether this node and all below it have told, for each vote; at the root, all nodes."""
        return self._are_complete(slice(None))

    def set_input(self, costs: Costs, votes: Int32s | None = None) -> Sent:
        """Say what each choice costs this node: in all votes, or in some."""
        return self._speak(self.note_input(costs, votes))

    def note_input(self, costs: Costs, votes: Int32s | None = None) -> Int32s:
        """Let an input count in whatever is sent next, but send nothing now; returns its votes."""
        rows = vote_numbers(votes, len(self._own))
        self._own[rows] = checked_costs(costs, len(rows), self._own.shape[1])
        self._open[rows] = True
        return rows

    def recount(self, votes: Int32s | None = None) -> Sent:
        """Have all nodes send their sums again, as they are by now. Only the root may ask."""
        if self._above:
            link = next(reversed(self._above))
            raise TopicError(
                f"only the root can have votes counted again; {link!r} is above this node"
            )
        rows = vote_numbers(votes, len(self._own))
        return self._ask_again(rows) + self._speak(rows)

    def neighbour_joined(self, link: Link, *, up: bool = False) -> Sent:
        """Add a link that came up; with `up`, it leads to the root."""
        if link in self._above or link in self._below:
            raise already_up(link)
        (self._above if up else self._below)[link] = _End(*self._own.shape)
        return self._speak(self._all())

    def neighbour_left(self, link: Link) -> Sent:
        """Drop a link that went down, with all that came through it."""
        if link not in self._above and link not in self._below:
            raise not_up(link)
        (self._above if link in self._above else self._below).pop(link)
        # Without a child that had not told yet a sum may now be complete, and without a parent this
        # node is a root.
        return self._speak(self._all())

    def handle_all(self, heard: Sequence[tuple[Link, Sums | Outcomes | Recount]]) -> Sent:
        """Take in all sums, outcomes and recounts that came at one time, then answer."""
        if not heard:
            return []
        ends = [self._end(link, message) for link, message in heard]
        sent: Sent = []
        for end, (_, message) in zip(ends, heard, strict=True):
            if isinstance(message, Sums):
                end.sums[message.votes] = message.costs
                end.summed[message.votes] = True
            elif isinstance(message, Outcomes):
                end.outcomes[message.votes] = message.choices
            else:
                # Forget what was sent up, so that the same sums are sent again.
                end.summed[message.votes] = False
                sent += self._ask_again(message.votes)
        rows = np.unique(np.concatenate([message.votes for _, message in heard]))
        return sent + self._speak(rows)

    def _end(self, link: Link, message: Sums | Outcomes | Recount) -> _End:
        """The end of the link where a message counts: sums come from below, all else from above."""
        if link not in self._above and link not in self._below:
            raise not_up(link)
        ends, other = self._above, "below"
        if isinstance(message, Sums):
            ends, other = self._below, "above"
        if link not in ends:
            kind = type(message).__name__
            raise TopicError(f"{kind} came from {link!r}, which is {other}: let it join again")
        return ends[link]

    def _all(self) -> Int32s:
        return np.arange(len(self._own), dtype=np.int32)

    def _sums(self, rows: Int32s | slice) -> Int64s:
        sums = self._own[rows].copy()
        for end in self._below.values():
            sums += end.sums[rows]
        return sums

    def _are_complete(self, rows: Int32s | slice) -> Bools:
        complete = self._open[rows].copy()
        for end in self._below.values():
            complete &= end.summed[rows]
        return complete

    def _speak(self, rows: Int32s) -> Sent:
        sums, complete = self._sums(rows), self._are_complete(rows)
        if not self._above:
            # A root decides only on complete sums; UNKNOWN leaves the last outcome as it is.
            outcomes = np.full(len(rows), UNKNOWN, np.int32)
            outcomes[complete] = self._decide(sums[complete])
            return self._announce(rows, outcomes)
        link, end = next(reversed(self._above.items()))
        sent = self._announce(rows, end.outcomes[rows])
        # Sums go up when they are complete for the first time, and then only when they change.
        new = complete & ~(end.summed[rows] & (end.sums[rows] == sums).all(axis=1))
        if new.any():
            some = rows[new]
            end.sums[some], end.summed[some] = sums[new], True
            sent.append((link, Sums(some, sums[new])))
        return sent

    def _announce(self, rows: Int32s, outcomes: Int32s) -> Sent:
        """Adopt outcomes, and tell all below who were told something else, or nothing."""
        known = outcomes != UNKNOWN
        self._choices[rows[known]] = outcomes[known]
        sent: Sent = []
        for link, end in self._below.items():
            new = known & (end.outcomes[rows] != outcomes)
            if new.any():
                end.outcomes[rows[new]] = outcomes[new]
                sent.append((link, Outcomes(rows[new], outcomes[new])))
        return sent

    def _ask_again(self, rows: Int32s) -> Sent:
        for end in self._below.values():
            end.summed[rows] = False
        return [(link, Recount(rows)) for link in self._below]
