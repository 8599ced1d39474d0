"""Which model an event runs next: one small interface, a class for each policy.

    run-all            every model that an open clause needs, at once
    per-subscription   each subscription by itself, its cheapest refutation first; nothing is shared
    prank              Munagala, Srivastava and Widom (2007): cost by clauses refuted
    unit-price         Liu, Parthasarathy, Ranganathan and Yang (2008): cost by edges covered
    emec               Zaarour and Curry (2019): the same, with what goes when a link is satisfied
    lookahead          the least expected cost that remains, one step ahead
    foresight          parts of an event that are small are solved, the others looked ahead on
    rollout            the same, but where unit-price disagrees with lookahead both are followed

The last three go by the unit price as long as very many clauses hang together, and by lookahead
where following both would take too long. What matches never depends on the policy, only what
it costs to find out.
"""

from __future__ import annotations

import difflib
from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from caddis.arrays import Bools
from caddis.errors import ModelError
from caddis.ordering.graph import Graphs, Plan
from caddis.ordering.kernels import (
    EMEC,
    FORESIGHT,
    LOOKAHEAD,
    PER_SUBSCRIPTION,
    PRANK,
    ROLLOUT,
    RUN_ALL,
    UNIT_PRICE,
    choose,
)

DEFAULT = "foresight"
"""Within 0.1% of the rollout on average, in a sixth to two thirds of its time."""


class Policy(ABC):
    """Chooses the next models of events; it has no state of its own."""

    name: ClassVar[str]
    shares: ClassVar[bool] = True
    """Whether one answer serves all subscriptions of an event."""

    @abstractmethod
    def next_models(self, graphs: Graphs, plan: Plan) -> Bools:
        """By event and model: whether it runs next.

        Every open event gets at least one model, and only such as an open clause of it needs.
        """


class _Compiled(Policy):
    """A policy whose loop is a kernel."""

    number: ClassVar[int]

    def next_models(self, graphs: Graphs, plan: Plan) -> Bools:
        wanted = np.zeros((len(graphs.known), plan.models), bool)
        choose(self.number, graphs.open, graphs.arrays, plan.arrays, plan.memo, wanted)
        return wanted


class RunAll(_Compiled):
    """Every model that an open clause needs, at once."""

    name, number = "run-all", RUN_ALL


class PerSubscription(_Compiled):
    """Each subscription by itself: its cheapest refutation first, and no answer is shared."""

    name, number, shares = "per-subscription", PER_SUBSCRIPTION, False


class Prank(_Compiled):
    """The least cost for the clauses that a model is expected to refute."""

    name, number = "prank", PRANK


class UnitPrice(_Compiled):
    """The least cost for the edges that a model is expected to cover."""

    name, number = "unit-price", UNIT_PRICE


class Emec(_Compiled):
    """The least cost for the edges that a model is expected to cover, with those of the clauses
    that nobody waits for any longer once a link is satisfied.
    """

    name, number = "emec", EMEC


class Lookahead(_Compiled):
    """The least cost of a model and of what is expected to remain after it."""

    name, number = "lookahead", LOOKAHEAD


class Foresight(_Compiled):
    """The best choice of all for parts that are small; else the lookahead's."""

    name, number = "foresight", FORESIGHT


class Rollout(_Compiled):
    """The best choice for small parts; else the better of unit-price and lookahead, each followed
    to the end where that is affordable.
    """

    name, number = "rollout", ROLLOUT


_ALL = (
    RunAll(),
    PerSubscription(),
    Prank(),
    UnitPrice(),
    Emec(),
    Lookahead(),
    Foresight(),
    Rollout(),
)
POLICIES: dict[str, Policy] = {policy.name: policy for policy in _ALL}


def policy_named(name: str) -> Policy:
    """The policy of a name.

    >>> policy_named("rollout").name
    'rollout'
    """
    if name in POLICIES:
        return POLICIES[name]
    near = difflib.get_close_matches(name, POLICIES, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise ModelError(f"there is no policy {name!r}; {hint}There is: {', '.join(POLICIES)}")
