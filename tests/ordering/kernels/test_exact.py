"""What is small is solved: no first model leads to less than the one that is chosen."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from caddis.lab.workloads.instances import random_instance
from caddis.ordering.certificate import Instance
from caddis.ordering.kernels.exact import MOST_LINKS, solved
from caddis.ordering.kernels.layout import NONE
from tests.ordering.optimum import optimum, undecided
from tests.ordering.twins import graphs_of, outcomes_of


def if_first(model: int, instance: Instance) -> float:
    """The least expected cost if a model runs first."""
    literals = [one for _, one in instance.clauses]
    return float(instance.costs[model]) + sum(
        chance * optimum(replace(instance, clauses=undecided(instance, answers)))
        for answers, chance in outcomes_of(model, literals, instance)
    )


def choice(instance: Instance) -> int:
    graphs, plan = graphs_of(instance)
    return int(solved(0, int(graphs.arrays.counts[0]), graphs.arrays.clauses, plan.arrays))


@pytest.mark.no_cover
@pytest.mark.parametrize("joined", [0.0, 0.5])
def test_the_first_model_of_a_best_strategy_is_chosen(joined):
    rng = np.random.default_rng(1)
    for _ in range(100):
        instance = random_instance(rng, models=(2, 6), concepts=(2, 7), joined=joined)
        assert if_first(choice(instance), instance) == pytest.approx(optimum(instance))


def test_a_model_of_several_concepts_has_as_many_outcomes_as_they_have_together():
    rng = np.random.default_rng(2)
    for _ in range(30):
        instance = random_instance(rng, models=(1, 3), concepts=(5, 7), literals=(2, 4))
        assert if_first(choice(instance), instance) == pytest.approx(optimum(instance))


def test_what_has_too_many_states_or_links_is_left_alone():
    rng = np.random.default_rng(3)
    wide = random_instance(rng, models=(12, 12), concepts=(12, 12), clauses=(30, 30))
    assert choice(wide) == NONE
    either = tuple((link, literals) for link in range(70) for literals in ((0, 2), (0, 5)))
    assert choice(replace(wide, clauses=either[: 2 * MOST_LINKS], links=70)) != NONE
    assert choice(replace(wide, clauses=either, links=70)) == NONE
