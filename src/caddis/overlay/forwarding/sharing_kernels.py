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
from caddis.ordering.kernels import NONE, PlanArrays
from caddis.overlay.forwarding.routes import (
    REACHED,
    Routes,
    cheapest,
    extended_gains,
    left_of,
    settle,
)

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


class Told(NamedTuple):
    """What others are to be told."""

    gives: Int32s
    """By model: the neighbour that is given charge of it; the number of neighbours stands for
    where the event came from, NONE for nobody."""
    urgency: Bytes
    """By neighbour: what the news is to it."""
    wants: Bools
    """By neighbour and news: whether it wants to know."""


@njit(cache=True)
def recount(
    heir: int, routes: Routes, known: Marks, plan: PlanArrays, shares: Shares, news: Bools
) -> bool:
    """Go through an heir's pairs again; whether news has completed one of them."""
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
            elif news[concept] and left == 0:
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
def inherit(
    own: Bools,
    gains: Floats,
    routes: Routes,
    known: Marks,
    states: Bytes,
    plan: PlanArrays,
    shares: Shares,
    running: int,
    keep: float,
    gives: Int32s,
) -> None:
    """Make the neighbours that are reached now heirs, with their share of the models."""
    prices = plan.costs / np.maximum(gains, 1e-12)
    for heir in range(len(shares.heirs)):
        if states[heir] == REACHED and not shares.heirs[heir]:
            shares.heirs[heir] = True
            recount(heir, routes, known, plan, shares, np.zeros(len(known), np.bool_))
            bequeath(heir, own, prices, running, keep, shares, gives)


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
def note_news(
    learnt: Int32s, routes: Routes, known: Marks, plan: PlanArrays, shares: Shares, told: Told
) -> None:
    """See which heirs want news, and what it is to them."""
    news = np.zeros(len(known), np.bool_)
    for concept in learnt:
        news[concept] = True
        shares.charge[plan.answered_by[concept]] = False
    for heir in range(len(shares.heirs)):
        wanted = False
        for i in range(len(learnt)):
            if shares.waiting[heir, plan.answered_by[learnt[i]]] > 0:
                told.wants[heir, i] = wanted = True
        if wanted:
            urgent = recount(heir, routes, known, plan, shares, news)
            told.urgency[heir] = URGENT if urgent else PATIENT


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
) -> tuple[int, int, bool, Int32s, Bytes, Bools]:
    """Draw the conclusions from news: the concepts that were learnt just now.

    Gives the number of open pairs; the model to run, or NONE; whether links are reached; and what
    is to be told: models with the neighbour that is given charge of each, by two; then urgency and
    wants of `Told`.
    """
    models, neighbours = len(plan.costs), len(shares.heirs)
    told = Told(
        np.full(models, NONE, np.int32),
        np.zeros(neighbours, np.uint8),
        np.zeros((neighbours, len(learnt)), np.bool_),
    )
    if len(learnt) > 0:
        note_news(learnt, routes, known, plan, shares, told)
    count = settle(pairs, count, routes, known, states)
    model = NONE
    if shares.charge.any():
        own = needed(pairs, count, routes, known, plan)
        gains = np.zeros(models)
        if (own & shares.charge).any():
            gains = extended_gains(pairs, count, routes, known, plan)
        inherit(own, gains, routes, known, states, plan, shares, running, keep, told.gives)
        hand_over(own, running, has_source, shares, told.gives)
        model = cheapest(plan.costs, gains, shares.charge)
    reached = False
    for target in range(len(states)):
        if states[target] == REACHED:
            reached = True
            if target < neighbours and not shares.heirs[target]:
                shares.heirs[target] = True
                recount(target, routes, known, plan, shares, np.zeros(len(known), np.bool_))
    given = np.flatnonzero(told.gives != NONE)
    moves = np.stack((given.astype(np.int32), told.gives[given]), axis=1)
    return count, model, reached, moves, told.urgency, told.wants
