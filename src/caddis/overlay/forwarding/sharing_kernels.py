"""Which broker runs which model of an event: the loops of `sharing`.

The neighbours that a broker sent the event to are its heirs. For each heir the broker keeps the
pairs behind that link that may still hold, and for each model how many of these pairs wait for it.
All arrays belong to one visit; rows are neighbours by number.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from caddis.arrays import Bools, Bytes, Floats, Int32s
from caddis.compiling import kernel
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
"""How much an heir needs news: not at all, at some time, or at once since it completes a clause."""


class Shares(NamedTuple):
    """How the models of one event are shared out, as one broker sees it."""

    rest: Int32s
    """Pairs, those behind each neighbour next to each other."""
    starts: Int32s
    """For each neighbour: where its pairs begin."""
    counts: Int32s
    """For each neighbour: how many of its pairs, moved to the front, may still hold."""
    heirs: Bools
    """For each neighbour: whether it has got the event."""
    waiting: Int32s
    """For each heir and model: how many pairs behind the heir wait for the model."""
    refused: Bools
    """For each heir and model: whether the heir gave the model back, as nobody there needs it."""
    charge: Bools
    """For each model: whether this broker is in charge of it."""


class News(NamedTuple):
    """What the neighbours must hear."""

    gives: Int32s
    """For each model: the neighbour that is put in charge of it. The number of neighbours stands
    for the event's source, NONE for nobody."""
    urgency: Bytes
    """For each neighbour: how much it needs what was learnt."""
    wants: Bools
    """For each neighbour and concept that was learnt: whether it waits for it."""


@kernel
def recount(
    heir: int, routes: Routes, known: Marks, plan: PlanArrays, shares: Shares, news: Bools
) -> bool:
    """Count again what an heir waits for; return whether news has completed one of its pairs.

    news: for each concept, whether it was learnt just now.
    """
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


@kernel
def needed(pairs: Int32s, count: int, routes: Routes, known: Marks, plan: PlanArrays) -> Bools:
    """For each model: whether an open pair needs it."""
    found = np.zeros(len(plan.costs), np.bool_)
    for i in range(count):
        need = routes.needs[pairs[i]]
        for at in range(routes.starts[need], routes.starts[need + 1]):
            if known[routes.literals[at] >> 1] == UNASKED:
                found[plan.answered_by[routes.literals[at] >> 1]] = True
    return found


@kernel
def bequeath(
    heir: int,
    own: Bools,
    prices: Floats,
    running: int,
    keep: float,
    shares: Shares,
    gives: Int32s,
) -> None:
    """Put a new heir in charge of those models that both need and that would run last here."""
    both = np.empty(len(own), np.int32)
    count = 0
    for model in range(len(own)):
        wanted = own[model] and shares.waiting[heir, model] > 0
        if wanted and shares.charge[model] and model != running:
            both[count] = model
            count += 1
    # Mergesort is stable: models of equal price are shared out the same way on every machine.
    order = np.argsort(prices[both[:count]], kind="mergesort")
    for i in range(int(np.ceil(keep * count)), count):
        model = both[order[i]]
        shares.charge[model] = False
        gives[model] = heir


@kernel
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
    """Make heirs of the neighbours that are reached now, with their share of the models."""
    # A model without gain is the dearest, and is the first to be handed over.
    prices = plan.costs / np.maximum(gains, 1e-12)
    for heir in range(len(shares.heirs)):
        if states[heir] == REACHED and not shares.heirs[heir]:
            shares.heirs[heir] = True
            recount(heir, routes, known, plan, shares, np.zeros(len(known), np.bool_))
            bequeath(heir, own, prices, running, keep, shares, gives)


@kernel
def hand_over(own: Bools, running: int, has_source: bool, shares: Shares, gives: Int32s) -> None:
    """Hand over models that are not needed here: to the heir where most wait, or to the source."""
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


@kernel
def note_news(
    learnt: Int32s, routes: Routes, known: Marks, plan: PlanArrays, shares: Shares, others: News
) -> None:
    """Find out which heirs need what was learnt, and how much."""
    news = np.zeros(len(known), np.bool_)
    for concept in learnt:
        news[concept] = True
        # It has run somewhere, so nobody has to run it any more.
        shares.charge[plan.answered_by[concept]] = False
    for heir in range(len(shares.heirs)):
        wanted = False
        for i in range(len(learnt)):
            if shares.waiting[heir, plan.answered_by[learnt[i]]] > 0:
                others.wants[heir, i] = wanted = True
        if wanted:
            urgent = recount(heir, routes, known, plan, shares, news)
            others.urgency[heir] = URGENT if urgent else PATIENT


@kernel
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
    """Draw conclusions from the concepts that were learnt just now.

    running: the model that is running here, which stays; or NONE.
    keep: the share of models that both need that this broker keeps.
    has_source: whether models can be handed back to where the event came from.

    Returns the number of open pairs; the model to run, or NONE; whether links are reached; pairs of
    a model and the neighbour that is put in charge of it; and `urgency` and `wants` of `News`.
    """
    models, neighbours = len(plan.costs), len(shares.heirs)
    others = News(
        np.full(models, NONE, np.int32),
        np.zeros(neighbours, np.uint8),
        np.zeros((neighbours, len(learnt)), np.bool_),
    )
    if len(learnt) > 0:
        note_news(learnt, routes, known, plan, shares, others)
    count = settle(pairs, count, routes, known, states)
    model = NONE
    if shares.charge.any():
        own = needed(pairs, count, routes, known, plan)
        gains = np.zeros(models)
        if (own & shares.charge).any():
            gains = extended_gains(pairs, count, routes, known, plan)
        inherit(own, gains, routes, known, states, plan, shares, running, keep, others.gives)
        hand_over(own, running, has_source, shares, others.gives)
        model = cheapest(plan.costs, gains, shares.charge)
    reached = False
    for target in range(len(states)):
        if states[target] == REACHED:
            reached = True
            # `inherit` did not run if this broker is in charge of nothing.
            if target < neighbours and not shares.heirs[target]:
                shares.heirs[target] = True
                recount(target, routes, known, plan, shares, np.zeros(len(known), np.bool_))
    given = np.flatnonzero(others.gives != NONE)
    moves = np.stack((given.astype(np.int32), others.gives[given]), axis=1)
    return count, model, reached, moves, others.urgency, others.wants
