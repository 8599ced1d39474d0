"""The publication routing graph as arrays: what is wanted, and through which link.

A pair is a clause and a link that it leads to, the paper's subscription node. Pairs are numbered
link by link, so that those of one link lie next to each other:

    pair ──needs──▶ need ──starts──▶ literals          literal 2c: concept c, 2c + 1: NOT c
    pair ──targets──▶ link ──slots──▶ its place among the links that several pairs lead to

The same arrays serve a broker that decides one event at a time and one that decides batches.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from caddis.arrays import Int32s, Int64s
from caddis.matching import NOTHING
from caddis.ordering import Demand

ALWAYS = -1
"""In place of a link's slot: no other pair leads to it."""


class Routes(NamedTuple):
    """Pairs of clause and link."""

    needs: Int32s
    """By pair: its need; the last of all needs is empty."""
    targets: Int32s
    """By pair: its link."""
    starts: Int32s
    literals: Int32s
    """By need."""
    slots: Int32s
    """By link."""
    target_starts: Int32s
    """By link: its first pair."""


class PairIndex(NamedTuple):
    """From the clauses of a demand to its pairs."""

    starts: Int64s
    pairs: Int32s


def routes_of(demand: Demand, numbers: Int32s) -> tuple[Routes, PairIndex]:
    """The pairs of a demand whose concepts are called by other numbers."""
    clauses = np.repeat(np.arange(len(demand.of_clause)), np.diff(demand.link_starts))
    order = np.argsort(demand.links, kind="stable")
    needs = demand.of_clause[clauses[order]]
    links = int(demand.link_offsets[-1])
    counts = np.bincount(demand.links, minlength=links)
    several = np.flatnonzero(counts > 1)
    slots = np.full(links, ALWAYS, np.int32)
    slots[several] = np.arange(len(several))
    empty = len(demand)
    starts = np.append(demand.starts, demand.starts[-1:]).astype(np.int32)
    literals = 2 * numbers[demand.literals >> 1] + (demand.literals & 1)
    routes = Routes(
        np.where(needs == NOTHING, empty, needs).astype(np.int32),
        demand.links[order].astype(np.int32),
        starts,
        literals.astype(np.int32),
        slots,
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int32),
    )
    by_clause = np.argsort(order).astype(np.int32)
    return routes, PairIndex(demand.link_starts, by_clause)
