"""The clairvoyant's certificate: the least that must be paid to prove what is true of an event.

No ordering policy pays less than one who knows all answers beforehand and only has to show enough
of them. A link that failed needs one false literal of each of its clauses; a satisfied link needs
all of one true clause, and of several true ones the clairvoyant chooses. Both are requirements of
models to run, and the cheapest models that meet all requirements are the certificate.

An `Instance` is one ordering problem: what each model costs, which concepts it answers, how often
each concept is true, and the clauses that wait for answers. To run a model is to know all of its
concepts, paid once. A link is satisfied as soon as one of its clauses is all true, and needs no
further answer then; it fails once every one of its clauses is contradicted.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

import numpy as np

from caddis.arrays import Bools, Floats, Int32s, Int64s
from caddis.ordering.certificate.hitting_sets import (
    Requirement,
    bits_of,
    cheapest,
    left_after,
    models_in,
)

Clause = tuple[int, tuple[int, ...]]
"""(link, literals); a literal is 2·concept + negated: 2c asks that c is true, 2c+1 that it is
false. Literals are sorted and name a concept at most once."""


@dataclass(frozen=True, slots=True, eq=False)
class Instance:
    """One ordering problem; two instances are equal only if they are the same object.

    costs: what each model costs.
    answered_by: the model that answers each concept; several concepts may share one.
    selectivity: the chance that each concept is true, whatever the other concepts are.
    clauses: what waits for answers.
    links: how many links there are.

    >>> sunny_beach = Instance(
    ...     costs=np.array([12.0, 16.0]),
    ...     answered_by=np.array([0, 1], dtype=np.int32),
    ...     selectivity=np.array([0.25, 0.1]),
    ...     clauses=((0, (0, 2)), (1, (3,))),
    ...     links=2,
    ... )
    >>> sunny_beach.models, sunny_beach.concepts
    (2, 2)
    """

    costs: Floats
    answered_by: Int32s
    selectivity: Floats
    clauses: tuple[Clause, ...]
    links: int

    @property
    def models(self) -> int:
        return len(self.costs)

    @property
    def concepts(self) -> int:
        return len(self.answered_by)


def certificate(instance: Instance, answers: Bools) -> float:
    """The least cost of models whose answers prove the result of every link.

    answers: whether each concept is true.

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
    return float(sum(instance.costs[model] for model in models_in(run)))


def certificates(instance: Instance, outcomes: Bools) -> Floats:
    """The certificate of each row of a matrix of events × concepts."""
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
        choices[link].add(bits_of(np.flatnonzero(row).tolist()))
    requirements |= {frozenset(alternatives) for alternatives in choices.values()}
    forced = bits_of(np.flatnonzero(run).tolist())
    return forced, left_after(requirements, forced)


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
