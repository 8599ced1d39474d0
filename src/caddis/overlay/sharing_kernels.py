"""Who runs which model of an event: the loops of `sharing`.

The neighbours that got the event are its heirs. For each of them a broker keeps the pairs behind
its link that may still hold, and by model how many of them wait for it. All arrays are of one
visit; rows are neighbours by number.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from caddis.arrays import Bools, Bytes, Floats, Int32s
from caddis.models import UNASKED, Marks
from caddis.ordering.layout import NONE, PlanArrays
from caddis.overlay.route_kernels import (
    REACHED,
    cheapest,
    extended_gains,
    left_of,
    settle,
)
from caddis.overlay.routes import Routes

SPARED, PATIENT, URGENT = range(3)
"""What news is to an heir: nothing, something, or what may satisfy a link of it."""


class Shares(NamedTuple):
    """Of one event at one broker."""

    rest: Int32s
    """Pairs, those behind each neighbour next to each other."""
    starts: Int32s
    counts: Int32s
    """By neighbour: its pairs that may still hold."""
    heirs: Bools
    """By neighbour: whether it has got the event."""
    waiting: Int32s
    """By heir and model: how many pairs behind it wait for the model."""
    refused: Bools
    """By heir and model: whether the heir gave the model back, since nobody behind it needs it."""
    charge: Bools
    """By model: whether this broker is in charge of it."""


@njit(cache=True)
def recount(
    heir: int, routes: Routes, known: Marks, plan: PlanArrays, shares: Shares, news: Bools
) -> bool:
    """Go through an heir's pairs again; whether news made one of them likelier."""
    begin, kept, urgent = shares.starts[heir], shares.starts[heir], False
    shares.waiting[heir, :] = 0
    for i in range(begin, begin + shares.counts[heir]):
        pair = shares.rest[i]
        left = left_of(pair, routes, known)
        if left < 0:
            continue
        need = routes.needs[pair]
        for at in range(routes.starts[need], routes.starts[need + 1]):
            concept = routes.literals[at] >> 1
            if known[concept] == UNASKED:
                shares.waiting[heir, plan.answered_by[concept]] += 1
            elif news[concept]:
                urgent = True
        if left > 0:
            shares.rest[kept] = pair
            kept += 1
    shares.counts[heir] = kept - begin
    return urgent


@njit(cache=True)
def needed(pairs: Int32s, count: int, routes: Routes, known: Marks, plan: PlanArrays) -> Bools:
    """By model: whether an open pair needs it."""
    found = np.zeros(len(plan.costs), np.bool_)
    for i in range(count):
        need = routes.needs[pairs[i]]
        for at in range(routes.starts[need], routes.starts[need + 1]):
            if known[routes.literals[at] >> 1] == UNASKED:
                found[plan.answered_by[routes.literals[at] >> 1]] = True
    return found


@njit(cache=True)
def bequeath(
    heir: int,
    own: Bools,
    prices: Floats,
    running: int,
    keep: float,
    shares: Shares,
    gives: Int32s,
) -> None:
    """Give a new heir those models that both need and that come last here."""
    both = np.empty(len(own), np.int32)
    count = 0
    for model in range(len(own)):
        wanted = own[model] and shares.waiting[heir, model] > 0
        if wanted and shares.charge[model] and model != running:
            both[count] = model
            count += 1
    order = np.argsort(prices[both[:count]], kind="mergesort")
    for i in range(int(np.ceil(keep * count)), count):
        model = both[order[i]]
        shares.charge[model] = False
        gives[model] = heir


@njit(cache=True)
def hand_over(own: Bools, running: int, has_source: bool, shares: Shares, gives: Int32s) -> None:
    """Give away the models that are not needed here: to the heir with most who wait, or back."""
    neighbours = len(shares.heirs)
    for model in range(len(own)):
        if not shares.charge[model] or own[model] or model == running:
            continue
        best, most = NONE, 0
        for heir in range(neighbours):
            waiting = shares.waiting[heir, model]
            if shares.heirs[heir] and waiting > most and not shares.refused[heir, model]:
                best, most = heir, waiting
        if best != NONE or has_source:
            shares.charge[model] = False
            gives[model] = best if best != NONE else neighbours


@njit(cache=True)
def share(
    pairs: Int32s,
    count: int,
    routes: Routes,
    known: Marks,
    states: Bytes,
    plan: PlanArrays,
    shares: Shares,
    learnt: Int32s,
    running: int,
    keep: float,
    has_source: bool,
) -> tuple[int, int, Int32s, Bytes, Bools]:
    """Draw the conclusions from news: the concepts that were learnt just now.

    Gives the number of open pairs; the model to run, or NONE; by model to whom it is given (the
    number of neighbours stands for the source, NONE for nobody); by neighbour what the news is to
    it; and by neighbour and news whether it wants it.
    """
    models, neighbours = len(plan.costs), len(shares.heirs)
    gives, urgency = np.full(models, NONE, np.int32), np.zeros(neighbours, np.uint8)
    wants, news = np.zeros((neighbours, len(learnt)), np.bool_), np.zeros(len(known), np.bool_)
    for concept in learnt:
        news[concept] = True
    count = settle(pairs, count, routes, known, states)
    for heir in range(neighbours):
        if not shares.heirs[heir]:
            continue
        for i in range(len(learnt)):
            wants[heir, i] = shares.waiting[heir, plan.answered_by[learnt[i]]] > 0
        if wants[heir].any():
            urgent = recount(heir, routes, known, plan, shares, news)
            urgency[heir] = URGENT if urgent else PATIENT
    own = needed(pairs, count, routes, known, plan)
    gains = extended_gains(pairs, count, routes, known, plan) if count else np.zeros(models)
    prices = plan.costs / np.maximum(gains, 1e-12)
    for heir in range(neighbours):
        if states[heir] == REACHED:
            shares.heirs[heir] = True
            recount(heir, routes, known, plan, shares, news)
            bequeath(heir, own, prices, running, keep, shares, gives)
    hand_over(own, running, has_source, shares, gives)
    return count, cheapest(plan.costs, gains, shares.charge), gives, urgency, wants
