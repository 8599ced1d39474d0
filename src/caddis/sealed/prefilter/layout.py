"""What a prefilter is made of: lists of filters by their rarest place, one behind the other.

A clause with an empty filter is in no list, every other one in one.

    filters   [filter, word]   of the clauses, sorted by their keys: one copy, in the lists' order
    keys      [filter, key]    places that are set in it, chosen one after the other: the one that
                               leaves the fewest events of a sample, and so on
    shared    [filter]         how many first keys are those of the filter before
    starts    [place]          filters starts[place]:starts[place + 1] have it as their first key
    clauses   [filter]         whose filter it is
    default   [n]              the clauses with empty filters, which may match every event
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from caddis.arrays import Bytes, Int32s, Int64s, Words

Places = npt.NDArray[np.uint16]


class PrefilterArrays(NamedTuple):
    """All that a prefilter is made of; see the module."""

    filters: Words
    keys: Places
    shared: Bytes
    starts: Int64s
    clauses: Int32s
    default: Int32s
