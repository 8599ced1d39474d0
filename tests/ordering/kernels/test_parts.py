"""Parts are remembered by a hash: the same for what is left the same, different for the rest."""

from __future__ import annotations

from collections import Counter

import numpy as np

from caddis.arrays import Bools
from caddis.ordering.graph import Graphs, Plan
from caddis.ordering.kernels.parts import split, state_key
from tests.ordering.twins import (
    Needed,
    Problem,
    drawn_answers,
    drawn_pairs,
    drawn_problem,
    open_literals,
)
from tests.runs import seeds

Shape = tuple[object, ...]


def keys_of(graphs: Graphs, plan: Plan, event: int) -> list[tuple[int, frozenset[Needed]]]:
    """The hash and the clauses of each part of an event."""
    parts = split(np.array([event], np.int32), graphs.arrays, plan.arrays)
    clauses, found = open_literals(graphs.arrays, event), []
    by_link = np.zeros(len(graphs.arrays.clauses.done), np.int64)
    for begin, count in zip(parts["begin"].tolist(), parts["count"].tolist(), strict=True):
        key = state_key(begin, count, graphs.arrays.clauses, by_link)
        assert not by_link.any()
        first = begin - int(graphs.arrays.starts[event])
        found.append((key, frozenset(map(frozenset, clauses[first : first + count]))))
    return found


def shape_of(part: frozenset[Needed], clauses: list[tuple[Needed, frozenset[int]]]) -> Shape:
    """What a choice may depend on: the clauses, and which of them wait for a link together.

    clauses: those that are open, each with the links that it shares; a link of its own is -1.
    """
    leading: dict[int, Counter[Needed]] = {}
    for literals, links in clauses:
        for link in links - {-1}:
            leading.setdefault(link, Counter())[literals] += 1
    shape = []
    for literals in part:
        own = [links for other, links in clauses if other == literals]
        shared = [link for links in own for link in sorted(links - {-1})]
        groups = Counter(frozenset(leading[link].items()) for link in shared)
        lone = bool(shared) and any(-1 in links for links in own)
        shape.append((literals, lone, frozenset(groups.items())))
    return (frozenset(shape),)


def waiting_clauses(
    problem: Problem, candidates: list[int], pinned: Bools
) -> list[tuple[Needed, frozenset[int]]]:
    """The candidates that need something, with the links that they share."""
    leads = Counter(link for _, links in problem.clauses for link in links)
    satisfied = {
        link for c in candidates if not problem.clauses[c][0] for link in problem.clauses[c][1]
    }
    found = []
    for c in candidates:
        literals, links = problem.clauses[c]
        shared = frozenset(link for link in links if leads[link] > 1) - satisfied
        found.append((literals, shared | {-1} if pinned[c] else shared))
    return [(literals, links) for literals, links in found if literals and links]


def test_parts_of_one_shape_have_one_key_and_others_have_others():
    by_key: dict[int, Shape] = {}
    by_shape: dict[Shape, int] = {}
    rng = np.random.default_rng(1)
    for _ in seeds(1500, 6000):
        problem = drawn_problem(rng)
        demand = problem.demand()
        plan = problem.plan(demand)
        rows, clauses = drawn_pairs(rng, 2, len(problem.clauses))
        graphs = Graphs(demand, plan, rows, clauses, 2)
        for event in graphs.open.tolist():
            waiting = waiting_clauses(problem, clauses[rows == event].tolist(), demand.pinned)
            for key, part in keys_of(graphs, plan, event):
                shape = (*shape_of(part, waiting), literal_order(part, plan))
                assert by_key.setdefault(key, shape) == shape
                assert by_shape.setdefault(shape, key) == key
    assert len(by_key) > 1500


def literal_order(part: frozenset[Needed], plan: Plan) -> object:
    """A key holds for a plan: clauses are hashed in the order in which the plan puts literals."""
    order = plan.arrays.costs[plan.arrays.answered_by]
    chances = plan.arrays.chances
    return frozenset(
        tuple(sorted(clause, key=lambda one: (order[one >> 1] / (1 - chances[one]), one)))
        for clause in part
    )


def keys_alone(*clauses: set[int]) -> list[int]:
    """The key of each clause as a part of its own."""
    found = []
    for literals in clauses:
        problem = Problem(
            [(frozenset(literals), frozenset({0}))],
            1,
            np.ones(5),
            np.full(5, 0.5),
            np.arange(5, dtype=np.int32),
        )
        demand = problem.demand()
        plan = problem.plan(demand)
        graphs = Graphs(demand, plan, np.zeros(1, np.int32), np.zeros(1, np.int32), 1)
        found += [key for key, _ in keys_of(graphs, plan, 0)]
    return found


def test_a_clause_of_two_literals_is_not_taken_for_one_of_one():
    """These two once had the same key, so that one got the other's choice."""
    two, one = keys_alone({2, 9}, {8})
    assert two != one


def test_no_two_small_clauses_have_one_key():
    literals = range(10)
    small = [{one} for one in literals]
    small += [{one, other} for one in literals for other in literals if one >> 1 < other >> 1]
    assert len(set(keys_alone(*small))) == len(small)


def test_what_an_event_has_become_known_by_does_not_matter():
    rng = np.random.default_rng(2)
    keys: dict[frozenset[Needed], set[int]] = {}
    problem = Problem(
        [(frozenset({2 * a, 2 * b}), frozenset({a * 6 + b})) for a in range(6) for b in range(a)],
        36,
        np.exp(rng.uniform(0, 3, 6)),
        rng.uniform(0.1, 0.9, 6),
        np.arange(6, dtype=np.int32),
    )
    demand = problem.demand()
    plan = problem.plan(demand)
    events, clauses = (grid.ravel().astype(np.int32) for grid in np.indices((60, 15)))
    graphs = Graphs(demand, plan, events, clauses, 60)
    answers = drawn_answers(rng, 60, 6)
    for _ in range(4):
        for event in graphs.open:
            concept = rng.integers(6, size=1, dtype=np.int32)
            graphs.tell(np.array([event]), concept, answers[event, concept][None])
        graphs.settle()
        for event in graphs.open.tolist():
            for key, part in keys_of(graphs, plan, event):
                keys.setdefault(part, set()).add(key)
    assert len(keys) > 10
    assert all(len(same) == 1 for same in keys.values())
    assert len(set.union(*keys.values())) == len(keys)
