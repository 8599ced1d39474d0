"""What a node may put into votes: whole numbers, not too large, for votes that there are."""

from __future__ import annotations

from numbers import Integral

import numpy as np
import numpy.typing as npt

from caddis.arrays import Int32s, Int64s
from caddis.errors import TopicError

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
