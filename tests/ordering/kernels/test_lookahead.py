"""The lookahead minimises what DESIGN's formula says remains; here it is worked out naively."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from caddis.lab.workloads.instances import random_instance
from caddis.ordering.certificate import Instance
from caddis.ordering.kernels.either import lookahead_either
from caddis.ordering.kernels.layout import MOST_ASKED, NONE
from caddis.ordering.kernels.lookahead import lookahead
from tests.ordering.twins import an_instance, fares, graphs_of, models_of, outcomes_of

SEEDS = st.integers(0, 2**32 - 1)


def chance_of(literal: int, instance: Instance) -> float:
    share = float(instance.selectivity[literal >> 1])
    return 1 - share if literal & 1 else share


def in_order(literals: Iterable[int], instance: Instance) -> list[int]:
    """Cheapest to refute first: by cost / chance of false."""

    def rank(literal: int) -> tuple[float, int]:
        cost = instance.costs[instance.answered_by[literal >> 1]]
        return cost / max(1 - chance_of(literal, instance), 1e-12), literal

    return sorted(literals, key=rank)


def passes_of(literals: Sequence[int], instance: Instance) -> dict[int, float]:
    """How likely each model lets the clause pass, in the clause's order."""
    passes: dict[int, float] = {}
    for literal in in_order(literals, instance):
        model = int(instance.answered_by[literal >> 1])
        passes[model] = passes.get(model, 1.0) * chance_of(literal, instance)
    return passes


def value(clauses: Iterable[tuple[Sequence[int], float]], instance: Instance) -> float:
    """V = Σ cost · need: clauses, and how likely each is there at all."""
    idle: dict[int, float] = {}
    for literals, there in clauses:
        reach = there
        for model, chance in passes_of(literals, instance).items():
            idle[model] = idle.get(model, 1.0) * (1 - reach)
            reach *= chance
    return sum(float(instance.costs[model]) * (1 - none) for model, none in idle.items())


def without(model: int, literals: Sequence[int], instance: Instance) -> list[int]:
    return [literal for literal in literals if instance.answered_by[literal >> 1] != model]


def remaining(model: int, clauses: list[tuple[int, ...]], instance: Instance) -> float:
    """What is expected to be paid if a model runs next: its cost, and V after its answers."""
    concepts = {one >> 1 for literals in clauses for one in literals}
    total = float(instance.costs[model])
    if sum(instance.answered_by[concept] == model for concept in concepts) > MOST_ASKED:
        left = [
            (without(model, literals, instance), passes_of(literals, instance).get(model, 1.0))
            for literals in clauses
        ]
        return total + value(left, instance)
    for answers, chance in outcomes_of(model, clauses, instance):
        alive = [literals for literals in clauses if fares(literals, answers)]
        left = [(without(model, literals, instance), 1.0) for literals in alive]
        total += chance * value(left, instance)
    return total


def assert_least(model: int, clauses: list[tuple[int, ...]], instance: Instance) -> None:
    totals = {
        one: remaining(one, clauses, instance) for one in models_of(clauses, instance.answered_by)
    }
    assert totals[model] == pytest.approx(min(totals.values()))


@given(SEEDS)
def test_the_model_is_chosen_after_which_least_is_expected_to_remain(seed):
    rng = np.random.default_rng(seed)
    instance = random_instance(rng, joined=0, clauses=(1, 12))
    graphs, plan = graphs_of(instance)
    model = lookahead(0, int(graphs.arrays.counts[0]), graphs.arrays.clauses, plan.arrays)
    assert_least(model, list({literals for _, literals in instance.clauses}), instance)


@given(SEEDS)
def test_of_a_model_of_very_many_concepts_clauses_are_taken_to_pass_independently(seed):
    rng = np.random.default_rng(seed)
    instance = random_instance(rng, joined=0, models=(2, 3), concepts=(12, 16), clauses=(8, 16))
    graphs, plan = graphs_of(instance)
    model = lookahead(0, int(graphs.arrays.counts[0]), graphs.arrays.clauses, plan.arrays)
    assert_least(model, list({literals for _, literals in instance.clauses}), instance)


