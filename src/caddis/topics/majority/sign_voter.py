"""When a node must speak: the rule of majority voting, and one node's votes under it.

    own       values[vote]         what the node says for itself
    received  values[link, vote]   the last that each neighbour sent
    sent      values[link, vote]   the last that was sent to each neighbour
    told      [link, vote]         whether anything was sent at all

All values are integers, so that both ends of a link agree on what it holds to the last unit.

Majority voting: whether a sum over all nodes of a tree reaches zero, or a support a threshold.

The local protocol of Wolff and Schuster ("Association rule mining in peer-to-peer systems", ICDM
2003). Every node has a whole number for each vote. A node sends a neighbour the sum of what it
knows from elsewhere, at first and whenever that neighbour might otherwise judge wrongly; once
nothing is sent any more, all nodes have the sign of the sum over all of them. One `SignVoter` casts
many votes, and all of them that have something to say through a link say it in one message.

A majority with threshold p/q is the sign of the sum of `q * bit - p`. A choice among k is that of
k(k-1)/2 differences of costs, the baseline that multiple-choice voting (see `voting`) improves on.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import ceil
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from caddis.arrays import Bools, Int32s, Int64s
from caddis.errors import TopicError
from caddis.topics.links import Link, Sent
from caddis.topics.voting import LARGEST, ByLink, vote_numbers, whole_numbers


@njit(cache=True, inline="always")
def must_tell(total: int, sent: int, received: int) -> bool:
    """Whether a neighbour may judge otherwise than a node does.

    total: the sum of all that the node knows. Sent and received together are what the neighbour
    surely knows; it must hear if the total is nearer to the other sign than that.
    """
    shared = sent + received
    if shared >= 0:
        return total < shared
    return total > shared


@njit(cache=True)
def speak(
    rows: Int32s, own: Int64s, received: Int64s, sent: Int64s, told: Bools, signs: Bools
) -> Bools:
    """Judge some votes anew; by link and row, what has to be sent, which `sent` then holds."""
    links = len(received)
    due = np.zeros((links, len(rows)), np.bool_)
    for place in range(len(rows)):
        vote = rows[place]
        total = own[vote]
        for link in range(links):
            total += received[link, vote]
        signs[vote] = total >= 0
        for link in range(links):
            heard = received[link, vote]
            if told[link, vote] and not must_tell(total, sent[link, vote], heard):
                continue
            sent[link, vote] = total - heard
            told[link, vote] = due[link, place] = True
    return due


FLOATS = float, np.floating
Threshold = Fraction | float | np.floating[Any] | str


class Signs(NamedTuple):
    """What the sender knows from elsewhere, of some votes.

    of: how many votes there are; a transport names those that are meant by their numbers, or by a
    bit for each of all.
    """

    votes: Int32s
    values: Int64s
    of: int

    @property
    def nbytes(self) -> int:
        return self.values.nbytes + min(self.votes.nbytes, -(-self.of // 8))


class SignVoter:
    """A node's part in votes on whether sums over all nodes are at least 0.

    >>> west, east = SignVoter(), SignVoter()
    >>> _ = west.set_input([-5]), east.set_input([5])
    >>> [(_, message)] = west.neighbour_joined("east")
    >>> _ = east.neighbour_joined("west")
    >>> west.sign(), message.values.tolist()
    (False, [-5])
    >>> east.handle("west", message)
    []
    >>> east.sign()
    True
    """

    def __init__(self, votes: int = 1) -> None:
        if votes < 1:
            raise TopicError(f"a voter needs at least one vote, not {votes}")
        self._said = ByLink(votes)
        self._own = np.zeros(votes, np.int64)
        self._open = np.zeros(votes, np.bool_)
        """By vote: whether this node has given its own value."""
        self._signs = np.zeros(votes, np.bool_)

    @property
    def signs(self) -> Bools:
        """By vote: whether the sum is at least 0, as far as this node knows.

        False as long as the node has not given a value of its own.
        """
        return self._signs.copy()

    def sign(self, vote: int = 0) -> bool:
        """Whether the sum is at least 0, as far as this node knows."""
        return bool(self._signs[vote])

    def set_input(self, values: Sequence[int] | Int64s, votes: Int32s | None = None) -> Sent:
        """Give this node's own values: for all votes, or for some."""
        rows = vote_numbers(votes, len(self._own))
        self._own[rows] = _checked(values, len(rows))
        self._open[rows] = True
        return self._speak(rows)

    def neighbour_joined(self, link: Link, *, up: bool = False) -> Sent:  # noqa: ARG002
        """A link came up. Voting knows no up and down."""
        self._said.join(link)
        return self._speak(self._all())

    def neighbour_left(self, link: Link) -> Sent:
        """A link went down, with all that came through it."""
        self._said.leave(link)
        return self._speak(self._all())

    def handle(self, link: Link, message: Signs) -> Sent:
        """A neighbour knows something new."""
        return self.handle_all([(link, message)])

    def handle_all(self, heard: Sequence[tuple[Link, Signs]]) -> Sent:
        """Some neighbours know something new: take it all in, then answer."""
        if not heard:
            return []
        links = [self._row(link, message) for link, message in heard]
        for row, (_, message) in zip(links, heard, strict=True):
            self._said.received[row, message.votes] = message.values
        votes = np.concatenate([message.votes for _, message in heard])
        return self._speak(votes if len(heard) == 1 else np.unique(votes))

    def _row(self, link: Link, message: Signs) -> int:
        if message.of != len(self._own):
            raise TopicError(
                f"{link!r} has {message.of} votes and this node {len(self._own)}:"
                " all nodes of a tree cast the same ones"
            )
        return self._said.row(link)

    def _all(self) -> Int32s:
        return np.arange(len(self._own), dtype=np.int32)

    def _speak(self, rows: Int32s) -> Sent:
        rows = rows[self._open[rows]]
        said = self._said
        due = speak(rows, self._own, said.received, said.sent, said.told, self._signs)
        sent: Sent = []
        for link, row in said.items():
            if due[row].any():
                some = rows[due[row]]
                sent.append((link, Signs(some, said.sent[row, some], len(self._own))))
        return sent


