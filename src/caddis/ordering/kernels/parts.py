"""The parts of an event's graph: clauses that hang together by a model or by a link.

Parts are found by joining clauses to the first one that needed the same model, or leads to the
same undecided link. The open clauses are then put in the order of their parts, so that a part is a
run of them like a whole event is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from caddis.arrays import Anys, Int32s, Int64s
from caddis.compiling import inner_kernel, kernel
from caddis.ordering.kernels.layout import NONE, PART, Clauses, GraphArrays, PlanArrays
from caddis.ordering.kernels.residual import hashed


class Scratch(NamedTuple):
    """Memory for one event at a time; the table is stamped with the event and never cleared."""

    parents: Int64s
    """A forest: for the place of each open clause, that of one nearer to the root of its part."""
    moved: Int64s
    ends: Int64s
    """Where each part ends in the graph's order."""
    filled: Int64s
    stamps: Int64s
    """Which event met each model, and behind the models each shared link, last."""
    places: Int64s
    """The place of the clause that met it first."""


@inner_kernel
def new_scratch(graph: GraphArrays, models: int) -> Scratch:
    """Memory that is enough for the largest event of a graph."""
    most, met = 1, models + len(graph.clauses.done)
    for count in graph.counts:
        if count > most:
            most = count
    stamps = np.empty(met, np.int64)
    for at in range(met):
        stamps[at] = -1
    return Scratch(
        np.empty(most, np.int64),
        np.empty(most, np.int64),
        np.empty(most, np.int64),
        np.empty(most, np.int64),
        stamps,
        np.empty(met, np.int64),
    )


@inner_kernel(borrows=True)
def root(parents: Int64s, place: int) -> int:
    """The place that stands for a part."""
    # Each step also halves the path, so that later searches are short.
    while parents[place] != place:
        parents[place] = parents[parents[place]]
        place = parents[place]
    return place


@inner_kernel(borrows=True)
def meet(place: int, at: int, event: int, stamps: Int64s, places: Int64s, parents: Int64s) -> None:
    """Join a clause with the one that first had a model or a link, or make it that one."""
    if stamps[at] != event:
        stamps[at], places[at] = event, place
    # Clauses with the same parent are in one part: that saves most searches for roots.
    elif parents[place] != parents[places[at]]:
        one, other = root(parents, place), root(parents, places[at])
        # The lower place stands for both.
        if one < other:
            parents[other] = one
        else:
            parents[one] = other


@inner_kernel(borrows=True)
def join_clauses(event: int, graph: GraphArrays, answered_by: Int32s, scratch: Scratch) -> None:
    """Join all clauses of an event that hang together."""
    begin, clauses = graph.starts[event], graph.clauses
    parents, stamps, places = scratch.parents, scratch.stamps, scratch.places
    links = len(stamps) - len(clauses.done)
    for place in range(graph.counts[event]):
        parents[place] = place
    for place in range(graph.counts[event]):
        clause = clauses.order[begin + place]
        need = clauses.needs[clause]
        for at in range(need.start, need.start + need.count):
            model: int = np.int64(answered_by[clauses.literals[at] >> 1])  # type: ignore[assignment]
            meet(place, model, event, stamps, places, parents)
        # Twins need the same models, but may lead to links of their own.
        while clause >= 0:
            wait = clauses.waits[clause]
            for s in range(wait.start, wait.start + wait.count):
                if not clauses.done[clauses.shares[s]]:
                    meet(place, links + clauses.shares[s], event, stamps, places, parents)
            clause = wait.twin