def test_products_over_very_many_clauses_do_not_underflow():
    """435 clauses get to one model with a chance of 0.95² each: 0.1 to the 435th is no float."""
    costs, selectivity = [*np.linspace(1, 2, 30), 500], [0.95] * 31
    pairs = [{2 * one, 2 * other, 60} for one, other in combinations(range(30), 2)]
    instance = an_instance(costs, selectivity, *pairs)
    graphs, plan = graphs_of(instance)
    model = lookahead(0, len(pairs), graphs.arrays.clauses, plan.arrays)
    assert_least(model, [literals for _, literals in instance.clauses], instance)


def test_concepts_that_are_certain_are_no_trouble():
    for selectivity in ([0, 1, 0.5], [1, 1, 1], [0, 0, 0]):
        instance = an_instance([5, 3, 4], selectivity, {0, 2}, {2, 4}, {1, 5})
        graphs, plan = graphs_of(instance)
        model = lookahead(0, 3, graphs.arrays.clauses, plan.arrays)
        assert_least(model, [literals for _, literals in instance.clauses], instance)


# -- links of several clauses


def ahead_on_links(instance: Instance) -> int:
    graphs, plan = graphs_of(instance)
    clauses, count = graphs.arrays.clauses, int(graphs.arrays.counts[0])
    return lookahead_either(0, count, clauses, plan.arrays, np.empty(len(clauses.done)))


def promise(literals: Sequence[int], instance: Instance) -> float:
    """What a clause is expected to cost alone, for its chance to hold."""
    cost, chance = 0.0, 1.0
    for literal in in_order(literals, instance):
        cost += chance * instance.costs[instance.answered_by[literal >> 1]]
        chance *= chance_of(literal, instance)
    return cost / chance


def gated_value(instance: Instance, answers: dict[int, bool]) -> float:
    """V, if the clauses of a link are tried one after another until one holds."""
    links = [link for link, _ in instance.clauses]
    waiting = dict.fromkeys(links, 1.0)
    idle = dict.fromkeys(range(instance.models), 1.0)
    for link, literals in sorted(instance.clauses, key=lambda one: promise(one[1], instance)):
        if not fares(literals, answers):
            continue
        left = [one for one in in_order(literals, instance) if one >> 1 not in answers]
        reach = waiting[link] if links.count(link) > 1 else 1.0
        holds = 1.0
        for literal in left:
            idle[int(instance.answered_by[literal >> 1])] *= 1 - reach
            reach *= chance_of(literal, instance)
            holds *= chance_of(literal, instance)
        waiting[link] *= 1 - holds
    return sum(float(instance.costs[model]) * (1 - none) for model, none in idle.items())


@given(SEEDS)
def test_a_clause_counts_as_far_as_its_link_may_still_wait_for_it(seed):
    rng = np.random.default_rng(seed)
    instance = random_instance(rng, joined=0.6, clauses=(2, 10))
    literals = [one for _, one in instance.clauses]
    assume(len(set(literals)) == len(literals))
    model = ahead_on_links(instance)
    totals = {}
    for one in models_of(literals, instance.answered_by):
        outcomes = list(outcomes_of(one, literals, instance))
        if len(outcomes) > 1 << MOST_ASKED:
            assert model == NONE
            return
        after = [chance * gated_value(instance, answers) for answers, chance in outcomes]
        totals[one] = instance.costs[one] + sum(after)
    assert totals[model] == pytest.approx(min(totals.values()))


def test_the_clause_that_promises_more_is_tried_first():
    """Either will do: a cheap one that holds half the time spares the dear one."""
    either = Instance(
        costs=np.array([10.0, 4.0]),
        answered_by=np.arange(2, dtype=np.int32),
        selectivity=np.array([0.9, 0.5]),
        clauses=((0, (0,)), (0, (2,))),
        links=1,
    )
    assert ahead_on_links(either) == 1
    assert gated_value(either, {}) == pytest.approx(4 + 0.5 * 10)
