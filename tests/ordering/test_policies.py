"""Every policy finds the same, and asks for nothing that no open clause needs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caddis.arrays import Bools, Int32s
from caddis.errors import ModelError
from caddis.lab.workloads.instances import outcomes, paper_workload, random_instance, spread_costs
from caddis.lab.yardsticks.ordering_costs import candidate_costs, policy_costs
from caddis.models import NO, YES, Marks
from caddis.ordering import POLICIES
from caddis.ordering.certificate.proofs import certificates
from caddis.ordering.demand import unshared
from caddis.ordering.graph import Graphs, Plan
from caddis.ordering.policies import MOST_LOOKED_AHEAD, Policy, concepts_of, decide
from tests.ordering.twins import (
    Problem,
    drawn_answers,
    drawn_pairs,
    drawn_problem,
    graphs_of,
    matched_links,
    models_of,
    open_literals,
    satisfied_links,
)
from tests.runs import seeds, times

SEEDS = st.integers(0, 2**32 - 1)


class Watched:
    """A policy that is looked at while it chooses."""

    def __init__(self, policy: Policy, answered_by: Int32s) -> None:
        self._policy, self._answered_by = policy, answered_by
        self.name, self.shares = policy.name, policy.shares

    def next_models(self, graphs: Graphs, plan: Plan) -> Bools:
        wanted = self._policy.next_models(graphs, plan)
        for event, row in enumerate(wanted):
            needed = models_of(open_literals(graphs.arrays, event), self._answered_by)
            assert set(np.flatnonzero(row).tolist()) <= needed
            assert row.any() == (event in graphs.open)
        return wanted


def found(
    problem: Problem, plan: Plan, rows: Int32s, clauses: Int32s, answers: Marks, policy: Policy
) -> set[tuple[int, int]]:
    """The (event, link) that match, if these are the answers."""
    demand, concepts = problem.demand(), concepts_of(plan)
    events = np.arange(len(answers), dtype=np.int32)
    apart = None if policy.shares else unshared(demand, rows, clauses)
    if apart is not None:
        demand, rows, clauses, events = apart.demand, apart.events, apart.clauses, apart.event_of
    graphs = Graphs(demand, plan, rows, clauses, len(events))

    def answer(model: int, asking: Int32s) -> Marks:
        marks: Marks = answers[np.ix_(events[asking], concepts[model])]
        return marks

    decide(graphs, plan, Watched(policy, problem.answered_by), answer)
    matches = satisfied_links(demand, rows, clauses, graphs.satisfied())
    return {(int(events[event]), link) for event, link in matches}


@pytest.mark.parametrize("policy", list(POLICIES))
@settings(max_examples=times(25, 120))
@given(seed=SEEDS)
def test_however_events_are_batched_every_policy_finds_what_evaluating_every_concept_finds(
    policy, seed
):
    rng = np.random.default_rng(seed)
    problem, events = drawn_problem(rng, most_clauses=16), 12
    plan = problem.plan(problem.demand())
    rows, clauses = drawn_pairs(rng, events, len(problem.clauses))
    answers = drawn_answers(rng, events, len(problem.selectivity))
    cuts = np.sort(rng.integers(0, events + 1, int(rng.integers(0, 4))))
    matches: set[tuple[int, int]] = set()
    for begin, end in zip([0, *cuts], [*cuts, events], strict=True):
        own = (rows >= begin) & (rows < end)
        batch = rows[own] - np.int32(begin), clauses[own], answers[begin:end]
        in_batch = found(problem, plan, *batch, POLICIES[policy])
        matches |= {(int(begin) + event, link) for event, link in in_batch}
    assert matches == {
        (event, link)
        for event in range(events)
        for link in matched_links(
            [problem.clauses[c] for c in clauses[rows == event]], answers[event]
        )
    }


@pytest.mark.parametrize("policy", list(POLICIES))
def test_on_large_graphs_too_a_policy_wants_what_open_clauses_need(policy):
    rng = np.random.default_rng(3)
    instance = spread_costs(3 * MOST_LOOKED_AHEAD, rng=rng)
    drawn = outcomes(instance, 3, rng)
    graphs, plan = graphs_of(instance, 3)
    concepts = concepts_of(plan)

    def answer(model: int, asking: Int32s) -> Marks:
        return np.where(drawn[np.ix_(asking, concepts[model])], YES, NO).astype(np.uint8)

    decide(graphs, plan, Watched(POLICIES[policy], instance.answered_by), answer)
    clauses = [literals for _, literals in instance.clauses]
    truth = [[all(row[one >> 1] for one in literals) for literals in clauses] for row in drawn]
    assert graphs.satisfied().reshape(3, -1).tolist() == truth


@pytest.mark.parametrize("policy", ["lookahead", "foresight", "rollout"])
def test_a_remembered_choice_that_does_not_fit_is_thought_over(policy):
    """Two parts may have one hash; here every choice that was remembered is another part's."""
    rng = np.random.default_rng(7)
    for _ in range(20):
        problem = drawn_problem(rng, most_clauses=16)
        spare = replace(problem, costs=np.append(problem.costs, 1.0))
        plan = spare.plan(spare.demand())
        rows, clauses = drawn_pairs(rng, 12, len(problem.clauses))
        given = rows, clauses, drawn_answers(rng, 12, len(problem.selectivity))
        matches = found(spare, plan, *given, POLICIES[policy])
        plan.memo.models[:] = len(problem.costs)
        assert found(spare, plan, *given, POLICIES[policy]) == matches


