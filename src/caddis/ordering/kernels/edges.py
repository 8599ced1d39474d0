"""The edges of a graph: from each open clause to the models that it needs, in its own order.

The lookahead goes through them again and again, so they are laid out next to each other. What a
clause needs of a model is kept as bits, one for each concept that the model answers here, so that
an outcome of the model is a number.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from caddis.arrays import Floats, Int32s
from caddis.ordering.kernels.layout import MOST_ASKED, Clauses, PlanArrays


class Edges(NamedTuple):
    """Those of clause i are `starts[i] : starts[i + 1]`."""

    starts: Int32s
    clauses: Int32s
    models: Int32s
    passes: Floats
    """How likely the model lets the clause pass."""
    reach: Floats
    """How likely the clause gets to the model: past all before it."""


class Conditions(NamedTuple):
    """What clauses need of their models, answer by answer."""

    asks: Int32s
    """By model: how many of its concepts are open, counted up to MOST_ASKED + 1."""
    asked: Int32s
    """By model: which these are, as far as they fit."""
    needs: Int32s
    """By edge: which of them must be true for the clause to pass, and which false, as bits."""


@njit(cache=True)
def open_edges(begin: int, count: int, clauses: Clauses, plan: PlanArrays) -> Edges:
    """The edges of open clauses."""
    size = used = 0
    for i in range(begin, begin + count):
        size += clauses.literal_counts[clauses.order[i]]
    starts = np.zeros(count + 1, np.int32)
    places, models = np.empty(size, np.int32), np.empty(size, np.int32)
    passes, reaches = np.empty(size), np.empty(size)
    for i in range(count):
        clause, reach = clauses.order[begin + i], 1.0
        start = clauses.literal_starts[clause]
        for at in range(start, start + clauses.literal_counts[clause]):
            model, edge = plan.answered_by[clauses.literals[at] >> 1], starts[i]
            while edge < used and models[edge] != model:
                edge += 1
            if edge == used:
                places[edge], models[edge], passes[edge] = i, model, 1.0
                used += 1
            passes[edge] *= plan.chances[clauses.literals[at]]
        for edge in range(starts[i], used):
            reaches[edge] = reach
            reach *= passes[edge]
        starts[i + 1] = used
    return Edges(starts, places, models, passes, reaches)


@njit(cache=True)
def conditions(begin: int, edges: Edges, clauses: Clauses, plan: PlanArrays) -> Conditions:
    """What open clauses need of their models."""
    models = len(plan.costs)
    asks, asked = np.zeros(models, np.int32), np.empty((models, MOST_ASKED), np.int32)
    needs = np.zeros((edges.starts[-1], 2), np.int32)
    for i in range(len(edges.starts) - 1):
        clause = clauses.order[begin + i]
        start = clauses.literal_starts[clause]
        for at in range(start, start + clauses.literal_counts[clause]):
            concept, edge, k = clauses.literals[at] >> 1, edges.starts[i], 0
            model = plan.answered_by[concept]
            while edges.models[edge] != model:
                edge += 1
            while k < min(asks[model], MOST_ASKED) and asked[model, k] != concept:
                k += 1
            if k < MOST_ASKED:
                asked[model, k] = concept
                needs[edge, clauses.literals[at] & 1] |= 1 << k
            asks[model] = max(asks[model], k + 1)
    return Conditions(asks, asked, needs)


@njit(cache=True)
def by_model(edges: Edges, models: int) -> tuple[Int32s, Int32s]:
    """The edges of each model: where they start, and which."""
    used = edges.starts[-1]
    starts, members = np.zeros(models + 1, np.int32), np.empty(used, np.int32)
    for edge in range(used):
        starts[edges.models[edge] + 1] += 1
    for model in range(models):
        starts[model + 1] += starts[model]
    filled = starts.copy()
    for edge in range(used):
        model = edges.models[edge]
        members[filled[model]] = edge
        filled[model] += 1
    return starts, members
