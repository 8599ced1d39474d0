"""What went through a node's links in its votes: arrays with a row for each link that is up.

    received  [link, vote, ...]   the last that each neighbour sent
    sent      [link, vote, ...]   the last that was sent to each neighbour
    told      [link, vote]        whether anything was sent at all

A link that goes down takes its row along, and those behind it move up: kernels see all rows.
"""

from __future__ import annotations

from collections.abc import ItemsView
from typing import TypeVar

import numpy as np

from caddis.arrays import Bools, Int64s
from caddis.errors import TopicError
from caddis.topics.links import Link

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
