"""The parts of an event's graph: clauses that hang together by a model or by a link.

Parts are found by joining clauses to the first one that needed the same model, or leads to the
same undecided link. The open clauses are then put in the order of their parts, so that a part is a
run of them like a whole event is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from caddis.arrays import Int32s, Int64s
from caddis.compiling import inner_kernel
from caddis.ordering.kernels.layout import Clauses, GraphArrays, PlanArrays
from caddis.ordering.kernels.residual import hashed


class Scratch(NamedTuple):
    """Memory for one event at a time; tables are stamped with the event and never cleared."""

    parents: Int32s
    """A forest: for the place of each open clause, that of one nearer to the root of its part."""
    moved: Int32s
    ends: Int32s
    """Where each part ends in the graph's order."""
    filled: Int32s
    model_stamp: Int32s
    model_place: Int32s
    link_stamp: Int32s
    link_place: Int32s
    link_key: Int64s
    """The sum of the hashes of the clauses that lead to each shared link."""


@inner_kernel
def new_scratch(graph: GraphArrays, plan: PlanArrays) -> Scratch:
    """Memory that is enough for the largest event of a graph."""
    most = 1
    for count in graph.counts:
        most = max(most, count)
    links, models = len(graph.clauses.done), len(plan.costs)
    return Scratch(
        np.empty(most, np.int32),
        np.empty(most, np.int32),
        np.empty(most, np.int32),
        np.empty(most, np.int32),
        np.full(models, -1, np.int32),
        np.empty(models, np.int32),
        np.full(links, -1, np.int32),
        np.empty(links, np.int32),
        np.zeros(links, np.int64),
    )


@inner_kernel
def root(parents: Int32s, place: int) -> int:
    """The place that stands for a part."""
    # Each step also halves the path, so that later searches are short.
    while parents[place] != place:
        parents[place] = parents[parents[place]]
        place = parents[place]
    return place


@inner_kernel
def join(parents: Int32s, one: int, other: int) -> None:
    """Make one part of two; the lower place stands for it."""
    # Clauses with the same parent are in one part: that saves most searches for roots.
    if parents[one] != parents[other]:
        one, other = root(parents, one), root(parents, other)
        parents[max(one, other)] = min(one, other)


@inner_kernel
def meet(place: int, at: int, event: int, stamps: Int32s, places: Int32s, parents: Int32s) -> None:
    """Join a clause with the one that first had a model or a link, or make it that one."""
    if stamps[at] == event:
        join(parents, place, places[at])
    else:
        stamps[at], places[at] = event, place


@inner_kernel
def join_clauses(event: int, graph: GraphArrays, plan: PlanArrays, scratch: Scratch) -> None:
    """Join all clauses of an event that hang together."""
    begin, parents, clauses = graph.starts[event], scratch.parents, graph.clauses
    for place in range(graph.counts[event]):
        parents[place] = place
    for place in range(graph.counts[event]):
        # Twins need the same models, but may lead to links of their own.
        clause = clauses.order[begin + place]
        start = clauses.literal_starts[clause]
        for at in range(start, start + clauses.literal_counts[clause]):
            model = plan.answered_by[clauses.literals[at] >> 1]
            meet(place, model, event, scratch.model_stamp, scratch.model_place, parents)
        while clause >= 0:
            for s in range(clauses.share_starts[clause], clauses.share_starts[clause + 1]):
                link = clauses.shares[s]
                if not clauses.done[link]:
                    meet(place, link, event, scratch.link_stamp, scratch.link_place, parents)
            clause = clauses.twins[clause]


@inner_kernel
def part_ends(event: int, graph: GraphArrays, plan: PlanArrays, scratch: Scratch) -> int:
    """Put an event's clauses in the order of their parts, and give how many parts there are.

    `scratch.ends` then holds where each part ends.
    """
    begin, count, order = graph.starts[event], graph.counts[event], graph.clauses.order
    if count == 1:
        scratch.ends[0] = begin + 1
        return 1
    join_clauses(event, graph, plan, scratch)
    parents, filled, parts = scratch.parents, scratch.filled, 0
    for place in range(count):
        scratch.moved[place] = order[begin + place]
        if parents[place] == place:
            filled[place] = parts
            scratch.ends[parts] = 0
            parts += 1
        scratch.ends[filled[root(parents, place)]] += 1
    if parts == 1:
        scratch.ends[0] = begin + count
        return 1
    # A counting sort by part: sizes become starts, and each start ends up where its part does.
    at = begin
    for part in range(parts):
        size = scratch.ends[part]
        scratch.ends[part] = at
        at += size
    for place in range(count):
        part = filled[root(parents, place)]
        order[scratch.ends[part]] = scratch.moved[place]
        scratch.ends[part] += 1
    return parts


@inner_kernel(forceinline=True)
def mixed(value: int) -> int:
    """A hash of an integer: the multipliers are those of splitmix64."""
    bits = np.uint64(value) * np.uint64(0xBF58476D1CE4E5B9)
    bits ^= bits >> np.uint64(31)
    return np.int64(bits * np.uint64(0x94D049BB133111EB))  # type: ignore[return-value]


@inner_kernel
def state_key(begin: int, count: int, clauses: Clauses, scratch: Scratch) -> int:
    """A hash of what is open in a part: its clauses, and which of them share links.

    Clauses and links are summed up, so that their order and numbers do not matter: parts of other
    events that are left with the same have the same key. It is never 0, which marks a free slot.
    """
    order, starts, counts = clauses.order, clauses.literal_starts, clauses.literal_counts
    key, shared, by_link = 0, False, scratch.link_key
    for i in range(begin, begin + count):
        own = mixed(hashed(clauses.literals, starts[order[i]], counts[order[i]]))
        key += own
        clause = order[i]
        while clause >= 0:
            for s in range(clauses.share_starts[clause], clauses.share_starts[clause + 1]):
                by_link[clauses.shares[s]] += own
                shared = True
            clause = clauses.twins[clause]
    # Second pass: a clause is mixed with its links, each known by the clauses that lead to it.
    if not shared:
        return key | 1
    for i in range(begin, begin + count):
        own = mixed(hashed(clauses.literals, starts[order[i]], counts[order[i]]))
        clause, links, free = order[i], 0, False
        while clause >= 0:
            free = free or clauses.pinned[clause]
            for s in range(clauses.share_starts[clause], clauses.share_starts[clause + 1]):
                if not clauses.done[clauses.shares[s]]:
                    links += mixed(by_link[clauses.shares[s]])
            clause = clauses.twins[clause]
        if links:
            key += mixed(own ^ mixed(links + free))
    forget_links(begin, count, clauses, scratch)
    return key | 1


@inner_kernel
def forget_links(begin: int, count: int, clauses: Clauses, scratch: Scratch) -> None:
    """Clear the sums of the links of a part."""
    for i in range(begin, begin + count):
        clause = clauses.order[i]
        while clause >= 0:
            for s in range(clauses.share_starts[clause], clauses.share_starts[clause + 1]):
                scratch.link_key[clauses.shares[s]] = 0
            clause = clauses.twins[clause]
