"""The clairvoyant's certificate: the least that must be paid to prove what is true of an event.

No ordering policy pays less than one who knows all answers beforehand and only has to show
enough of them. A link that failed needs one false literal of each of its clauses; a satisfied
link needs all of one true clause, and of several true ones the clairvoyant chooses. Both are a
`Requirement`: a set of alternatives, each a set of models as bits of an int, one of which must
be run in full. The cheapest set of models that meets all requirements is a weighted hitting set
where the alternatives are single models. Reductions leave little of it; a branch and bound with
a dual-ascent bound solves what is left, and HiGHS what that does not finish soon.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from math import inf

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from caddis.arrays import Bools, Floats, Int32s, Int64s
from caddis.ordering.certificate.instance import Instance

Requirement = frozenset[int]
"""Alternatives, each the models of one way to meet it: bit m is model m."""

NODES = 100
"""How many nodes of a part the branch and bound may visit before HiGHS takes that part over."""


def certificate(instance: Instance, answers: Bools) -> float:
    """The least cost of models whose answers prove the result of every link.

    `answers` holds the truth, by concept.

    >>> either = Instance(
    ...     costs=np.array([5.0, 3.0, 4.0]),
    ...     answered_by=np.array([0, 1, 2], dtype=np.int32),
    ...     selectivity=np.full(3, 0.5),
    ...     clauses=((0, (0,)), (0, (2, 4))),
    ...     links=1,
    ... )
    >>> certificate(either, np.array([True, True, True]))
    5.0
    >>> certificate(either, np.array([False, True, False]))
    9.0
    """
    run, requirements = to_prove(instance, answers)
    for solved in cheapest(requirements, instance.costs):
        run |= solved
    return float(sum(instance.costs[model] for model in _models(run)))


def certificates(instance: Instance, outcomes: Bools) -> Floats:
    """The certificate of each event (row) of a matrix of events × concepts."""
    return np.array([certificate(instance, answers) for answers in outcomes], dtype=np.float64)


def to_prove(instance: Instance, answers: Bools) -> tuple[int, set[Requirement]]:
    """Models that every proof has to run, and what else it has to meet."""
    packed = _packed(instance)
    false = packed.present & (answers[packed.concepts] == packed.negated)
    holds = ~false.any(axis=1)
    true_clauses = np.bincount(packed.links[holds], minlength=instance.links)[packed.links]
    only = packed.naming(packed.present, holds & (true_clauses == 1), instance.models)
    contradicting = packed.naming(false, true_clauses == 0, instance.models)
    run = only.any(axis=0) | contradicting[contradicting.sum(axis=1) == 1].any(axis=0)
    open_clauses = contradicting[~contradicting[:, run].any(axis=1)]
    requirements = {frozenset(1 << m for m in np.flatnonzero(row).tolist()) for row in open_clauses}
    several = holds & (true_clauses > 1)
    choices: defaultdict[int, set[int]] = defaultdict(set)
    satisfying = packed.naming(packed.present, several, instance.models)
    for link, row in zip(packed.links[several].tolist(), satisfying, strict=True):
        choices[link].add(_bits(np.flatnonzero(row).tolist()))
    requirements |= {frozenset(alternatives) for alternatives in choices.values()}
    forced = _bits(np.flatnonzero(run).tolist())
    return forced, _after(requirements, forced)


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
    singles = {1 << model for mask in alternatives for model in _models(mask)}
    columns = {mask: i for i, mask in enumerate(sorted(singles) + sorted(alternatives - singles))}
    rows = [({columns[mask]: 1.0 for mask in requirement}, 1.0) for requirement in requirements]
    rows += [
        ({columns[1 << model]: 1.0, columns[mask]: -1.0}, 0.0)
        for mask in alternatives - singles
        for model in _models(mask)
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
    return _bits(mask.bit_length() - 1 for mask in sorted(singles) if solved.x[columns[mask]] > 0.5)


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
            known = self._cost_of[mask] = sum(self._costs[model] for model in _models(mask))
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
                requirements = _after(requirements, forced)
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
            found = self._below(_after(requirements, alternative), budget - cost)
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
        left = {m: self._costs[m] for m in _models(_union(chain.from_iterable(requirements)))}
        for requirement in sorted(requirements, key=lambda r: (len(r), sorted(r))):
            remaining = {mask: _sum(left, mask) for mask in requirement}
            charge = min(remaining.values())
            if charge <= 0:
                continue
            bound += charge
            share: dict[int, float] = {}
            for mask, rest in remaining.items():
                for model in _models(mask):
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
            requirements = _after(requirements, best)
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


@dataclass(frozen=True, slots=True)
class _Packed:
    """The clauses as a matrix of clauses × literals; `present` is false in the padding."""

    links: Int64s
    concepts: Int64s
    negated: Bools
    models: Int32s
    present: Bools

    def naming(self, literals: Bools, clauses: Bools, models: int) -> Bools:
        """Which models these literals of these clauses need: a matrix of clauses × models."""
        named = np.zeros((int(clauses.sum()), models), dtype=np.bool_)
        row, column = np.nonzero(literals[clauses])
        named[row, self.models[clauses][row, column]] = True
        return named


@lru_cache(maxsize=8)
def _packed(instance: Instance) -> _Packed:
    sizes = np.array([len(literals) for _, literals in instance.clauses], dtype=np.int64)
    present = np.arange(sizes.max(initial=0)) < sizes[:, None]
    literals = np.zeros(present.shape, dtype=np.int64)
    literals[present] = list(chain.from_iterable(literals for _, literals in instance.clauses))
    return _Packed(
        links=np.array([link for link, _ in instance.clauses], dtype=np.int64),
        concepts=literals // 2,
        negated=literals % 2 == 1,
        models=instance.answered_by[literals // 2],
        present=present,
    )


def _after(requirements: Iterable[Requirement], run: int) -> set[Requirement]:
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


def _models(mask: int) -> Iterator[int]:
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


def _bits(models: Iterable[int]) -> int:
    return _union(1 << model for model in models)


def _union(masks: Iterable[int]) -> int:
    union = 0
    for mask in masks:
        union |= mask
    return union


def _sum(by_model: dict[int, float], mask: int) -> float:
    return sum(by_model[model] for model in _models(mask))
