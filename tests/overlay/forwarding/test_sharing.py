"""Every model of an event has one broker in charge of it, whatever the order of messages."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from tests.overlay.shuffled import (
    GROUPS,
    ShuffledOverlay,
    drawn_facts,
    drawn_overlay,
    patient,
    publish_some,
)
from tests.runs import seeds

KEEPS = (0.0, 0.3, 1.0)


def runs_by_event(world: ShuffledOverlay) -> Counter[tuple[int, int]]:
    """By event and model: how often it ran, anywhere."""
    found: Counter[tuple[int, int]] = Counter()
    for (event_id, _, model), times in world.runs.items():
        found[event_id, model] += times
    return found


def check_charges(world: ShuffledOverlay) -> None:
    """As long as an event is open where it was published, whatever has not run is in one charge."""
    for event_id, published in world.events.items():
        if event_id not in world.brokers[published.home]._visits:
            continue
        ran = {model for event, _, model in world.runs if event == event_id}
        charges = world.charges(event_id)
        assert all(charges[model] == 1 for model in range(len(GROUPS)) if model not in ran)


@pytest.mark.parametrize("keep", KEEPS)
@pytest.mark.parametrize("linger_ms", [0.0, 20.0])
@pytest.mark.parametrize("seed", seeds(6, 60))
def test_with_infinite_patience_no_model_runs_twice_anywhere(keep, linger_ms, seed):
    world = drawn_overlay(np.random.default_rng(seed), patient(np.inf, linger_ms, keep))
    publish_some(world, 4)
    world.check_notified()
    assert world.is_quiet
    assert set(runs_by_event(world).values()) <= {1}


@pytest.mark.parametrize("patience_ms", [20.0, np.inf])
@pytest.mark.parametrize("keep", KEEPS)
@pytest.mark.parametrize("seed", [*range(4), 15, 22, 37, 60, 111])
def test_charges_are_neither_lost_nor_doubled(patience_ms, keep, seed):
    """The last seeds lost a charge that crossed the word that its receiver was done."""
    world = drawn_overlay(np.random.default_rng(seed), patient(patience_ms, 20, keep))
    homes = sorted(world.publishers)
    for _ in range(3):
        world.publish(str(world.rng.choice(homes)), drawn_facts(world.rng))
        for _ in range(int(world.rng.choice([5, 1000]))):
            world.step()
            check_charges(world)
    while world.step():
        check_charges(world)
    world.check_notified()
    assert world.is_quiet


@pytest.mark.parametrize("seed", range(6))
def test_who_has_no_patience_runs_what_others_are_in_charge_of(seed):
    """Results are the same; what a broker runs twice itself is nothing."""
    world = drawn_overlay(np.random.default_rng(seed), patient(0, 0, 0))
    publish_some(world, 4)
    world.check_notified()
    assert world.is_quiet
    assert set(world.runs.values()) <= {1}


def test_impatience_costs_models():
    """Over many overlays more runs with no patience than with all; never is it less."""
    runs = {}
    for patience_ms in (0.0, np.inf):
        runs[patience_ms] = 0
        for seed in range(8):
            world = drawn_overlay(np.random.default_rng(seed), patient(patience_ms))
            publish_some(world, 2)
            runs[patience_ms] += sum(world.runs.values())
    assert runs[0.0] > runs[np.inf]