@pytest.mark.parametrize("policy", list(POLICIES))
def test_no_event_costs_less_than_its_certificate(policy):
    rng = np.random.default_rng(4)
    drawn = [random_instance(rng) for _ in seeds(30, 120)]
    drawn += [paper_workload(60, 20, rng=rng), spread_costs(60, 20, rng=rng)]
    for instance in drawn:
        events = outcomes(instance, 12, rng)
        costs = policy_costs(instance, events, POLICIES[policy])
        assert (costs >= certificates(instance, events) * (1 - 1e-9)).all()


def test_running_all_costs_what_the_models_that_candidates_name_cost():
    rng = np.random.default_rng(5)
    for _ in range(30):
        instance = random_instance(rng)
        rows, clauses = drawn_pairs(rng, 4, len(instance.clauses))
        drawn = outcomes(instance, 4, rng)
        costs = candidate_costs(instance, drawn, POLICIES["run-all"], rows, clauses)
        for event in range(4):
            named = [instance.clauses[c][1] for c in clauses[rows == event]]
            models = sorted(models_of(named, instance.answered_by))
            assert costs[event] == pytest.approx(instance.costs[models].sum())


def test_without_sharing_an_event_costs_what_its_links_cost_alone():
    rng = np.random.default_rng(6)
    alone = POLICIES["per-subscription"]
    for _ in range(30):
        instance = random_instance(rng)
        drawn = outcomes(instance, 5, rng)
        total = np.zeros(5)
        for link in range(instance.links):
            own = [c for c, (of, _) in enumerate(instance.clauses) if of == link]
            rows, places = (grid.ravel() for grid in np.indices((5, len(own))))
            clauses = np.array(own, np.int32)[places]
            total += candidate_costs(instance, drawn, alone, rows.astype(np.int32), clauses)
        assert policy_costs(instance, drawn, alone) == pytest.approx(total)


@given(SEEDS)
def test_taken_apart_every_pair_of_event_and_link_is_an_event_of_its_own(seed):
    rng = np.random.default_rng(seed)
    problem = drawn_problem(rng)
    demand = problem.demand()
    rows, clauses = drawn_pairs(rng, 4, len(problem.clauses))
    apart = unshared(demand, rows, clauses)
    assert (np.diff(apart.events) >= 0).all()
    assert (np.diff(apart.demand.link_starts) == 1).all()
    taken = {
        (int(apart.event_of[event]), int(apart.demand.links[clause]), int(clauses[pair]))
        for event, clause, pair in zip(apart.events, apart.clauses, apart.pair_of, strict=True)
    }
    assert taken == {
        (int(row), link, int(clause))
        for row, clause in zip(rows, clauses, strict=True)
        for link in problem.clauses[clause][1]
    }
    assert len(set(apart.events.tolist())) == len({(event, link) for event, link, _ in taken})


def test_a_policy_is_found_by_its_name_and_a_near_one_is_named():
    assert POLICIES.named(None).name == "foresight"
    with pytest.raises(ModelError, match="did you mean 'unit-price'"):
        POLICIES.named("unit_price")
