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
"""Slots of a memory of choices."""

NONE = -1
"""In place of a model: there is none to choose."""

MOST_ASKED = 4
"""Of a model with more open concepts than this, answers are not gone through one by one."""


class PlanArrays(NamedTuple):
    """What the policies believe: prices and chances."""

    costs: Floats
    """By model."""
    chances: Floats
    """By literal: how likely it is true."""
    answered_by: Int32s
    """By concept: its model."""


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
    """By clause: the next of those that need the same, or -1."""
    weights: Int32s
    """By clause: how many links wait for it, its twins' included."""
    pinned: Bools
    share_starts: Int64s
    shares: Int32s
    """By clause: the links that it shares with other clauses."""
    done: Bools
    """By shared link: whether it is satisfied."""
    verdicts: Marks
    """By clause."""


class GraphArrays(NamedTuple):
    """The residual graphs of many events."""

    starts: Int64s
    counts: Int64s
    clauses: Clauses
    known: Marks
    """By event and concept."""
