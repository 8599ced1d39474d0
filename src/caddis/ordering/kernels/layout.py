"""The arrays that the kernels of `ordering` hand to each other.

A graph holds the residual of many events at once. Event e has the open clauses
`order[starts[e] : starts[e] + counts[e]]`; clause q still needs the literals
`literals[literal_starts[q] : literal_starts[q] + literal_counts[q]]`, cheapest to refute first.
Settling an event compacts both in place.

    event ─▶ open clauses ─▶ literals left            clause ─▶ shared links, `done` or not
                 │ twin ─▶ twin ─▶ ...                 clauses that have come to need the same

A clause that leads to a link which no other clause leads to is `pinned`: it must be decided. Any
other is dropped as soon as all the links that it shares are done.
"""

from __future__ import annotations

from typing import NamedTuple

from caddis.arrays import Bools, Floats, Int32s, Int64s
from caddis.models import Marks

OPEN, SATISFIED, REFUSED, DROPPED = range(4)
"""What became of a clause."""

MEMO = 1 << 16
"""How many slots a memory of choices has: a power of two, so that a mask finds a slot."""

NONE = -1
"""What stands for a model where there is none to choose."""

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
    models: Int32s
    used: Int64s
    """How many slots are taken: one number."""


class Clauses(NamedTuple):
    """Open clauses: what each still needs, and who waits for it."""

    order: Int32s
    literal_starts: Int64s
    literal_counts: Int32s
    literals: Int32s
    twins: Int32s
    """The next of the clauses that need the same as each clause, or -1."""
    weights: Int32s
    """How many links wait for each clause and its twins."""
    pinned: Bools
    share_starts: Int64s
    shares: Int32s
    """The links that clause q shares with others: `shares[share_starts[q]:share_starts[q + 1]]`."""
    done: Bools
    """Whether each shared link is satisfied."""
    verdicts: Marks
    """What became of each clause."""


class GraphArrays(NamedTuple):
    """The residual graphs of many events."""

    starts: Int64s
    counts: Int64s
    clauses: Clauses
    known: Marks
    """What is known, a row for each event and a column for each concept."""
