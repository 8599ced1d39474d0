"""The exact expected cost of the best adaptive strategy, and of any given one.

A strategy chooses the next model from what is known so far. What matters of that knowledge is
the residual: the clauses that are still undecided, without their true literals. The best
strategy is found by dynamic programming over residuals, as different knowledge often leaves the
same one. The number of residuals is exponential: this is an oracle for some eight concepts, which
policies that scale are compared with.

    E[certificate] <= optimum <= expected_cost of any strategy
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import product

from caddis.ordering.certificate import Clause, Instance

Known = Mapping[int, bool]
"""Answers so far, by concept."""

Residual = frozenset[frozenset[tuple[int, ...]]]
"""What is undecided, whichever links it belongs to: the clauses of each link."""

Strategy = Callable[[dict[int, bool]], int]
"""From the answers so far to the next model to run."""


def undecided(instance: Instance, known: Known) -> tuple[Clause, ...]:
    """The clauses that still need answers, each with the literals that it still needs.

    A clause with a false literal leaves; true literals leave their clause. A clause with none
    left satisfies its link, and all clauses of that link leave.

    >>> import numpy as np
    >>> from caddis.ordering.certificate import Instance
    >>> two_links = Instance(
    ...     costs=np.ones(3),
    ...     answered_by=np.arange(3, dtype=np.int32),
    ...     selectivity=np.full(3, 0.5),
    ...     clauses=((0, (0, 2)), (0, (1, 4)), (1, (3,))),
    ...     links=2,
    ... )
    >>> undecided(two_links, {0: True})
    ((0, (2,)), (1, (3,)))
    >>> undecided(two_links, {0: False, 2: True})
    ((1, (3,)),)
    """
    residual = []
    satisfied = set()
    for link, literals in instance.clauses:
        if any(_is_false(literal, known) for literal in literals):
            continue
        remaining = tuple(literal for literal in literals if literal // 2 not in known)
        residual.append((link, remaining))
        if not remaining:
            satisfied.add(link)
    return tuple((link, literals) for link, literals in residual if link not in satisfied)


def optimum(instance: Instance) -> float:
    """The least expected cost of deciding every link."""
    return _Optimum(instance).after({})


def expected_cost(instance: Instance, choose: Strategy) -> float:
    """The exact expected cost of a strategy, over all outcomes.

    `choose` is asked only while something is undecided and has to name a model that has not run.
    """
    return _expected_cost(instance, choose, {})


def _expected_cost(instance: Instance, choose: Strategy, known: dict[int, bool]) -> float:
    if not undecided(instance, known):
        return 0.0
    model = choose(dict(known))
    concepts = _concepts_of(instance, model)
    if not concepts or concepts[0] in known:
        raise ValueError(f"model {model} was chosen, but has nothing to answer after {known}")
    return float(instance.costs[model]) + sum(
        chance * _expected_cost(instance, choose, known | answers)
        for answers, chance in _answers(instance, concepts)
    )


class _Optimum:
    """Least expected costs, by residual."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._least: dict[Residual, float] = {frozenset(): 0.0}

    def after(self, known: dict[int, bool]) -> float:
        """The least expected cost of deciding what these answers leave undecided."""
        residual = _residual(undecided(self._instance, known))
        least = self._least.get(residual)
        if least is None:
            asked = {literal // 2 for link in residual for clause in link for literal in clause}
            models = {int(self._instance.answered_by[concept]) for concept in asked}
            least = min(self._if_run(model, asked, known) for model in sorted(models))
            self._least[residual] = least
        return least

    def _if_run(self, model: int, asked: set[int], known: dict[int, bool]) -> float:
        """Only the concepts that are asked for can make a difference."""
        concepts = [c for c in _concepts_of(self._instance, model) if c in asked]
        return float(self._instance.costs[model]) + sum(
            chance * self.after(known | answers)
            for answers, chance in _answers(self._instance, concepts)
        )


def _residual(clauses: Iterable[Clause]) -> Residual:
    """Residual clauses by link, the links unnamed; equal ones fall together.

    A clause that contains another one of its link is never needed: it is true only if the other
    is, and false once the other is.
    """
    links: dict[int, set[tuple[int, ...]]] = {}
    for link, literals in clauses:
        links.setdefault(link, set()).add(literals)
    return frozenset(
        frozenset(c for c in link if not any(set(other) < set(c) for other in link))
        for link in links.values()
    )


def _answers(
    instance: Instance, concepts: Iterable[int]
) -> Iterator[tuple[dict[int, bool], float]]:
    """All possible answers of these concepts, with their chances."""
    concepts = tuple(concepts)
    for values in product((True, False), repeat=len(concepts)):
        answers = dict(zip(concepts, values, strict=True))
        chance = 1.0
        for concept, value in answers.items():
            share = float(instance.selectivity[concept])
            chance *= share if value else 1.0 - share
        if chance > 0:
            yield answers, chance


def _concepts_of(instance: Instance, model: int) -> list[int]:
    return [concept for concept, by in enumerate(instance.answered_by.tolist()) if by == model]


def _is_false(literal: int, known: Known) -> bool:
    concept, negated = divmod(literal, 2)
    return concept in known and known[concept] == bool(negated)
