"""A graph is what is undecided: it holds what plain sets say that it holds, answer by answer."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caddis.models import NO, UNASKED, UNKNOWN, YES
from caddis.ordering.graph import Graphs
from caddis.ordering.kernels.layout import DROPPED, REFUSED, SATISFIED
from caddis.ordering.kernels.parts import split
from caddis.ordering.kernels.residual import merge_few, merge_many
from tests.ordering.twins import (
    Problem,
    drawn_answers,
    drawn_pairs,
    drawn_problem,
    matched_links,
    open_literals,
    parts_of,
    residual,
    satisfied_links,
)

SEEDS = st.integers(0, 2**32 - 1)


def a_problem(*clauses: tuple[set[int], set[int]], answered_by=None) -> Problem:
    """Clauses are given as (literals, links)."""
    concepts = 1 + max(literal >> 1 for literals, _ in clauses for literal in literals)
    answered_by = np.arange(concepts) if answered_by is None else np.array(answered_by)
    return Problem(
        [(frozenset(literals), frozenset(links)) for literals, links in clauses],
        1 + max(link for _, links in clauses for link in links),
        np.ones(int(answered_by.max()) + 1),
        np.full(concepts, 0.5),
        answered_by.astype(np.int32),
    )


def one_event(problem: Problem) -> Graphs:
    demand = problem.demand()
    clauses = np.arange(len(problem.clauses), dtype=np.int32)
    return Graphs(demand, problem.plan(demand), np.zeros_like(clauses), clauses, 1)


def tell(graphs: Graphs, **answers: int) -> None:
    """Answers are given as `c3=YES`."""
    concepts = np.array([int(name[1:]) for name in answers], np.int32)
    marks = np.array([list(answers.values())], np.uint8)
    graphs.tell(np.zeros(1, np.int32), concepts, marks)
    graphs.settle()


def needs(graphs: Graphs) -> set[frozenset[int]]:
    return {frozenset(literals) for literals in open_literals(graphs.arrays, 0)}


def kernel_parts(graphs: Graphs, plan, event: int) -> set[frozenset[frozenset[int]]]:
    parts = split(np.array([event], np.int32), graphs.arrays, plan.arrays)
    assert (parts["event"] == event).all()
    assert np.array_equal(parts["begin"][1:], (parts["begin"] + parts["count"])[:-1])
    ends = parts["begin"] + parts["count"] - graphs.arrays.starts[event]
    found = [frozenset(literals) for literals in open_literals(graphs.arrays, event)]
    return {
        frozenset(found[begin:end])
        for begin, end in zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True)
    }


@given(SEEDS)
def test_a_graph_holds_what_is_open_after_any_answers_in_any_order(seed):
    rng = np.random.default_rng(seed)
    problem, events = drawn_problem(rng), 4
    demand = problem.demand()
    plan = problem.plan(demand)
    rows, clauses = drawn_pairs(rng, events, len(problem.clauses))
    answers = drawn_answers(rng, events, len(problem.selectivity))
    graphs = Graphs(demand, plan, rows, clauses, events)
    known = np.full_like(answers, UNASKED)
    for concept in [None, *rng.permutation(answers.shape[1]).tolist()]:
        if concept is not None:
            some = np.flatnonzero(rng.random(events) < 0.8).astype(np.int32)
            known[some, concept] = answers[some, concept]
            graphs.tell(some, np.array([concept], np.int32), answers[some][:, [concept]])
            graphs.settle()
        for event in range(events):
            candidates = [problem.clauses[c] for c in clauses[rows == event]]
            waiting = residual(candidates, known[event])
            found = [frozenset(literals) for literals in open_literals(graphs.arrays, event)]
            assert len(found) == len(set(found)), "clauses that need the same were not merged"
            assert set(found) == set(waiting)
            assert (event in graphs.open) == bool(waiting)
            if waiting:
                assert kernel_parts(graphs, plan, event) == parts_of(waiting, problem.answered_by)
    assert np.array_equal(graphs.known, known)


@given(SEEDS)
def test_when_all_is_known_the_satisfied_links_are_those_of_every_clause_looked_up(seed):
    rng = np.random.default_rng(seed)
    problem, events = drawn_problem(rng), 5
    demand = problem.demand()
    rows, clauses = drawn_pairs(rng, events, len(problem.clauses))
    answers = drawn_answers(rng, events, len(problem.selectivity))
    graphs = Graphs(demand, problem.plan(demand), rows, clauses, events)
    graphs.tell(graphs.open, np.arange(answers.shape[1], dtype=np.int32), answers[graphs.open])
    graphs.settle()
    assert len(graphs.open) == 0
    assert satisfied_links(demand, rows, clauses, graphs.satisfied()) == {
        (event, link)
        for event in range(events)
        for link in matched_links(
            [problem.clauses[c] for c in clauses[rows == event]], answers[event]
        )
    }


def test_a_false_answer_eliminates_its_subscriptions_and_covers_their_other_edges():
    """Figure 1c of the adaptive-filtering paper: f1 came out false."""
    graphs = one_event(a_problem(({0, 2}, {0}), ({0, 4}, {1}), ({2, 4}, {2})))
    tell(graphs, c0=NO)
    assert needs(graphs) == {frozenset({2, 4})}
    assert graphs.arrays.clauses.waits["verdict"].tolist().count(REFUSED) == 2


def test_a_true_answer_covers_its_outgoing_edges_alone():
    """Figure 1b: f1 came out true."""
    graphs = one_event(a_problem(({0, 2}, {0}), ({0, 4}, {1}), ({2, 4}, {2})))
    tell(graphs, c0=YES)
    assert needs(graphs) == {frozenset({2}), frozenset({4}), frozenset({2, 4})}


def test_an_unknown_answer_refuses_the_concept_and_its_negation():
    graphs = one_event(a_problem(({0, 2}, {0}), ({1, 4}, {1}), ({2}, {2})))
    tell(graphs, c0=UNKNOWN)
    assert needs(graphs) == {frozenset({2})}


def test_a_satisfied_link_drops_its_other_clauses():
    graphs = one_event(a_problem(({0}, {0}), ({2, 4}, {0}), ({4, 6}, {1})))
    tell(graphs, c0=YES)
    assert needs(graphs) == {frozenset({4, 6})}
    assert sorted(graphs.arrays.clauses.waits["verdict"].tolist())[1:] == [SATISFIED, DROPPED]


def test_a_clause_stays_as_long_as_one_of_its_links_waits():
    graphs = one_event(a_problem(({0}, {0}), ({2}, {1}), ({4}, {0, 1})))
    tell(graphs, c0=YES)
    assert needs(graphs) == {frozenset({2}), frozenset({4})}
    tell(graphs, c1=YES)
    assert needs(graphs) == set()


def test_clauses_that_come_to_need_the_same_become_one_that_weighs_as_much():
    graphs = one_event(a_problem(({0, 4}, {0}), ({2, 4}, {1}), ({4}, {2})))
    tell(graphs, c0=YES, c1=YES)
    assert open_literals(graphs.arrays, 0) == [(4,)]
    clauses = graphs.arrays.clauses
    assert clauses.needs["weight"][clauses.order[0]] == 3
    tell(graphs, c2=YES)
    assert graphs.satisfied().all()


def test_a_clause_that_needs_nothing_satisfies_its_links_at_once():
    graphs = one_event(a_problem((set(), {0}), ({0}, {0}), ({2}, {1})))
    assert needs(graphs) == {frozenset({2})}
    assert graphs.satisfied().tolist() == [True, False, False]


def test_a_second_answer_does_not_overrule_the_first():
    graphs = one_event(a_problem(({0, 2}, {0})))
    tell(graphs, c0=YES)
    tell(graphs, c0=NO, c1=YES)
    assert graphs.satisfied().tolist() == [True]


@pytest.mark.parametrize("clauses", [3, 11, 40])
def test_merging_by_hash_is_merging_by_comparing_all_pairs(clauses):
    rng = np.random.default_rng(clauses)
    for _ in range(30):
        drawn = [set(rng.choice(5, int(rng.integers(1, 3)), replace=False)) for _ in range(clauses)]
        unique = sorted({tuple(sorted(2 * int(c) for c in one)) for one in drawn})
        problem = a_problem(*((set(one), {link}) for link, one in enumerate(unique)))
        found = []
        for merge in (merge_few, merge_many):
            open_clauses = one_event(problem).arrays.clauses
            needs = open_clauses.needs
            needs["count"] = np.minimum(needs["count"], 1)
            left = merge(0, len(unique), open_clauses)
            order = open_clauses.order[:left]
            found.append(
                (
                    order.tolist(),
                    needs["weight"][order].tolist(),
                    open_clauses.waits["twin"].tolist(),
                )
            )
        assert found[0] == found[1]
