"""The slow, obvious versions of what the kernels of the publication routing graph do.

A pair is its literals and the link that it leads to; what is known of an event is a dictionary.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import ceil, prod

import numpy as np

from caddis.models import NO, UNASKED, YES, Marks
from caddis.ordering.kernels.layout import PlanArrays
from caddis.overlay.forwarding.routes import Routes

Pair = tuple[frozenset[int], int]
"""Literals and link."""


@dataclass(frozen=True)
class Prices:
    """What is believed, plainly."""

    costs: list[float]
    chances: list[float]
    answered_by: list[int]

    @classmethod
    def of(cls, plan: PlanArrays) -> Prices:
        return cls(plan.costs.tolist(), plan.chances.tolist(), plan.answered_by.tolist())


def pairs_of(routes: Routes) -> list[Pair]:
    found = []
    for need, target in zip(routes.needs.tolist(), routes.targets.tolist(), strict=True):
        literals = routes.literals[routes.starts[need] : routes.starts[need + 1]]
        found.append((frozenset(literals.tolist()), target))
    return found


def known_of(marks: Marks) -> dict[int, int]:
    return {concept: mark for concept, mark in enumerate(marks.tolist()) if mark != UNASKED}


def left_of(literals: Iterable[int], known: Mapping[int, int]) -> frozenset[int] | None:
    """The literals that are unanswered; None if one is not true."""
    answered = {one for one in literals if one >> 1 in known}
    if any(known[one >> 1] != (NO if one & 1 else YES) for one in answered):
        return None
    return frozenset(literals) - answered


def settled(
    pairs: Sequence[Pair], numbers: Iterable[int], known: Mapping[int, int], waiting: set[int]
) -> tuple[list[int], set[int]]:
    """The pairs that are open of those that lead to links which wait, and the links reached."""
    lefts = {i: left_of(pairs[i][0], known) for i in numbers if pairs[i][1] in waiting}
    reached = {pairs[i][1] for i, left in lefts.items() if left is not None and not left}
    return [i for i, left in lefts.items() if left and pairs[i][1] not in reached], reached


def gains(
    pairs: Sequence[Pair],
    numbers: Sequence[int],
    known: Mapping[int, int],
    prices: Prices,
    extended: bool,
) -> dict[int, float]:
    """By model: the edges that it is expected to cover, going through its answers.

    extended: with those of a link's other pairs, by the likeliest pair that the model alone may
    satisfy, as far as they are not the model's own.
    """
    found: dict[int, float] = defaultdict(float)
    by_link: dict[int, list[frozenset[int]]] = defaultdict(list)
    for i in numbers:
        left = left_of(pairs[i][0], known)
        assert left
        by_link[pairs[i][1]].append(left)
        for model in {prices.answered_by[one >> 1] for one in left}:
            own = [one for one in left if prices.answered_by[one >> 1] == model]
            for answers in product((True, False), repeat=len(own)):
                chance = prod(
                    prices.chances[one] if yes else 1 - prices.chances[one]
                    for one, yes in zip(own, answers, strict=True)
                )
                found[model] += chance * (len(own) if all(answers) else len(left))
    for lefts in by_link.values() if extended else ():
        edges = [prices.answered_by[one >> 1] for left in lefts for one in left]
        for model in set(edges):
            satisfying = [
                prod(prices.chances[one] for one in left)
                for left in lefts
                if {prices.answered_by[one >> 1] for one in left} == {model}
            ]
            found[model] += max(satisfying, default=0) * sum(one != model for one in edges)
    return dict(found)


def models_needed(
    pairs: Sequence[Pair], numbers: Iterable[int], known: Mapping[int, int], prices: Prices
) -> Counter[int]:
    """By model: how many unanswered literals of pairs wait for it."""
    return Counter(
        prices.answered_by[one >> 1] for i in numbers for one in left_of(pairs[i][0], known) or ()
    )


@dataclass
class PlainShares:
    """Of one event at one broker."""

    rest: dict[int, list[int]]
    """By neighbour: the pairs behind it that may still hold."""
    charge: set[int]
    heirs: set[int] = field(default_factory=set)
    refused: set[tuple[int, int]] = field(default_factory=set)


@dataclass
class SharedOut:
    """What came of news."""

    open: list[int]
    reached: set[int]
    gives: dict[int, int]
    urgent: set[int]
    wants: set[tuple[int, int]]
    """Heir and concept."""
    prices: dict[int, float]
    """Of the models that may run."""


def shared(
    pairs: Sequence[Pair],
    numbers: Sequence[int],
    before: Mapping[int, int],
    learnt: Mapping[int, int],
    waiting_links: set[int],
    prices: Prices,
    shares: PlainShares,
    running: int,
    keep: float,
    back: int | None,
) -> SharedOut:
    """Draw the conclusions from what was learnt; `back` stands for where the event came from."""
    known = {**before, **learnt}
    shares.charge -= {prices.answered_by[concept] for concept in learnt}
    wants, urgent = set(), set()
    for heir in shares.heirs:
        asked = models_needed(pairs, shares.rest[heir], before, prices)
        wants |= {(heir, one) for one in learnt if asked[prices.answered_by[one]]}
        for i in shares.rest[heir]:
            if left_of(pairs[i][0], known) == frozenset() and left_of(pairs[i][0], before):
                urgent.add(heir)
    still, reached = settled(pairs, numbers, known, waiting_links)
    own = models_needed(pairs, still, known, prices)
    gained = gains(pairs, still, known, prices, extended=True)
    price = {model: prices.costs[model] / gained[model] for model in own}
    gives: dict[int, int] = {}
    for heir in sorted(reached & set(shares.rest)):
        shares.heirs.add(heir)
        theirs = models_needed(pairs, shares.rest[heir], known, prices)
        both = sorted((shares.charge & set(own) & set(theirs)) - {running}, key=lambda m: price[m])
        for model in both[ceil(keep * len(both)) :]:
            gives[model] = heir
        shares.charge -= set(gives)
    for model in sorted(shares.charge - set(own) - {running}):
        crowd = {
            heir: models_needed(pairs, shares.rest[heir], known, prices)[model]
            for heir in sorted(shares.heirs)
            if (heir, model) not in shares.refused
        }
        if any(crowd.values()):
            gives[model] = max(crowd, key=lambda heir: crowd[heir])
        elif back is not None:
            gives[model] = back
    shares.charge -= set(gives)
    may_run = {model: price[model] for model in shares.charge & set(own)}
    return SharedOut(still, reached, gives, urgent, wants, may_run)


def numbers_of(flags: object) -> set[int]:
    return set(np.flatnonzero(np.asarray(flags)).tolist())
