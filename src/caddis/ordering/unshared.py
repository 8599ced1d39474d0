"""Every subscription by itself: what it costs if no answer is shared.

Each link of an event becomes an event of its own, with that link's clauses alone. So what is asked
for one subscription is asked again for the next.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from caddis.arrays import Int32s, Int64s
from caddis.ordering.demand import Demand


@dataclass(frozen=True, slots=True)
class Unshared:
    """Candidate pairs, apart by link."""

    demand: Demand
    """In which a clause leads to one link."""
    events: Int32s
    """By pair, ascending: an event for each link of an event."""
    clauses: Int32s
    event_of: Int32s
    """By such an event: the event that it comes from."""
    pair_of: Int64s
    """By pair: the pair that it comes from."""


def unshared(demand: Demand, events: Int32s, clauses: Int32s) -> Unshared:
    """Take candidate pairs, sorted by event, apart."""
    counts = np.diff(demand.link_starts)
    of_clause = np.repeat(demand.of_clause, counts)
    edges = np.arange(len(demand.links))
    apart = Demand.from_edges(
        demand.concepts,
        [],
        of_clause,
        edges,
        demand.links.astype(np.int64),
        [0, len(edges)],
        [0, int(demand.link_offsets[-1])],
    )
    apart = replace(apart, starts=demand.starts, literals=demand.literals)
    own = counts[clauses]
    nth = np.arange(own.sum()) - np.repeat(np.cumsum(own) - own, own)
    edge = np.repeat(demand.link_starts[clauses], own) + nth
    keys = np.repeat(events, own) * np.int64(demand.link_offsets[-1]) + demand.links[edge]
    found, event = np.unique(keys, return_inverse=True)
    order = np.argsort(event, kind="stable")
    return Unshared(
        apart,
        event[order].astype(np.int32),
        edge[order].astype(np.int32),
        (found // demand.link_offsets[-1]).astype(np.int32),
        np.repeat(np.arange(len(events)), own)[order],
    )
