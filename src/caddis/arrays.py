"""Names for the numpy arrays that rooms hand to each other, and how ragged ones are laid out.

A ragged array is one flat array of values and the offsets of its rows: row i is
`values[offsets[i]:offsets[i + 1]]`.
"""

from collections.abc import Sequence
from typing import Any, overload

import numpy as np
import numpy.typing as npt

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Anys = npt.NDArray[Any]

Counts = Anys | Sequence[int]


@overload
def offsets_of(counts: Counts) -> Int64s: ...
@overload
def offsets_of(counts: Counts, dtype: type[np.int64]) -> Int64s: ...
@overload
def offsets_of(counts: Counts, dtype: type[np.int32]) -> Int32s: ...
def offsets_of(
    counts: Counts, dtype: type[np.int32] | type[np.int64] = np.int64
) -> Int32s | Int64s:
    """Where each row of a ragged array begins, and at last where the last one ends.

    >>> offsets_of([2, 0, 3]).tolist()
    [0, 2, 2, 5]
    """
    offsets: Anys = np.zeros(len(counts) + 1, dtype)
    np.cumsum(counts, out=offsets[1:])
    return offsets


def places_in_rows(counts: Anys) -> Int64s:
    """The place of each value of a ragged array within its own row.

    >>> places_in_rows(np.array([2, 0, 3])).tolist()
    [0, 1, 0, 1, 2]
    """
    ends = np.cumsum(counts, dtype=np.int64)
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total) - np.repeat(ends - counts, counts)
