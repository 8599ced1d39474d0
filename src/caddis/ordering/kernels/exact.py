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

from caddis.arrays import Anys, Floats, Int32s, Int64s
from caddis.compiling import inner_kernel, kernel
from caddis.ordering.kernels.layout import MOST_CLAUSES, NONE, Clauses, PlanArrays

MOST_STATES = 2200
"""A part with more states than this is not solved: seven models of one concept have 2187."""
MOST_LINKS = 62
"""A part with more shared links than this is not solved: they are bits of one int64."""
OWN = 1 << MOST_LINKS
"""The bit of a clause that has a link of its own, which no other clause can satisfy."""


DIGIT = np.dtype(
    [(name, np.int64) for name in ("model", "weight", "values", "first", "now")], align=True
)
"""A model that a part needs, as a digit of the numbers of its states.

weight: what one step of the digit adds to the number of a state.
values: how many values it has: 1 + 2^concepts.
first: the first concept of its model; a model's concepts have adjacent numbers.
now: the digit in the state at hand.
"""


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
        need = clauses.needs[clauses.order[i]]
        for at in range(need.start, need.start + need.count):
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
def digits_of(widths: Int64s, answered_by: Int32s, bits: Int64s) -> Anys:
    """Number the states of a part, and its concepts through all models; each is a DIGIT."""
    digits, used, weight, first = np.empty(len(widths), DIGIT), 0, 1, 0
    first_of = np.empty(len(widths), np.int64)
    for model in range(len(widths)):
        if widths[model] > 0:
            digit, values = digits[used], 1 + (1 << widths[model])
            digit.model, digit.weight, digit.values, digit.first = model, weight, values, first
            # The walk over the states begins at the last one, where every digit is at its highest.
            digit.now = values - 1
            first_of[model] = first
            weight *= values
            first += widths[model]
            used += 1
    for concept in range(len(bits)):
        if bits[concept] >= 0:
            bits[concept] += first_of[answered_by[concept]]
    return digits[:used]


@inner_kernel
def part_of(begin: int, count: int, clauses: Clauses, bits: Int64s) -> Part:
    """A part in bits; it is empty if there are too many shared links."""
    part = Part(np.zeros(count, np.int64), np.zeros(count, np.int64), np.zeros(count, np.int64))
    links, known = np.empty(MOST_LINKS + 1, np.int32), 0
    for i in range(count):
        clause = clauses.order[begin + i]
        need = clauses.needs[clause]
        for at in range(need.start, need.start + need.count):
            bit = 1 << bits[clauses.literals[at] >> 1]
            if clauses.literals[at] & 1:
                part.no[i] |= bit
            else:
                part.yes[i] |= bit
        while clause >= 0:
            wait = clauses.waits[clause]
            part.links[i] |= OWN if wait.pinned else 0
            for s in range(wait.start, wait.start + wait.count):
                link = clauses.shares[s]
                if known <= MOST_LINKS and not clauses.done[link]:
                    k = 0
                    while k < known and links[k] != link:
                        k += 1
                    links[k] = link
                    if k == known:
                        known += 1
                    # With too many links the part is given up below; until then no shift overflows.
                    part.links[i] |= 1 << (k if k < MOST_LINKS else MOST_LINKS - 1)
            clause = wait.twin
    return part if known <= MOST_LINKS else Part(part.yes[:0], part.no[:0], part.links[:0])


@inner_kernel
def outcome_chances(digits: Anys, bits: Int64s, plan: PlanArrays) -> Floats:
    """How likely the model of each digit gives each of its possible answers."""
    most = 1
    for digit in range(len(digits)):
        if digits[digit].values > most:
            most = digits[digit].values
    chances = np.empty((len(digits), most - 1))
    for digit in range(len(digits)):
        for answers in range(most - 1):
            chances[digit, answers] = 1.0
    for concept in range(len(bits)):
        if bits[concept] < 0:
            continue
        digit = 0
        while digits[digit].model != plan.answered_by[concept]:
            digit += 1
        for answers in range(digits[digit].values - 1):
            yes = (answers >> (bits[concept] - digits[digit].first)) & 1
            chances[digit, answers] *= plan.chances[2 * concept + 1 - yes]
    return chances


@inner_kernel(borrows=True)
def open_in_state(part: Part, digits: Anys) -> int:
    """The concepts that open clauses need in the state at hand, as bits."""
    true, known = 0, 0
    for i in range(len(digits)):
        digit = digits[i]
        # 2^concepts - 1, the mask of a model's concepts, is two less than the values of its digit.
        if digit.now > 0:
            true |= (digit.now - 1) << digit.first
            known |= (digit.values - 2) << digit.first
    # First the links that are satisfied, then the clauses that one which is not still waits for.
    done, needed = 0, 0
    for i in range(len(part.yes)):
        yes, no = part.yes[i], part.no[i]
        if (yes & known == yes & true) & (no & true == 0) & ((yes | no) & ~known == 0):
            done |= part.links[i] & ~OWN
    for i in range(len(part.yes)):
        yes, no = part.yes[i], part.no[i]
        if (yes & known == yes & true) & (no & true == 0) & (part.links[i] & ~done != 0):
            needed |= (yes | no) & ~known
    return needed


@inner_kernel(borrows=True)
def step_back(digits: Anys) -> None:
    """Go to the state before the one at hand."""
    digit = 0
    while digit < len(digits) and digits[digit].now == 0:
        digits[digit].now = digits[digit].values - 1
        digit += 1
    if digit < len(digits):
        digits[digit].now -= 1


@inner_kernel(borrows=True)
def first_model(part: Part, digits: Anys, costs: Floats, chances: Floats, values: Floats) -> int:
    """The first model of a strategy of least expected cost; values is filled, by state."""
    choice = NONE
    # Answers only ever raise a digit, so the values of all later states are there already.
    for state in range(len(values) - 1, -1, -1):
        needed, least = open_in_state(part, digits), np.inf
        for i in range(len(digits)):
            digit = digits[i]
            if needed & ((digit.values - 2) << digit.first):
                total = costs[digit.model]
                for answers in range(digit.values - 1):
                    total += chances[i, answers] * values[state + (1 + answers) * digit.weight]
                if total < least:
                    choice, least = digit.model, total
        # The last state of the walk is the part as it is now, so its choice is the one that stays.
        values[state] = least if needed else 0.0
        step_back(digits)
    return choice


@inner_kernel
def solved(begin: int, count: int, clauses: Clauses, plan: PlanArrays) -> int:
    """The first model of a strategy of least expected cost; NONE if too much is open."""
    bits = np.empty(len(plan.answered_by), np.int64)
    for concept in range(len(bits)):
        bits[concept] = -1
    widths = widths_of(begin, count, clauses, plan.answered_by, len(plan.costs), bits)
    if len(widths) == 0:
        return NONE
    digits = digits_of(widths, plan.answered_by, bits)
    part = part_of(begin, count, clauses, bits)
    if len(part.yes) == 0:
        return NONE
    chances = outcome_chances(digits, bits, plan)
    values = np.empty(digits[-1].weight * digits[-1].values)
    return first_model(part, digits, plan.costs, chances, values)


@kernel
def by_solving(some: Int32s, parts: Anys, clauses: Clauses, plan: PlanArrays) -> None:
    """Choose the best for those of some parts that can be solved."""
    for i in some:
        if 1 < parts[i].count <= MOST_CLAUSES:
            parts[i].choice = solved(parts[i].begin, parts[i].count, clauses, plan)
