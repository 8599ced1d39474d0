"""The slow, obvious versions of what the kernels of ordering do, and random inputs for both.

Everything is sets and dictionaries here: a clause is the set of literals that it still needs, a
graph maps these to the links that wait. Nothing looks at how a graph is laid out but the functions
that read one off the arrays.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import pyarrow as pa

from caddis.arrays import Bools, Floats, Int32s
from caddis.lab.yardsticks.ordering_costs import demand_of, plan_of
from caddis.language import Column, Concept
from caddis.matching import NOTHING
from caddis.models import NO, UNASKED, UNKNOWN, YES, Marks
from caddis.ordering.certificate import Instance
from caddis.ordering.demand import Demand
from caddis.ordering.graph import Graphs, Plan
from caddis.ordering.kernels.layout import GraphArrays, PlanArrays
from caddis.ordering.kernels.rollout import Stack, compact

Needed = frozenset[int]
"""The literals that a clause still needs."""

Open = dict[Needed, frozenset[int]]
"""An event's open clauses, with the links that wait for each."""


@dataclass(frozen=True)
class Problem:
    """A demand, plainly: each clause's literals and its links, and what models cost."""

    clauses: list[tuple[Needed, frozenset[int]]]
    links: int
    costs: Floats
    selectivity: Floats
    answered_by: Int32s

    def demand(self) -> Demand:
        """A clause of no literals needs NOTHING."""
        column = Column(("event",), pa.binary())
        needs = sorted({tuple(sorted(literals)) for literals, _ in self.clauses if literals})
        numbers = {frozenset(need): number for number, need in enumerate(needs)}
        edges = [(c, link) for c, (_, links) in enumerate(self.clauses) for link in sorted(links)]
        clause, link = np.array(edges, np.int64).reshape(-1, 2).T
        return Demand.from_edges(
            tuple(Concept(f"c{number}", column) for number in range(len(self.selectivity))),
            needs,
            np.array([numbers.get(literals, NOTHING) for literals, _ in self.clauses], np.int32),
            clause,
            link,
            [0, len(self.clauses)],
            [0, self.links],
        )

    def plan(self, demand: Demand) -> Plan:
        return Plan.of(demand, self.costs, self.selectivity, self.answered_by)


def an_instance(costs, selectivity, *clauses: set[int], answered_by=None) -> Instance:
    """A link for each clause; clauses are given as literals."""
    answered_by = range(len(costs)) if answered_by is None else answered_by
    return Instance(
        costs=np.array(costs, np.float64),
        answered_by=np.array(answered_by, np.int32),
        selectivity=np.array(selectivity, np.float64),
        clauses=tuple((link, tuple(sorted(literals))) for link, literals in enumerate(clauses)),
        links=len(clauses),
    )


# -- random inputs


def drawn_problem(rng: np.random.Generator, most_clauses: int = 9) -> Problem:
    """Clauses that share links, or have several or none; models of several concepts."""
    models = int(rng.integers(1, 6))
    concepts = int(rng.integers(models, 9))
    links = int(rng.integers(1, 8))
    answered_by = np.concatenate([np.arange(models), rng.integers(0, models, concepts - models)])
    return Problem(
        [
            (drawn_literals(rng, concepts), drawn_links(rng, links))
            for _ in range(int(rng.integers(1, most_clauses)))
        ],
        links,
        np.exp(rng.uniform(0, 4, models)),
        rng.uniform(0.05, 0.95, concepts),
        rng.permutation(answered_by).astype(np.int32),
    )


def drawn_literals(rng: np.random.Generator, concepts: int) -> Needed:
    size = 0 if rng.random() < 0.05 else int(rng.integers(1, min(concepts, 4) + 1))
    chosen = rng.choice(concepts, size, replace=False)
    return frozenset((2 * chosen + (rng.random(size) < 0.3)).tolist())


def drawn_links(rng: np.random.Generator, links: int) -> frozenset[int]:
    size = min(int(rng.choice([0, 1, 1, 1, 2, 3])), links)
    return frozenset(rng.choice(links, size, replace=False).tolist())


def drawn_answers(rng: np.random.Generator, events: int, concepts: int) -> Marks:
    return rng.choice(
        np.array([YES, NO, UNKNOWN], np.uint8), (events, concepts), p=[0.45, 0.45, 0.1]
    )


def drawn_pairs(rng: np.random.Generator, events: int, clauses: int) -> tuple[Int32s, Int32s]:
    """Candidate pairs, sorted by event: most clauses are candidates of most events."""
    event, clause = np.nonzero(rng.random((events, clauses)) < 0.8)
    return event.astype(np.int32), clause.astype(np.int32)


