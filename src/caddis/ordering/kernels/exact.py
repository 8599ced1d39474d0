"""The best choice of all, where so little is open that it can be worked out.

What can come to be known is numbered: a digit a model, 0 for not run, else 1 + its answers as bits.
Models only ever run, so whatever a state leads to has a higher number, and one pass from the last
state to the first gives the least expected cost of each: the least, over the models that its open
clauses need, of the model's cost and what its answers leave to pay. For that pass a part is held in
bits, so that what is open in a state takes a few instructions a clause.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from caddis.arrays import Floats, Int32s, Int64s
from caddis.compiling import inner_kernel
from caddis.ordering.kernels.layout import NONE, Clauses, PlanArrays

MOST_STATES = 2200
"""A part with more states than this is not solved: seven models of one concept have 2187."""
MOST_LINKS = 62
"""A part with more shared links than this is not solved: they are bits of one int64."""
OWN = 1 << MOST_LINKS
"""The bit of a clause that has a link of its own, which no other clause can satisfy."""


class Digits(NamedTuple):
    """The models that a part needs, as digits of the numbers of its states."""

    models: Int64s
    weights: Int64s
    """What one step of each digit adds to the number of a state."""
    values: Int64s
    """How many values each digit has: 1 + 2^concepts."""
    first: Int64s
    """The first concept of each digit's model; a model's concepts have adjacent numbers."""
    now: Int64s
    """The digits of the state at hand."""


class Part(NamedTuple):
    """The clauses of a part in bits."""

    yes: Int64s
    """The concepts that must be true."""
    no: Int64s
    links: Int64s
    """The links that it shares, and OWN."""


@inner_kernel
def widths_of(
    begin: int, count: int, clauses: Clauses, answered_by: Int32s, models: int, bits: Int64s
) -> Int64s:
    """How many concepts of each model are open; an empty array if that makes too many states.

    bits: -1 before; then for each open concept which of its model's concepts it is.
    """
    widths, states = np.zeros(models, np.int64), 1
    for i in range(begin, begin + count):
        start = clauses.literal_starts[clauses.order[i]]
        for at in range(start, start + clauses.literal_counts[clauses.order[i]]):
            concept = clauses.literals[at] >> 1
            if bits[concept] < 0 and states <= MOST_STATES:
                # The model's factor 1 + 2^width gives way to that of one concept more.
                model = answered_by[concept]
                states //= 1 + (1 << widths[model]) if widths[model] else 1
                bits[concept] = widths[model]
                widths[model] += 1
                states *= 1 + (1 << widths[model])
    return widths if states <= MOST_STATES else widths[:0]


@inner_kernel
def digits_of(widths: Int64s, answered_by: Int32s, bits: Int64s) -> Digits:
    """Number the states of a part, and its concepts through all models."""
    models = np.flatnonzero(widths)
    values, weights = 1 + (1 << widths[models]), np.ones(len(models), np.int64)
    first, first_of = np.zeros(len(models), np.int64), np.zeros(len(widths), np.int64)
    for digit in range(1, len(models)):
        weights[digit] = weights[digit - 1] * values[digit - 1]
        first[digit] = first[digit - 1] + widths[models[digit - 1]]
        first_of[models[digit]] = first[digit]
    for concept in range(len(bits)):
        if bits[concept] >= 0:
            bits[concept] += first_of[answered_by[concept]]
    # The walk over the states begins at the last one, in which every digit is at its highest.
    return Digits(models, weights, values, first, values - 1)


@inner_kernel
def part_of(begin: int, count: int, clauses: Clauses, bits: Int64s) -> Part:
    """A part in bits; it is empty if there are too many shared links."""
    part = Part(np.zeros(count, np.int64), np.zeros(count, np.int64), np.zeros(count, np.int64))
    links, known = np.empty(MOST_LINKS + 1, np.int32), 0
    for i in range(count):
        clause = clauses.order[begin + i]
        start = clauses.literal_starts[clause]
        for at in range(start, start + clauses.literal_counts[clause]):
            bit = 1 << bits[clauses.literals[at] >> 1]
            if clauses.literals[at] & 1:
                part.no[i] |= bit
            else:
                part.yes[i] |= bit
        while clause >= 0:
            part.links[i] |= OWN if clauses.pinned[clause] else 0
            for s in range(clauses.share_starts[clause], clauses.share_starts[clause + 1]):
                link = clauses.shares[s]
                if known <= MOST_LINKS and not clauses.done[link]:
                    k = 0
                    while k < known and links[k] != link:
                        k += 1
                    links[k], known = link, max(known, k + 1)
                    # With too many links the part is given up below; until then no shift overflows.
                    part.links[i] |= 1 << min(k, MOST_LINKS - 1)
            clause = clauses.twins[clause]
    return part if known <= MOST_LINKS else Part(part.yes[:0], part.no[:0], part.links[:0])


@inner_kernel
def outcome_chances(digits: Digits, bits: Int64s, plan: PlanArrays) -> Floats:
    """How likely the model of each digit gives each of its possible answers."""
    most = 1
    for values in digits.values:
        most = max(most, values)
    chances = np.ones((len(digits.models), most - 1))
    for concept in range(len(bits)):
        if bits[concept] < 0:
            continue
        digit = 0
        while digits.models[digit] != plan.answered_by[concept]:
            digit += 1
        for answers in range(digits.values[digit] - 1):
            yes = (answers >> (bits[concept] - digits.first[digit])) & 1
            chances[digit, answers] *= plan.chances[2 * concept + 1 - yes]
    return chances


@inner_kernel
def open_concepts(part: Part, true: int, known: int) -> int:
    """The concepts that open clauses need.

    true, known: the concepts that are true and those that are known, as bits.
    """
    # First the links that are satisfied, then the clauses that one which is not still waits for.
    done, needed = 0, 0
    for i in range(len(part.yes)):
        yes, no = part.yes[i], part.no[i]
        if yes & known == yes & true and no & true == 0 and (yes | no) & ~known == 0:
            done |= part.links[i] & ~OWN
    for i in range(len(part.yes)):
        yes, no = part.yes[i], part.no[i]
        if yes & known == yes & true and no & true == 0 and part.links[i] & ~done:
            needed |= (yes | no) & ~known
    return needed


@inner_kernel
def open_in_state(part: Part, digits: Digits) -> int:
    """The concepts that are needed in the state at hand."""
    true, known = 0, 0
    for digit in range(len(digits.now)):
        # 2^concepts - 1, the mask of a model's concepts, is two less than the values of its digit.
        if digits.now[digit] > 0:
            true |= (digits.now[digit] - 1) << digits.first[digit]
            known |= (digits.values[digit] - 2) << digits.first[digit]
    return open_concepts(part, true, known)


@inner_kernel
def step_back(digits: Digits) -> None:
    """Go to the state before the one at hand."""
    digit = 0
    while digit < len(digits.now) and digits.now[digit] == 0:
        digits.now[digit] = digits.values[digit] - 1
        digit += 1
    if digit < len(digits.now):
        digits.now[digit] -= 1


@inner_kernel
def first_model(part: Part, digits: Digits, costs: Floats, chances: Floats, values: Floats) -> int:
    """The first model of a strategy of least expected cost; values is filled, by state."""
    choice = NONE
    # Answers only ever raise a digit, so the values of all later states are there already.
    for state in range(len(values) - 1, -1, -1):
        needed, least = open_in_state(part, digits), np.inf
        for digit in range(len(digits.models)):
            if needed & ((digits.values[digit] - 2) << digits.first[digit]):
                total, weight = costs[digits.models[digit]], digits.weights[digit]
                for answers in range(digits.values[digit] - 1):
                    total += chances[digit, answers] * values[state + (1 + answers) * weight]
                if total < least:
                    choice, least = digits.models[digit], total
        # The last state of the walk is the part as it is now, so its choice is the one that stays.
        values[state] = least if needed else 0.0
        step_back(digits)
    return choice


@inner_kernel
def solved(begin: int, count: int, clauses: Clauses, plan: PlanArrays) -> int:
    """The first model of a strategy of least expected cost; NONE if too much is open."""
    bits = np.full(len(plan.answered_by), -1, np.int64)
    widths = widths_of(begin, count, clauses, plan.answered_by, len(plan.costs), bits)
    if len(widths) == 0:
        return NONE
    digits = digits_of(widths, plan.answered_by, bits)
    part = part_of(begin, count, clauses, bits)
    if len(part.yes) == 0:
        return NONE
    chances = outcome_chances(digits, bits, plan)
    values = np.empty(digits.weights[-1] * digits.values[-1])
    return first_model(part, digits, plan.costs, chances, values)
