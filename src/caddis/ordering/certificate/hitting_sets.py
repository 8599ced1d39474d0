"""The cheapest models that meet a set of requirements: a weighted hitting set, solved exactly.

A `Requirement` is a set of alternatives, each a set of models as bits of an int, one of which must
be run in full. Where the alternatives are single models this is the weighted hitting set.
Reductions leave little of it; a branch and bound with a dual-ascent bound solves what is left, and
HiGHS what that does not finish soon.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain
from math import inf

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from caddis.arrays import Floats

Requirement = frozenset[int]
"""Alternatives, each the models of one way to meet it: bit m is model m."""

NODES = 100
"""How many nodes of a part the branch and bound may visit before HiGHS takes that part over."""


def cheapest(requirements: set[Requirement], costs: Floats) -> Iterator[int]:
    """The cheapest models that meet the requirements: by parts, to be run all of them."""
    search = BranchAndBound(costs)
    run, requirements = search.reduced(requirements)
    yield run
    for part in _parts(requirements):
        search.nodes_left = NODES
        try:
            yield search.cheapest(part)
        except _OutOfNodes:
            yield by_integer_programme(part, costs)


def by_integer_programme(requirements: set[Requirement], costs: Floats) -> int:
    """The cheapest models that meet the requirements, by HiGHS.

    A variable for each model and one for each alternative of several models, which is at most
    each of theirs; the alternatives of a requirement add up to one or more.
    """
    alternatives = set(chain.from_iterable(requirements))
    singles = {1 << model for mask in alternatives for model in models_in(mask)}
    columns = {mask: i for i, mask in enumerate(sorted(singles) + sorted(alternatives - singles))}
    rows = [({columns[mask]: 1.0 for mask in requirement}, 1.0) for requirement in requirements]
    rows += [
        ({columns[1 << model]: 1.0, columns[mask]: -1.0}, 0.0)
        for mask in alternatives - singles
        for model in models_in(mask)
    ]
    if not rows:
        return 0
    matrix = np.zeros((len(rows), len(columns)))
    for i, (row, _) in enumerate(rows):
        matrix[i, list(row)] = list(row.values())
    prices = np.zeros(len(columns))
    prices[: len(singles)] = [costs[mask.bit_length() - 1] for mask in sorted(singles)]
    solved = milp(
        prices,
        integrality=np.ones(len(columns)),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(matrix, lb=[least for _, least in rows]),
        options={"mip_rel_gap": 0.0},
    )
    return _union(mask for mask in singles if solved.x[columns[mask]] > 0.5)


class _OutOfNodes(Exception):
    """The branch and bound visited as many nodes as it may."""


class BranchAndBound:
    """Depth-first search for the cheapest models; every node is reduced before it branches.

    `nodes_left` falls by one a node; at zero the search gives up with `_OutOfNodes`.
    """

    def __init__(self, costs: Floats, nodes: float = inf) -> None:
        self.nodes_left = nodes
        self._costs = costs.tolist()
        self._cost_of: dict[int, float] = {1 << m: cost for m, cost in enumerate(self._costs)}

    def cheapest(self, requirements: set[Requirement]) -> int:
        """The cheapest models that meet the requirements."""
        found = self._below(requirements, inf)
        assert found is not None
        return found

    def cost(self, mask: int) -> float:
        """What it costs to run these models."""
        known = self._cost_of.get(mask)
        if known is None:
            known = self._cost_of[mask] = sum(self._costs[model] for model in models_in(mask))
        return known

    def reduced(self, requirements: set[Requirement]) -> tuple[int, set[Requirement]]:
        """Models that some cheapest solution runs, and what they leave to be met."""
        run = 0
        while True:
            forced = 0
            for requirement in requirements:
                if len(requirement) == 1:
                    forced |= next(iter(requirement))
            if forced:
                run |= forced
                requirements = left_after(requirements, forced)
                continue
            smaller = self._without_dominated_models(_without_implied(requirements))
            if smaller == requirements:
                return run, requirements
            requirements = smaller

    def _below(self, requirements: set[Requirement], budget: float) -> int | None:
        """The cheapest models, if they cost less than the budget."""
        if self.nodes_left <= 0:
            raise _OutOfNodes
        self.nodes_left -= 1
        run, requirements = self.reduced(requirements)
        left = budget - self.cost(run)
        if left <= 0:
            return None
        found = 0
        for part in _parts(requirements):
            solved = self._part_below(part, left)
            if solved is None:
                return None
            found |= solved
            left -= self.cost(solved)
        return run | found

    def _part_below(self, requirements: set[Requirement], budget: float) -> int | None:
        """Branch on a requirement: run an alternative, or never run all of it."""
        bound, reduced_costs = self._dual_ascent(requirements)
        if bound >= budget:
            return None
        best = None
        greedy = self._greedy(requirements)
        if self.cost(greedy) < budget:
            best, budget = greedy, self.cost(greedy)
        requirements = {
            frozenset(a for a in r if bound + _sum(reduced_costs, a) < budget) for r in requirements
        }
        pivot = min(requirements, key=len)
        for alternative in sorted(pivot, key=lambda a: (_sum(reduced_costs, a), a)):
            if frozenset() in requirements:
                break
            cost = self.cost(alternative)
            found = self._below(left_after(requirements, alternative), budget - cost)
            if found is not None:
                best = found | alternative
                budget = self.cost(best)
            requirements = _never(requirements, alternative)
        return best

    def _dual_ascent(self, requirements: set[Requirement]) -> tuple[float, dict[int, float]]:
        """A lower bound on the cost, and by how much each model would raise it if run.

        Each requirement in turn charges what its cheapest alternative has left, and spreads
        that over its models so that no alternative is charged less.
        """
        bound = 0.0
        left = {m: self._costs[m] for m in models_in(_union(chain.from_iterable(requirements)))}
        for requirement in sorted(requirements, key=lambda r: (len(r), sorted(r))):
            remaining = {mask: _sum(left, mask) for mask in requirement}
            charge = min(remaining.values())
            if charge <= 0:
                continue
            bound += charge
            share: dict[int, float] = {}
            for mask, rest in remaining.items():
                for model in models_in(mask):
                    share[model] = max(share.get(model, 0.0), charge / rest)
            for model, part in share.items():
                left[model] = max(0.0, left[model] * (1.0 - part))
        return bound, left

    def _greedy(self, requirements: set[Requirement]) -> int:
        """Some models that meet the requirements: again and again the least cost for each met."""
        run = 0
        while requirements:
            meets: defaultdict[int, int] = defaultdict(int)
            for mask in chain.from_iterable(requirements):
                meets[mask] += 1
            best = min(meets, key=lambda mask: (self.cost(mask) / meets[mask], mask))
            run |= best
            requirements = left_after(requirements, best)
        return run

    def _without_dominated_models(self, requirements: set[Requirement]) -> set[Requirement]:
        """Drop models that another, no dearer one can stand in for wherever they count."""
        ordered = list(requirements)
        meets: defaultdict[int, int] = defaultdict(int)
        for i, requirement in enumerate(ordered):
            for mask in requirement:
                meets[mask] |= 1 << i
        together = _union(mask for mask in meets if not _is_single(mask))
        lone = [mask for mask in meets if _is_single(mask) and not mask & together]
        dropped: set[int] = set()
        for mask in sorted(lone, key=self.cost, reverse=True):
            where = meets[mask]
            if any(
                other != mask
                and _is_single(other)
                and other not in dropped
                and where & ~meets[other] == 0
                and self.cost(other) <= self.cost(mask)
                for other in ordered[where.bit_length() - 1]
            ):
                dropped.add(mask)
        return {r - dropped for r in requirements} if dropped else requirements


def left_after(requirements: Iterable[Requirement], run: int) -> set[Requirement]:
    """What is left to be met once these models ran."""
    left = set()
    for requirement in requirements:
        rest = {mask & ~run for mask in requirement}
        if 0 not in rest:
            left.add(_shortest(rest))
    return left


def _shortest(alternatives: set[int]) -> Requirement:
    """The alternatives that do not contain another one."""
    kept: list[int] = []
    for mask in sorted(alternatives, key=int.bit_count):
        if _is_single(mask) or not any(mask & other == other for other in kept):
            kept.append(mask)
    return frozenset(kept)


def _never(requirements: Iterable[Requirement], run: int) -> set[Requirement]:
    """The requirements if these models are not all run."""
    return {frozenset(mask for mask in r if mask & run != run) for r in requirements}


def _without_implied(requirements: set[Requirement]) -> set[Requirement]:
    """Drop requirements that are met whenever another one, some of their alternatives, is."""
    kept: defaultdict[int, list[Requirement]] = defaultdict(list)
    for requirement in sorted(requirements, key=len):
        if not any(other <= requirement for mask in requirement for other in kept.get(mask, ())):
            kept[min(requirement)].append(requirement)
    return set(chain.from_iterable(kept.values()))


def _parts(requirements: Iterable[Requirement]) -> list[set[Requirement]]:
    """The requirements by connected parts: those of different parts share no model."""
    parts: list[tuple[int, set[Requirement]]] = []
    for requirement in requirements:
        models, part = _union(requirement), {requirement}
        apart = []
        for other_models, other in parts:
            if other_models & models:
                models |= other_models
                part |= other
            else:
                apart.append((other_models, other))
        parts = [*apart, (models, part)]
    return [part for _, part in parts]


def _is_single(mask: int) -> bool:
    return mask & (mask - 1) == 0


def models_in(mask: int) -> Iterator[int]:
    """The models whose bits are set."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


def bits_of(models: Iterable[int]) -> int:
    """The bits of some models."""
    return _union(1 << model for model in models)


def _union(masks: Iterable[int]) -> int:
    union = 0
    for mask in masks:
        union |= mask
    return union


def _sum(by_model: dict[int, float], mask: int) -> float:
    return sum(by_model[model] for model in models_in(mask))
