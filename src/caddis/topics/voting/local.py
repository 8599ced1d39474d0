"""What all local votes share: a node's inputs, what went through its links, and when it answers.

A node puts whole numbers into votes. It keeps, for each link that is up, the last numbers that went
through it either way, in arrays whose rows are links. Whenever an input, a message or a link
changes, it judges the votes that this touches, and everything that these have to say through a
link leaves in one message.

`Poll` is what holds multiple-choice votes in any way, local or not. `LocalVotes` is what `Voter`
and `SignVoter` have in common; they differ in what they judge by, and in how a message looks.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import ItemsView, Sequence
from numbers import Integral
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from caddis.arrays import Bools, Int32s, Int64s
from caddis.errors import TopicError
from caddis.topics.links import Attentive, Link, Sent

LARGEST = 1 << 40
"""The largest cost: sums over a million nodes then fit into 64 bits."""

Costs = Sequence[int] | Sequence[Sequence[int]] | Int64s
"""What the choices cost a node, by vote and choice; for a single vote, by choice alone."""


class Poll(Attentive, Protocol):
    """A node's part in multiple-choice votes: by local voting, or by plain aggregation."""

    def neighbour_joined(self, link: Link, *, up: bool = False) -> Sent: ...

    def neighbour_left(self, link: Link) -> Sent: ...

    def set_input(self, costs: Costs, votes: Int32s | None = None) -> Sent: ...

    @property
    def choices(self) -> Int32s: ...

    def choice(self, vote: int = 0) -> int:
        """What this node takes for the best choice of one vote now."""
        return int(self.choices[vote])


Rows = TypeVar("Rows", Int64s, Bools)


class ByLink:
    """What went through a node's links: arrays with a row for each link that is up.

    received  [link, vote, ...]   the last numbers that each neighbour sent
    sent      [link, vote, ...]   the last numbers that were sent to each neighbour
    used      [link, vote]        whether anything was sent at all

    A link that goes down takes its row along, and those behind it move up: kernels see all rows.

    >>> by_link = ByLink(5, 3)
    >>> by_link.join("west")
    >>> by_link.received.shape, by_link.used.shape, by_link.row("west")
    ((1, 5, 3), (1, 5), 0)
    """

    def __init__(self, votes: int, *numbers: int) -> None:
        self._rows: dict[Link, int] = {}
        self.received = np.zeros((0, votes, *numbers), np.int64)
        self.sent = np.zeros((0, votes, *numbers), np.int64)
        self.used = np.zeros((0, votes), np.bool_)

    def join(self, link: Link) -> None:
        """Add a row for a link that came up; nothing went through it yet."""
        if link in self._rows:
            raise already_up(link)
        self._rows[link] = len(self._rows)
        self.received = _with_one_more(self.received)
        self.sent = _with_one_more(self.sent)
        self.used = _with_one_more(self.used)

    def leave(self, link: Link) -> None:
        """Drop the row of a link that went down, with all that went through it."""
        gone = self.row(link)
        del self._rows[link]
        self._rows = {name: row - (row > gone) for name, row in self._rows.items()}
        self.received = np.delete(self.received, gone, axis=0)
        self.sent = np.delete(self.sent, gone, axis=0)
        self.used = np.delete(self.used, gone, axis=0)

    def row(self, link: Link) -> int:
        """The row of a link that is up."""
        if link not in self._rows:
            raise not_up(link)
        return self._rows[link]

    def items(self) -> ItemsView[Link, int]:
        """All links that are up, and their rows."""
        return self._rows.items()


