"""One ordering problem: what a policy sees of an event before the first model runs.

It holds what each model costs, which concepts it answers, how often each concept is true, and the
clauses that wait for answers. To run a model is to know all of its concepts, paid once. A link is
satisfied as soon as one of its clauses is all true, and needs no further answer then; it fails
once every one of its clauses is contradicted.
"""

from __future__ import annotations

from dataclasses import dataclass

from caddis.arrays import Floats, Int32s

Clause = tuple[int, tuple[int, ...]]
"""(link, literals); a literal is 2·concept + negated: 2c asks that c is true, 2c+1 that it is
false. Literals are sorted and name a concept at most once."""


@dataclass(frozen=True, slots=True, eq=False)
class Instance:
    """One ordering problem; two instances are equal only if they are the same object.

    costs[m]: of model m. answered_by[c]: the model that answers concept c; several concepts may
    share one. selectivity[c]: the chance that c is true, whatever the other concepts are.

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
