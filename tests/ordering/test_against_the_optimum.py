"""How far policies are from the least expected cost there is, on instances small enough to know it.

The bounds are wide of what is measured (bench/README.md), and narrow enough that a policy which
does something silly in one case of a hundred does not pass. Measuring coverage would take three
quarters of the time, and every line is measured by the tests of its own module.
"""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
import pytest

from caddis.arrays import Floats
from caddis.lab.workloads.instances import random_instance
from caddis.lab.yardsticks.ordering_costs import policy_costs
from caddis.ordering import POLICIES
from caddis.ordering.certificate import Instance
from tests.ordering.optimum import optimum

pytestmark = pytest.mark.no_cover
INSTANCES = 300


@cache
def small_instances() -> list[tuple[Instance, float]]:
    rng = np.random.default_rng(1)
    drawn = [random_instance(rng) for _ in range(INSTANCES)]
    return [(instance, optimum(instance)) for instance in drawn]


@cache
def larger_instances() -> list[tuple[Instance, float]]:
    """Instances of which most have more states than are solved at once."""
    rng = np.random.default_rng(2)
    drawn = [
        random_instance(rng, models=(8, 8), concepts=(8, 8), clauses=(8, 12)) for _ in range(30)
    ]
    return [(instance, optimum(instance)) for instance in drawn]


@cache
def ratios(policy: str, larger: bool = False) -> Floats:
    """The policy's expected cost over all outcomes, divided by the least, for each instance."""
    found = []
    for instance, least in larger_instances() if larger else small_instances():
        outcomes = np.array(list(product((False, True), repeat=instance.concepts)))
        chances = np.where(outcomes, instance.selectivity, 1 - instance.selectivity).prod(axis=1)
        found.append(policy_costs(instance, outcomes, POLICIES[policy]) @ chances / least)
    return np.array(found)


@pytest.mark.parametrize("policy", list(POLICIES))
def test_no_policy_is_below_the_optimum(policy):
    assert ratios(policy).min() >= 1 - 1e-9


@pytest.mark.parametrize(
    ("policy", "mean", "worst"),
    [
        ("prank", 1.07, 3.0),
        ("unit-price", 1.07, 2.3),
        ("lookahead", 1.015, 1.4),
        ("foresight", 1.01, 1.07),
        ("rollout", 1.01, 1.07),
    ],
)
def test_a_policy_is_near_the_optimum(policy, mean, worst):
    assert ratios(policy).mean() <= mean
    assert ratios(policy).max() <= worst


@pytest.mark.parametrize(
    ("policy", "mean", "worst"),
    [("lookahead", 1.04, 1.2), ("foresight", 1.02, 1.12), ("rollout", 1.02, 1.12)],
)
def test_where_not_all_can_be_solved_a_policy_is_near_the_optimum(policy, mean, worst):
    assert ratios(policy, larger=True).min() >= 1 - 1e-9
    assert ratios(policy, larger=True).mean() <= mean
    assert ratios(policy, larger=True).max() <= worst


def test_the_more_a_policy_thinks_the_nearer_it_is():
    means = [ratios(name).mean() for name in ("run-all", "unit-price", "lookahead", "foresight")]
    assert means == sorted(means, reverse=True)