@inner_kernel(borrows=True)
def part_ends(event: int, graph: GraphArrays, answered_by: Int32s, scratch: Scratch) -> int:
    """Put an event's clauses in the order of their parts, and give how many parts there are.

    `scratch.ends` then holds where each part ends.
    """
    begin, count, order = graph.starts[event], graph.counts[event], graph.clauses.order
    if count == 1:
        scratch.ends[0] = begin + 1
        return 1
    join_clauses(event, graph, answered_by, scratch)
    parents, filled, ends, parts = scratch.parents, scratch.filled, scratch.ends, 0
    for place in range(count):
        scratch.moved[place] = order[begin + place]
        if parents[place] == place:
            filled[place] = parts
            ends[parts] = 0
            parts += 1
        ends[filled[root(parents, place)]] += 1
    if parts == 1:
        ends[0] = begin + count
        return 1
    # A counting sort by part: sizes become starts, and each start ends up where its part does.
    at = begin
    for part in range(parts):
        size = ends[part]
        ends[part] = at
        at += size
    for place in range(count):
        part = filled[root(parents, place)]
        order[ends[part]] = scratch.moved[place]
        ends[part] += 1
    return parts


@kernel
def split(events: Int32s, graph: GraphArrays, plan: PlanArrays) -> Anys:
    """The parts of events that have something open, each a PART."""
    scratch, most = new_scratch(graph, len(plan.costs)), 0
    for event in events:
        most += graph.counts[event]
    parts, used = np.empty(most, PART), 0
    for event in events:
        # Parts follow each other in the order of the clauses: each begins where the last one ended.
        begin = graph.starts[event]
        for k in range(part_ends(event, graph, plan.answered_by, scratch)):
            part = parts[used]
            part.event, part.begin, part.count = event, begin, scratch.ends[k] - begin
            part.choice = NONE
            begin = scratch.ends[k]
            used += 1
    return parts[:used]


@inner_kernel(borrows=True, forceinline=True)
def mixed(value: int) -> int:
    """A hash of an integer: the multipliers are those of splitmix64."""
    bits = np.uint64(value) * np.uint64(0xBF58476D1CE4E5B9)
    bits ^= bits >> np.uint64(31)
    return np.int64(bits * np.uint64(0x94D049BB133111EB))  # type: ignore[return-value]


@inner_kernel(borrows=True)
def state_key(begin: int, count: int, clauses: Clauses, by_link: Int64s) -> int:
    """A hash of what is open in a part: its clauses, and which of them share links.

    Clauses and links are summed up, so that their order and numbers do not matter: parts of other
    events that are left with the same have the same key. It is never 0, which marks a free slot.

    by_link: the sum of the hashes of the clauses that lead to each shared link: 0 before and after.
    """
    key, shared, order, needs = 0, False, clauses.order, clauses.needs
    for i in range(begin, begin + count):
        clause = order[i]
        own = mixed(hashed(clauses.literals, needs[clause].start, needs[clause].count))
        key += own
        while clause >= 0:
            wait = clauses.waits[clause]
            for s in range(wait.start, wait.start + wait.count):
                by_link[clauses.shares[s]] += own
                shared = True
            clause = wait.twin
    return (key + links_key(begin, count, clauses, by_link) if shared else key) | 1


@inner_kernel(borrows=True)
def links_key(begin: int, count: int, clauses: Clauses, by_link: Int64s) -> int:
    """A hash of which clauses share links; the sums of these links are cleared."""
    key, order, needs = 0, clauses.order, clauses.needs
    for i in range(begin, begin + count):
        clause = order[i]
        own = mixed(hashed(clauses.literals, needs[clause].start, needs[clause].count))
        # A clause is mixed with its links, each known by the clauses that lead to it.
        links = free = 0
        while clause >= 0:
            wait = clauses.waits[clause]
            free |= wait.pinned
            for s in range(wait.start, wait.start + wait.count):
                if not clauses.done[clauses.shares[s]]:
                    links += mixed(by_link[clauses.shares[s]])
            clause = wait.twin
        if links:
            key += mixed(own ^ mixed(links + free))
    for i in range(begin, begin + count):
        clause = order[i]
        while clause >= 0:
            wait = clauses.waits[clause]
            for s in range(wait.start, wait.start + wait.count):
                by_link[clauses.shares[s]] = 0
            clause = wait.twin
    return key