class LocalVotes(Attentive):
    """A node's part in votes that are held by a local rule.

    A node says nothing in a vote before it has given its own input there (`set_input`); what it
    hears meanwhile counts from then on.

    numbers: the shape of one input; empty for a single number.
    """

    def __init__(self, votes: int, *numbers: int) -> None:
        self._links = ByLink(votes, *numbers)
        self._own = np.zeros((votes, *numbers), np.int64)
        self._open = np.zeros(votes, np.bool_)
        """Whether this node has given its own input, for each vote."""

    @abstractmethod
    def _judge(self, rows: Int32s) -> Bools:
        """Judge some votes again; returns, by link and row, whether to send what is in `sent`."""

    @abstractmethod
    def _message(self, votes: Int32s, numbers: Int64s) -> Any:
        """The message that carries the numbers of some votes."""

    @abstractmethod
    def _numbers(self, link: Link, message: Any) -> Int64s:
        """The numbers that a neighbour's message carries; raises if it cannot be used."""

    def neighbour_joined(self, link: Link, *, up: bool = False) -> Sent:  # noqa: ARG002
        """Vote with a neighbour from now on. Local voting knows no up and down."""
        self._links.join(link)
        return self._speak(self._all())

    def neighbour_left(self, link: Link) -> Sent:
        """Vote without a neighbour, and without all that came through its link."""
        self._links.leave(link)
        return self._speak(self._all())

    def handle_all(self, heard: Sequence[tuple[Link, Any]]) -> Sent:
        """Take in all that neighbours said at one time, then answer."""
        if not heard:
            return []
        # All are checked before any is taken in, so that a refused message changes nothing.
        rows = [self._links.row(link) for link, _ in heard]
        numbers = [self._numbers(link, message) for link, message in heard]
        for row, number, (_, message) in zip(rows, numbers, heard, strict=True):
            self._links.received[row, message.votes] = number
        if len(heard) == 1:
            return self._speak(heard[0][1].votes)
        return self._speak(np.unique(np.concatenate([message.votes for _, message in heard])))

    def _open_with(self, inputs: Int64s, rows: Int32s) -> Sent:
        self._own[rows] = inputs
        self._open[rows] = True
        return self._speak(rows)

    def _all(self) -> Int32s:
        return np.arange(len(self._own), dtype=np.int32)

    def _speak(self, rows: Int32s) -> Sent:
        rows = rows[self._open[rows]]
        due = self._judge(rows)
        speaking: list[bool] = np.asarray(due.any(axis=1)).tolist()
        sent: Sent = []
        for link, row in self._links.items():
            if speaking[row]:
                some = rows[due[row]]
                sent.append((link, self._message(some, self._links.sent[row, some])))
        return sent


def whole_numbers(given: npt.ArrayLike, what: str) -> Int64s:
    """An array of whole numbers, none of them beyond the largest.

    what: what they are, in the singular, for errors.

    >>> whole_numbers([0.5, 1.0], "cost")
    Traceback (most recent call last):
    caddis.errors.TopicError: costs are whole numbers, not 0.5: choose a smaller unit
    """
    try:
        array = np.asarray(given)
    except ValueError:
        raise TopicError(f"{what}s are rows of the same length") from None
    if array.dtype.kind not in "iu":
        array = np.asarray(given, object)
        _check_whole(array, what)
    most = max(int(array.max()), -int(array.min())) if array.size else 0
    if most > LARGEST:
        raise TopicError(f"a {what} is {most:,}; the largest is {LARGEST:,}: choose a larger unit")
    return array.astype(np.int64)


def checked_costs(costs: Costs, votes: int, choices: int) -> Int64s:
    """Costs as whole numbers, with a row for each vote."""
    given = whole_numbers(costs, "cost")
    if given.shape != (votes, choices) and (given.shape != (choices,) or votes != 1):
        raise TopicError(
            f"{votes} votes on {choices} choices have costs of shape {(votes, choices)},"
            f" not {given.shape}"
        )
    return given.reshape(votes, choices)


def vote_numbers(given: npt.ArrayLike | None, votes: int) -> Int32s:
    """The numbers of the votes that are meant; None stands for all.

    >>> vote_numbers([True, False], 2)
    Traceback (most recent call last):
    caddis.errors.TopicError: votes are named by their numbers, from 0 to 1, not by [True, False]
    """
    if given is None:
        return np.arange(votes, dtype=np.int32)
    numbers = np.asarray(given)
    if not numbers.size:
        return np.zeros(0, np.int32)
    whole = numbers.ndim == 1 and numbers.dtype.kind in "iu"
    if not whole or not 0 <= int(numbers.min()) <= int(numbers.max()) < votes:
        raise TopicError(
            f"votes are named by their numbers, from 0 to {votes - 1}, not by {numbers.tolist()}"
        )
    return numbers.astype(np.int32)


def already_up(link: Link) -> TopicError:
    """The error of a neighbour that joins twice."""
    return TopicError(f"the link to {link!r} is up already: it has to go down before it joins")


def not_up(link: Link) -> TopicError:
    """The error of a neighbour that never joined."""
    return TopicError(f"the link to {link!r} is not up: it has to join first")


def _check_whole(array: npt.NDArray[np.object_], what: str) -> None:
    flat: list[object] = array.ravel().tolist()
    for one in flat:
        if isinstance(one, bool) or not isinstance(one, Integral):
            advice = ": choose a smaller unit" if isinstance(one, float) else ""
            raise TopicError(f"{what}s are whole numbers, not {one!r}{advice}")


def _with_one_more(rows: Rows) -> Rows:
    return np.concatenate([rows, np.zeros((1, *rows.shape[1:]), rows.dtype)])
