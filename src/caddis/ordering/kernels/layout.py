"""The arrays that the kernels of `ordering` hand to each other.

A graph holds the residual of many events at once. Event e has the open clauses
`order[starts[e] : starts[e] + counts[e]]`; clause q still needs the literals that `needs[q]` tells,
cheapest to refute first. Settling an event compacts both in place.

    event ─▶ open clauses ─▶ literals left            clause ─▶ shared links, `done` or not
                 │ twin ─▶ twin ─▶ ...                 clauses that have come to need the same

A clause that leads to a link which no other clause leads to is `pinned`: it must be decided. Any
other is dropped as soon as all the links that it shares are done.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from caddis.arrays import Anys, Bools, Floats, Int32s, Int64s
from caddis.models import Marks

OPEN, SATISFIED, REFUSED = range(3)
DROPPED: int = np.int64(3)  # type: ignore[assignment]
"""What became of a clause."""

ZERO: int = np.int64(0)  # type: ignore[assignment]
"""The first of whatever is numbered.

A literal that is passed to a kernel is a type of its own to numba, for which all that it is passed
to would be compiled again; so it is for DROPPED.
"""

MEMO = 1 << 16
"""How many slots a memory of choices has: a power of two, so that a mask finds a slot."""

NONE = -1
"""What stands for a model where there is none to choose."""

MOST_CLAUSES = 64
"""Larger parts are neither solved nor followed to the end."""

MOST_ASKED = 4
"""A model with more open concepts than this has too many outcomes, 2^concepts, to try them all."""


class PlanArrays(NamedTuple):
    """What the policies believe: prices and chances."""

    costs: Floats
    """The price of each model."""
    chances: Floats
    """How likely each literal is true."""
    answered_by: Int32s
    """The model of each concept."""


class MemoArrays(NamedTuple):
    """Choices by the hash of what was left open: open addressing, a key of 0 is a free slot."""

    keys: Int64s
    models: Int64s
    used: Int64s
    """How many slots are taken: one number."""


NEED = np.dtype([("start", np.int64), ("count", np.int32), ("weight", np.int32)], align=True)
"""What an open clause still needs: `literals[start : start + count]`.

weight: how many links wait for the clause and its twins.
"""

WAIT = np.dtype(
    [
        ("start", np.int64),
        ("count", np.int32),
        ("twin", np.int32),
        ("pinned", np.bool_),
        ("verdict", np.uint8),
    ],
    align=True,
)
"""Who waits for an open clause: the links `shares[start : start + count]`, which it shares.

twin: the next of the clauses that need the same, or -1.
verdict: what became of the clause.

To numba every array of an argument is a bundle of seven values, so two arrays of rows are compiled
in a fraction of the time that eight arrays take. They are two, since most loops read needs alone.
"""

PART = np.dtype(
    [(name, np.int64) for name in ("event", "begin", "count", "choice", "key", "slot", "like")],
    align=True,
)
"""A part of an event's graph: the clauses `order[begin : begin + count]`.

choice: the model that it runs next, or NONE.
key, slot: the hash of what is open in it, and its slot in the memo, or NONE.
like: the first part of the round with the same key; each part is like itself at least.
"""


class Clauses(NamedTuple):
    """Open clauses."""

    order: Int32s
    needs: Anys
    """A NEED for each clause."""
    waits: Anys
    """A WAIT for each clause."""
    literals: Int32s
    shares: Int32s
    """The links that clauses share with others."""
    done: Bools
    """Whether each shared link is satisfied."""


class GraphArrays(NamedTuple):
    """The residual graphs of many events."""

    starts: Int64s
    counts: Int64s
    clauses: Clauses
    known: Marks
    """What is known, a row for each event and a column for each concept."""