def as_threshold(given: Threshold) -> Fraction:
    """A threshold as an exact fraction, above 0 and at most 1.

    A float is the simplest fraction within four of its steps: of a share k/n of up to ten million
    nodes, k/n itself. Floats of single precision are so for a thousand nodes only.

    >>> as_threshold("0.8"), as_threshold(0.8), as_threshold(2 / 3)
    (Fraction(4, 5), Fraction(4, 5), Fraction(2, 3))
    >>> as_threshold("80%")
    Traceback (most recent call last):
    caddis.errors.TopicError: a threshold is a number above 0 and at most 1, such as 0.8, not '80%'
    """
    try:
        fraction = _of_float(given) if isinstance(given, FLOATS) else Fraction(str(given))
    except (ValueError, ArithmeticError):
        fraction = Fraction(0)
    if not 0 < fraction <= 1:
        raise TopicError(
            f"a threshold is a number above 0 and at most 1, such as 0.8, not {given!r}"
        )
    if fraction.denominator > LARGEST:
        raise TopicError(f"the threshold {given} has a denominator of more than {LARGEST:,}")
    return fraction


def majority_input(bits: Bools, threshold: Fraction) -> Int64s:
    """What a node says for its bits: the sum is at least 0 if the threshold is reached.

    >>> majority_input(np.array([True, False]), Fraction(4, 5))
    array([ 1, -4])
    """
    return threshold.denominator * bits.astype(np.int64) - threshold.numerator


def pairwise(costs: npt.ArrayLike) -> Int64s:
    """Costs by choice as values of votes between any two: whether the first costs no more.

    >>> pairwise([3, 5, 4])
    array([ 2,  1, -1])
    """
    given = np.asarray(costs, np.int64)
    first, second = np.triu_indices(given.shape[-1], 1)
    return np.asarray(given[..., second] - given[..., first])


def winner(signs: Bools) -> int:
    """The choice that wins most of its votes between two, of equals the first.

    Once the votes have settled it wins all of them.

    >>> winner(np.array([True, True, False]))
    0
    """
    choices = (1 + int(np.sqrt(1 + 8 * len(signs)))) // 2
    first, second = np.triu_indices(choices, 1)
    wins = np.bincount(np.where(signs, first, second), minlength=choices)
    return int(wins.argmax())


def _checked(values: Sequence[int] | Int64s, votes: int) -> Int64s:
    given = whole_numbers(values, "value")
    if given.shape != (votes,):
        raise TopicError(f"{votes} votes have {votes} values, not some of shape {given.shape}")
    return given


def _of_float(given: float | np.floating[Any]) -> Fraction:
    exact = Fraction(*given.as_integer_ratio())
    near = 4 * Fraction(*np.spacing(given).as_integer_ratio())
    return _simplest(exact - near, exact + near)


def _simplest(low: Fraction, high: Fraction) -> Fraction:
    """The fraction with the least denominator between two, by their continued fractions."""
    whole = Fraction(ceil(low))
    if whole <= high:
        return whole
    return whole - 1 + 1 / _simplest(1 / (high - whole + 1), 1 / (low - whole + 1))
