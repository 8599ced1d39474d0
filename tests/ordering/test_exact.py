"""What is small is solved: no first model leads to less than the one that is chosen."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from caddis.lab.instances import Instance, random_instance
from caddis.lab.optimum import optimum, undecided
from caddis.ordering.exact_kernels import open_models, solved
from caddis.ordering.layout import NONE
from tests.ordering.twins import first_row, outcomes_of


def if_first(model: int, instance: Instance) -> float:
    """The least expected cost if a model runs first."""
    literals = [one for _, one in instance.clauses]
    return float(instance.costs[model]) + sum(
        chance * optimum(replace(instance, clauses=undecided(instance, answers)))
        for answers, chance in outcomes_of(model, literals, instance)
    )


@pytest.mark.parametrize("joined", [0.0, 0.5])
def test_the_first_model_of_a_best_strategy_is_chosen(joined):
    rng = np.random.default_rng(1)
    for _ in range(40):
        instance = random_instance(rng, models=(2, 5), concepts=(2, 6), joined=joined)
        stack, plan = first_row(instance)
        for guess in open_models(stack, plan.answered_by).tolist():
            model = solved(stack, guess, plan)
            assert if_first(model, instance) == pytest.approx(optimum(instance))


def test_what_has_too_many_states_is_left_alone():
    rng = np.random.default_rng(2)
    wide = random_instance(rng, models=(12, 12), concepts=(12, 12), clauses=(30, 30))
    stack, plan = first_row(wide)
    assert solved(stack, 0, plan) == NONE
