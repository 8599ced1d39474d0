"""Who is notified never depends on the policy; what runs where does."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from caddis.errors import OverlayError
from caddis.language import Column, Concept
from caddis.models import UNASKED
from caddis.overlay.event_broker import EventBroker
from caddis.overlay.forwarding.compiled_graph import Beliefs
from caddis.overlay.forwarding.policies import FORWARDINGS, Forwarding
from caddis.overlay.messages import MODELS, Ask, Event, Publish, Publisher, Subscribe, Subscriber
from tests.ordering.clauses import CONCEPTS, Where, of_photo
from tests.overlay.shuffled import ShuffledOverlay, drawn_overlay, patient, publish_some, read
from tests.runs import seeds

KNOBS = [
    patient(patience_ms, linger_ms, keep)
    for patience_ms in (0, 20, np.inf)
    for linger_ms in (0, 20)
    for keep in (0, 0.3, 1)
]
HOLDING = ("air", "mec", "emec")
"""What these forward is all that will be known at the broker."""


def knobs(forwarding: Forwarding) -> str:
    one = forwarding.sharing
    return f"patience {one.patience_ms}, linger {one.linger_ms}, keep {one.keep}" if one else ""


@pytest.mark.parametrize("covering", [None, True, False])
@pytest.mark.parametrize("policy", FORWARDINGS)
def test_every_policy_notifies_exactly_who_asked(policy, covering):
    for seed in seeds(6, 60):
        rng = np.random.default_rng(seed)
        world = drawn_overlay(rng, FORWARDINGS[policy], covering)
        publish_some(world, 4)
        world.check_notified()
        assert world.is_quiet


@pytest.mark.no_cover
@pytest.mark.parametrize("forwarding", KNOBS, ids=knobs)
def test_the_knobs_of_sharing_change_nobody_s_notifications(forwarding):
    for seed in seeds(3, 30):
        world = drawn_overlay(np.random.default_rng(seed), forwarding)
        publish_some(world, 4)
        world.check_notified()
        assert world.is_quiet


@pytest.mark.parametrize("policy", HOLDING)
def test_no_model_runs_twice_on_the_way_to_a_broker(policy):
    for seed in seeds(8, 80):
        world = drawn_overlay(np.random.default_rng(seed), FORWARDINGS[policy])
        publish_some(world, 3)
        for event_id, published in world.events.items():
            for name in world.brokers:
                on_path: Counter[int] = Counter()
                for at in world.path(published.home, name):
                    for (event, broker, model), times in world.runs.items():
                        if (event, broker) == (event_id, at):
                            on_path[model] += times
                assert set(on_path.values()) <= {1}


def test_all_in_root_runs_models_at_the_publisher_s_broker_only():
    for seed in seeds(6, 60):
        world = drawn_overlay(np.random.default_rng(seed), FORWARDINGS["air"])
        publish_some(world, 3)
        for event_id, at, _ in world.runs:
            assert at == world.events[event_id].home


def test_all_in_leaves_runs_models_where_there_are_subscribers_only():
    for seed in seeds(6, 60):
        world = drawn_overlay(np.random.default_rng(seed), FORWARDINGS["ail"])
        publish_some(world, 3)
        homes = {at for at, _ in world.wheres}
        assert {at for _, at, _ in world.runs} <= homes


# -- by hand


def asking_for(*numbers: int) -> Where:
    text = " AND ".join(f"c{number}(photo)" for number in numbers)
    return Where(text, lambda event: all(of_photo(event, number) for number in numbers))


def beliefs(costs: list[float], selectivity: list[float]) -> Beliefs:
    """A model for each of c0, c3 and c7, which alone are asked for; see GROUPS."""
    column = Column(("photo",), pa.string())
    chances = np.full(CONCEPTS, 0.5)
    chances[[0, 3, 7]] = selectivity
    all_costs = np.full(5, 99.0)
    all_costs[[0, 2, 4]] = costs
    return Beliefs.of(
        tuple(Concept(f"c{number}", column) for number in range(CONCEPTS)),
        all_costs,
        chances,
        np.array([0, 1, 1, 2, 3, 3, 3, 4], np.int32),
    )


F1, F2, F3 = 0, 3, 7
"""The concepts that stand for the paper's filters."""
MODEL = {F1: 0, F2: 2, F3: 4}


@pytest.mark.parametrize("policy", ["mec", "emec"])
def test_figure_2b_a_satisfied_link_defers_f2_to_b3(policy):
    """B1 knows s1, s2 and s3 through l1, and s4 through l2. f1 is true and satisfies s1, so l1;
    s2 and s3 leave, and with them f2, which B3 runs.
    """
    world = ShuffledOverlay(
        np.random.default_rng(0), FORWARDINGS[policy], beliefs([10, 10, 10], [0.5, 0.5, 0.5])
    )
    for name in ("B1", "B2", "B3"):
        world.add(name)
    world.connect("B1", "B3")
    world.connect("B1", "B2")
    world.advertise("B1")
    wanted = {"s1": (F1,), "s2": (F1, F2), "s3": (F2, F3)}
    # Covered by s1, s2 would not reach B1: in the figure there is no covering.
    for broker in world.brokers.values():
        broker.routing._covering = False
    world.run()
    for name, filters in wanted.items():
        world.subscribe("B3", name, asking_for(*filters))
    world.subscribe("B2", "s4", asking_for(F1, F3))
    world.run()
    assert len(world.brokers["B1"].graph.routes.needs) == 4
    world.publish("B1", {"event_id": 0, "city": None, "photo": "11111111"})
    world.run()
    world.check_notified()
    assert world.runs == {
        (0, "B1", MODEL[F1]): 1,
        (0, "B1", MODEL[F3]): 1,
        (0, "B3", MODEL[F2]): 1,
    }


def test_mec_and_emec_choose_different_models_by_hand():
    """A link leads to s1 = f1, s2 = f2 AND f3; all are true half of the time.

    f1 covers its edge either way: 10 / 1. f2 covers its own, or both of s2: 12 / (½·1 + ½·2) = 8.
    But f1, if true, satisfies the link, and then takes the two edges of s2 along:
    10 / (1 + ½·2) = 5, while f2 alone satisfies nothing.
    """
    firsts = {}
    for policy in ("mec", "emec"):
        known = beliefs([10, 12, 90], [0.5, 0.5, 0.5])
        broker = EventBroker("b", read, known, FORWARDINGS[policy])
        either = f"c{F1}(photo) OR (c{F2}(photo) AND c{F3}(photo))"
        broker.handle(Subscriber("s"), Subscribe("s", either))
        row = pa.record_batch({"event_id": [0], "city": ["Cork"], "photo": ["1"]})
        event = Publish(Event(0, row), np.full(CONCEPTS, UNASKED, np.uint8))
        ((link, ask),) = broker.handle(Publisher("p"), event)
        assert link is MODELS
        assert isinstance(ask, Ask)
        firsts[policy] = ask.model
    assert firsts == {"mec": MODEL[F2], "emec": MODEL[F1]}


def test_a_policy_that_is_not_there_is_named_with_one_that_is():
    with pytest.raises(OverlayError, match="did you mean 'frontier'"):
        FORWARDINGS.named("fronteer")
