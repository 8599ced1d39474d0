"""The extended edge cover of the paper's EMEC, and links that lead to the same."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caddis.arrays import Int32s
from caddis.models import UNASKED, YES, Asker, Catalogue, Marks, Statistics
from caddis.ordering import POLICIES, Executor
from caddis.ordering.demand import GONE, Demand
from caddis.ordering.graph import Graphs
from caddis.ordering.kernels.prices import extended_unit_price
from caddis.overlay.forwarding.routes import extended_gains, routes_of, settle
from tests.ordering.clauses import drawn_events, drawn_where, expected, matcher_of, models
from tests.ordering.twins import Problem, drawn_answers, drawn_problem

seeds = st.integers(0, 2**32 - 1)


def edges_of(demand: Demand) -> Counter[tuple[int, int]]:
    """Clause and link, with how often."""
    clauses = np.repeat(np.arange(len(demand.of_clause)), np.diff(demand.link_starts))
    return Counter(zip(clauses.tolist(), demand.links.tolist(), strict=True))


# -- Demand.led_to


@given(seed=seeds)
def test_links_that_lead_to_the_same_are_one(seed):
    rng = np.random.default_rng(seed)
    problem = drawn_problem(rng)
    demand, count = problem.demand(), int(rng.integers(1, problem.links + 1))
    targets = rng.integers(0, count, problem.links).astype(np.int32)
    led = demand.led_to(targets, count)
    assert edges_of(led) == Counter(
        (clause, int(targets[link]))
        for (clause, link), times in edges_of(demand).items()
        for _ in range(times)
    )
    assert led.concepts == demand.concepts
    assert led.literals.tolist() == demand.literals.tolist()
    assert led.starts.tolist() == demand.starts.tolist()
    assert led.of_clause.tolist() == demand.of_clause.tolist()
    assert led.link_offsets[-1] == count
    several = Counter(int(targets[link]) for _, link in edges_of(demand).elements())
    shares = set(led.shares.tolist())
    assert shares == {target for target, times in several.items() if times > 1}
    for clause, need in enumerate(led.of_clause.tolist()):
        begin, end = led.link_starts[clause : clause + 2]
        assert led.pinned[clause] == any(several[t] == 1 for t in led.links[begin:end].tolist())
        assert (need == GONE) == (begin == end)


# -- Executor(leads_to=)


@pytest.mark.parametrize("policy", ["emec", "foresight", "run-all"])
def test_an_outcome_s_links_are_what_links_lead_to(policy):
    for seed in range(8):
        rng = np.random.default_rng(seed)
        wheres = [drawn_where(rng) for _ in range(9)]
        events, batch = drawn_events(rng, 12)
        leads_to = rng.integers(0, 4, len(wheres)).astype(np.int32)
        catalogue = Catalogue(models())
        executor = Executor(
            [matcher_of(wheres[:5], catalogue), matcher_of(wheres[5:], catalogue)],
            catalogue,
            statistics=Statistics(),
            asker=Asker(cache=None, clock=time.perf_counter),
            policy=policy,
            leads_to=leads_to,
        )
        outcome = executor.match(batch)
        pairs = list(zip(outcome.rows.tolist(), outcome.links.tolist(), strict=True))
        assert len(set(pairs)) == len(pairs)
        assert set(pairs) == {(row, int(leads_to[link])) for row, link in expected(wheres, events)}


# -- the price


def one_event(problem: Problem, demand: Demand) -> tuple[Graphs, Int32s]:
    clauses = np.arange(len(problem.clauses), dtype=np.int32)
    graphs = Graphs(demand, problem.plan(demand), np.zeros_like(clauses), clauses, 1)
    return graphs, clauses


def overlay_prices(problem: Problem, demand: Demand, known: Marks) -> dict[int, float]:
    """The extended unit price of each model on the publication routing graph."""
    plan = problem.plan(demand).arrays
    routes, _ = routes_of(demand, np.arange(len(demand.concepts), dtype=np.int32))
    pairs = np.arange(len(routes.needs), dtype=np.int32)
    states = np.zeros(len(routes.slots), np.uint8)
    count = settle(pairs, len(pairs), routes, known, states)
    gains = extended_gains(pairs, count, routes, known, plan)
    return {m: plan.costs[m] / gain for m, gain in enumerate(gains.tolist()) if gain > 0}


@given(seed=seeds)
def test_ordering_and_overlay_agree_on_the_extended_price(seed):
    """Answer by answer: links that are satisfied have no edges any longer."""
    rng = np.random.default_rng(seed)
    problem = drawn_problem(rng, most_clauses=12)
    count = int(rng.integers(1, problem.links + 1))
    demand = problem.demand().led_to(rng.integers(0, count, problem.links).astype(np.int32), count)
    plan = problem.plan(demand).arrays
    graphs, _ = one_event(problem, demand)
    truth = drawn_answers(rng, 1, len(demand.concepts))
    known = np.full(len(demand.concepts), UNASKED, np.uint8)
    while prices := overlay_prices(problem, demand, known):
        left = int(graphs.arrays.counts[0])
        chosen = extended_unit_price(0, left, graphs.arrays.clauses, plan)
        assert prices[chosen] == pytest.approx(min(prices.values()))
        answered = np.flatnonzero(plan.answered_by == int(rng.choice(sorted(prices)))).astype(
            np.int32
        )
        known[answered] = truth[0, answered]
        graphs.tell(np.zeros(1, np.int32), answered, truth[:, answered])
        graphs.settle()
    assert graphs.arrays.counts[0] == 0


def test_a_link_that_is_satisfied_weighs_nothing():
    """(f1 AND f2) leads to two links, one of which f3 satisfied: it has two edges, not four."""
    both = frozenset({0, 2}), frozenset({0, 1})
    others = (frozenset({4}), frozenset({0})), (frozenset({6, 8}), frozenset({2}))
    for cost, first in ((0.9, 3), (1.1, 0)):
        problem = Problem(
            [both, *others],
            3,
            np.array([1.0, 99, 1, cost, 99]),
            np.full(5, 0.5),
            np.arange(5, dtype=np.int32),
        )
        demand = problem.demand()
        graphs, _ = one_event(problem, demand)
        graphs.tell(np.zeros(1, np.int32), np.array([2], np.int32), np.full((1, 1), YES, np.uint8))
        graphs.settle()
        count = int(graphs.arrays.counts[0])
        clauses, plan = graphs.arrays.clauses, problem.plan(demand).arrays
        assert extended_unit_price(0, count, clauses, plan) == first


def by_hand(costs: list[float], *clauses: set[int]) -> Problem:
    """Clauses of one link, whose concepts are true half of the time."""
    return Problem(
        [(frozenset(one), frozenset([0])) for one in clauses],
        1,
        np.array(costs),
        np.full(len(costs), 0.5),
        np.arange(len(costs), dtype=np.int32),
    )


def first_choice(policy: str, problem: Problem) -> list[int]:
    demand = problem.demand()
    graphs, _ = one_event(problem, demand)
    wanted = POLICIES[policy].next_models(graphs, problem.plan(demand))
    return np.flatnonzero(wanted[0]).tolist()


def test_the_extended_price_counts_what_leaves_with_a_link_by_hand():
    """f1 OR (f2 AND f3): f1 is 10 / 1 by the unit price, and 10 / (1 + ½·2) = 5 by the extended
    one; f2 is 12 / (½·1 + ½·2) = 8 by both.
    """
    problem = by_hand([10, 12, 90], {0}, {2, 4})
    assert first_choice("unit-price", problem) == [1]
    assert first_choice("emec", problem) == [0]
    for cost, first in ((7.4, 1), (7.6, 0)):
        assert first_choice("emec", by_hand([10, cost, 90], {0}, {2, 4})) == [first]


def test_the_edges_of_a_model_s_own_do_not_count_twice():
    """f1 OR (f1 AND f2): f1 covers an edge of each clause, or all three; f2 goes along if f1 is
    true: (½·1 + ½·1) + (½·1 + ½·2) + ½·1 = 3. f2 covers ½·1 + ½·2 = 1.5.
    """
    for cost, first in ((2.1, 1), (1.9, 0)):
        problem = by_hand([cost, 1.0], {0}, {0, 2})
        assert first_choice("emec", problem) == [first]


def test_where_no_links_are_shared_emec_is_the_unit_price():
    for seed in range(30):
        rng = np.random.default_rng(seed)
        problem = drawn_problem(rng)
        apart = [(one, frozenset([i])) for i, (one, _) in enumerate(problem.clauses)]
        problem = replace(problem, clauses=apart, links=len(apart))
        assert first_choice("emec", problem) == first_choice("unit-price", problem)
