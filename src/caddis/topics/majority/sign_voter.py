"""Majority voting: whether a sum over all nodes of a tree reaches zero, or a support a threshold.

The local protocol of Wolff and Schuster ("Association rule mining in peer-to-peer systems", ICDM
2003). Every node has a whole number for each vote. A node sends a neighbour the sum of what it
knows from all others, at first and whenever that neighbour might otherwise judge wrongly. Once
nothing is sent any more, all nodes know the sign of the sum over all of them. One `SignVoter` casts
many votes, and all of them that have something to say through a link say it in one message.

A majority with threshold p/q is the sign of the sum of `q * bit - p`. A choice among k is decided
by the signs of k(k-1)/2 differences of costs: the baseline that multiple-choice voting (see
`Voter`) improves on.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import ceil
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from caddis.arrays import Bools, Int32s, Int64s
from caddis.errors import TopicError
from caddis.topics.links import Link, Sent
from caddis.topics.voting import LARGEST, LocalVotes, speak_signs, vote_numbers, whole_numbers

FLOATS = float, np.floating
Threshold = Fraction | float | np.floating[Any] | str


class Signs(NamedTuple):
    """What the sender knows of some votes from all but the receiver.

    of: how many votes there are. A transport names those that are meant by their numbers, or by
        one bit for each of all, whichever is shorter.
    """

    votes: Int32s
    values: Int64s
    of: int

    @property
    def nbytes(self) -> int:
        return self.values.nbytes + min(self.votes.nbytes, -(-self.of // 8))


class SignVoter(LocalVotes):
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
        super().__init__(votes)
        self._signs = np.zeros(votes, np.bool_)

    @property
    def signs(self) -> Bools:
        """Whether the sum of each vote is at least 0, as far as this node knows.

        It is False as long as the node has not given a value of its own.
        """
        return self._signs.copy()

    def sign(self, vote: int = 0) -> bool:
        """Whether the sum of one vote is at least 0, as far as this node knows."""
        return bool(self._signs[vote])

    def set_input(self, values: Sequence[int] | Int64s, votes: Int32s | None = None) -> Sent:
        """Give this node's own values: for all votes, or for some."""
        rows = vote_numbers(votes, len(self._own))
        given = whole_numbers(values, "value")
        if given.shape != rows.shape:
            raise TopicError(
                f"{len(rows)} votes have {len(rows)} values, not some of shape {given.shape}"
            )
        return self._open_with(given, rows)

    def _judge(self, rows: Int32s) -> Bools:
        links = self._links
        return speak_signs(rows, self._own, links.received, links.sent, links.used, self._signs)

    def _message(self, votes: Int32s, numbers: Int64s) -> Signs:
        return Signs(votes, numbers, len(self._own))

    def _numbers(self, link: Link, message: Signs) -> Int64s:
        if message.of != len(self._own):
            raise TopicError(
                f"{link!r} has {message.of} votes and this node {len(self._own)}:"
                " all nodes of a tree cast the same ones"
            )
        return message.values


def as_threshold(given: Threshold) -> Fraction:
    """A threshold as an exact fraction, above 0 and at most 1.

    A float stands for the simplest fraction within four of its steps. For a share k/n of up to ten
    million nodes that is k/n itself; for floats of single precision, up to a thousand nodes.

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
    """Turn costs by choice into values of votes between any two of them.

    A value is at least 0 if the first of the two costs no more than the second.

    >>> pairwise([3, 5, 4])
    array([ 2,  1, -1])
    """
    given = np.asarray(costs, np.int64)
    first, second = np.triu_indices(given.shape[-1], 1)
    return np.asarray(given[..., second] - given[..., first])


def winner(signs: Bools) -> int:
    """The choice that wins most of its votes between two, among equals the first.

    Once the votes have settled it wins all of them.

    >>> winner(np.array([True, True, False]))
    0
    """
    choices = (1 + int(np.sqrt(1 + 8 * len(signs)))) // 2
    first, second = np.triu_indices(choices, 1)
    wins = np.bincount(np.where(signs, first, second), minlength=choices)
    return int(wins.argmax())


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