# -- from arrays to sets


def graphs_of(instance: Instance, events: int = 1) -> tuple[Graphs, Plan]:
    """The graphs of events that have every clause of an instance as a candidate."""
    demand = demand_of(instance)
    plan = plan_of(instance, demand)
    event, clause = np.indices((events, len(instance.clauses)), np.int32)
    return Graphs(demand, plan, event.ravel(), clause.ravel(), events), plan


def first_row(instance: Instance) -> tuple[Stack, PlanArrays]:
    """A stack that begins with an instance's clauses."""
    graphs, plan = graphs_of(instance)
    count = int(graphs.arrays.counts[0])
    return compact(0, count, graphs.arrays.clauses, instance.concepts), plan.arrays


def open_literals(graph: GraphArrays, event: int) -> list[tuple[int, ...]]:
    """What each open clause of an event needs, in its order."""
    begin, clauses = int(graph.starts[event]), graph.clauses
    found = []
    for clause in clauses.order[begin : begin + int(graph.counts[event])]:
        start, count = clauses.needs[clause]["start"], clauses.needs[clause]["count"]
        literals = clauses.literals[start : start + count]
        found.append(tuple(literals.tolist()))
    return found


# -- twins


def holds(literal: int, answer: int) -> bool:
    return answer == (NO if literal & 1 else YES)


def residual(clauses: Iterable[tuple[Needed, frozenset[int]]], known: Marks) -> Open:
    """What is open of an event that has these clauses as candidates."""
    left: list[tuple[Needed, frozenset[int]]] = []
    for literals, links in clauses:
        answered = {literal for literal in literals if known[literal >> 1] != UNASKED}
        if all(holds(literal, known[literal >> 1]) for literal in answered):
            left.append((literals - answered, links))
    satisfied = frozenset(link for literals, links in left if not literals for link in links)
    waiting: Open = {}
    for literals, links in left:
        if literals and links - satisfied:
            waiting[literals] = waiting.get(literals, frozenset()) | (links - satisfied)
    return waiting


def matched_links(
    clauses: Iterable[tuple[Needed, frozenset[int]]], answers: Marks
) -> frozenset[int]:
    """Every literal of every clause looked up."""
    return frozenset(
        link
        for literals, links in clauses
        if all(holds(literal, answers[literal >> 1]) for literal in literals)
        for link in links
    )


def parts_of(waiting: Open, answered_by: Int32s) -> set[frozenset[Needed]]:
    """Open clauses by what they have to do with each other: a model, or a link that waits."""
    parts: list[tuple[set[object], set[Needed]]] = []
    for literals, links in waiting.items():
        touches: set[object] = {("model", int(answered_by[literal >> 1])) for literal in literals}
        touches |= {("link", link) for link in links}
        clauses = {literals}
        apart = []
        for other_touches, other in parts:
            if other_touches & touches:
                touches, clauses = touches | other_touches, clauses | other
            else:
                apart.append((other_touches, other))
        parts = [*apart, (touches, clauses)]
    return {frozenset(clauses) for _, clauses in parts}


def models_of(clauses: Iterable[Iterable[int]], answered_by: Int32s) -> set[int]:
    return {int(answered_by[literal >> 1]) for literals in clauses for literal in literals}


def outcomes_of(
    model: int, clauses: Sequence[Iterable[int]], problem: Problem | Instance
) -> Iterator[tuple[dict[int, bool], float]]:
    """What a model may answer of the concepts that clauses need, with the chances."""
    asked = {literal >> 1 for literals in clauses for literal in literals}
    concepts = sorted(c for c in asked if problem.answered_by[c] == model)
    for values in product((True, False), repeat=len(concepts)):
        answers = dict(zip(concepts, values, strict=True))
        shares = [
            problem.selectivity[c] if yes else 1 - problem.selectivity[c]
            for c, yes in answers.items()
        ]
        yield answers, float(np.prod(shares))


def fares(literals: Iterable[int], answers: dict[int, bool]) -> bool:
    """Whether answers leave a clause alive."""
    return all(answers.get(literal >> 1, not literal & 1) != literal & 1 for literal in literals)


def satisfied_links(
    demand: Demand, events: Int32s, clauses: Int32s, found: Bools
) -> set[tuple[int, int]]:
    """The (event, link) of the pairs that were found to hold."""
    return {
        (int(event), int(link))
        for event, clause in zip(events[found], clauses[found], strict=True)
        for link in demand.links[demand.link_starts[clause] : demand.link_starts[clause + 1]]
    }
