"""What a node may put into votes: whole numbers, not too large, for votes that there are.

What went through a node's links in its votes: arrays with a row for each link that is up.

    received  [link, vote, ...]   the last that each neighbour sent
    sent      [link, vote, ...]   the last that was sent to each neighbour
    told      [link, vote]        whether anything was sent at all

A link that goes down takes its row along, and those behind it move up: kernels see all rows.
"""

from __future__ import annotations

from collections.abc import ItemsView
from numbers import Integral
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from caddis.arrays import Bools, Int32s, Int64s
from caddis.errors import TopicError
from caddis.topics.links import Link

LARGEST = 1 << 40
"""The largest cost: sums over a million nodes then fit into 64 bits."""


def whole_numbers(given: npt.ArrayLike, what: str) -> Int64s:
    """An array of whole numbers, none of them beyond the largest.

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


def vote_numbers(given: npt.ArrayLike | None, votes: int) -> Int32s:
    """The numbers of the votes that are meant; by default all.

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
        told = numbers.tolist()
        raise TopicError(f"votes are named by their numbers, from 0 to {votes - 1}, not by {told}")
    return numbers.astype(np.int32)


def _check_whole(array: npt.NDArray[np.object_], what: str) -> None:
    flat: list[object] = array.ravel().tolist()
    for one in flat:
        if isinstance(one, bool) or not isinstance(one, Integral):
            advice = ": choose a smaller unit" if isinstance(one, float) else ""
            raise TopicError(f"{what}s are whole numbers, not {one!r}{advice}")


Rows = TypeVar("Rows", Int64s, Bools)


class ByLink:
    """What went through links, for so many votes, each with so many numbers.

    >>> said = ByLink(5, 3)
    >>> said.join("west")
    >>> said.received.shape, said.told.shape, said.row("west")
    ((1, 5, 3), (1, 5), 0)
    """

    def __init__(self, votes: int, *numbers: int) -> None:
        self._rows: dict[Link, int] = {}
        self.received = np.zeros((0, votes, *numbers), np.int64)
        self.sent = np.zeros((0, votes, *numbers), np.int64)
        self.told = np.zeros((0, votes), np.bool_)

    def join(self, link: Link) -> None:
        """A link came up: nothing went through it yet."""
        if link in self._rows:
            raise already_up(link)
        self._rows[link] = len(self._rows)
        self.received = _with_one_more(self.received)
        self.sent = _with_one_more(self.sent)
        self.told = _with_one_more(self.told)

    def leave(self, link: Link) -> None:
        """A link went down, with all that went through it."""
        gone = self.row(link)
        del self._rows[link]
        self._rows = {name: row - (row > gone) for name, row in self._rows.items()}
        self.received = np.delete(self.received, gone, axis=0)
        self.sent = np.delete(self.sent, gone, axis=0)
        self.told = np.delete(self.told, gone, axis=0)

    def row(self, link: Link) -> int:
        """Where a link's numbers are."""
        if link not in self._rows:
            raise not_up(link)
        return self._rows[link]

    def items(self) -> ItemsView[Link, int]:
        """All links that are up, and their rows."""
        return self._rows.items()


def already_up(link: Link) -> TopicError:
    """What a node says of a neighbour that joins twice."""
    return TopicError(f"the link to {link!r} is up already: it has to go down before it joins")


def not_up(link: Link) -> TopicError:
    """What a node says of a neighbour that never joined."""
    return TopicError(f"the link to {link!r} is not up: it has to join first")


def _with_one_more(rows: Rows) -> Rows:
    return np.concatenate([rows, np.zeros((1, *rows.shape[1:]), rows.dtype)])
