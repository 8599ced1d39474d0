"""Brokers while subscribers, publishers and neighbours come and go, and when they crash."""

from __future__ import annotations

import numpy as np
import pytest

from caddis.errors import OverlayError
from caddis.models import UNASKED
from caddis.overlay.event_broker import EventBroker
from caddis.overlay.forwarding.policies import FORWARDINGS, Forwarding
from caddis.overlay.messages import (
    CLOCK,
    MODELS,
    Answered,
    Ask,
    Event,
    Join,
    Learnt,
    Leave,
    Neighbour,
    Notification,
    Publish,
    Publisher,
    Subscribe,
    Subscriber,
)
from tests.ordering.clauses import CONCEPTS, Where, of_photo
from tests.overlay.shuffled import (
    ShuffledOverlay,
    beliefs_of,
    drawn_facts,
    drawn_overlay,
    patient,
    publish_some,
    read,
    wheres,
)
from tests.runs import seeds

HARDY = [*FORWARDINGS.values(), patient(0, 0, 0), patient(20, 20, 1)]
"""Policies that get over a crash: who waits for others does not do so for ever."""


def name_of(forwarding: Forwarding) -> str:
    return f"{forwarding.name} {forwarding.sharing}" if forwarding.sharing else forwarding.name


# -- who comes and goes


def change_something(world: ShuffledOverlay, number: int) -> None:
    """One more subscription, publisher or broker, or one less, or a new way between brokers."""
    rng, names = world.rng, sorted(world.brokers)
    at = str(rng.choice(names))
    match int(rng.integers(7)):
        case 0 | 1:
            world.subscribe(at, f"new{number}", wheres()[int(rng.integers(250))])
        case 2 if world.wheres:
            keys = sorted(world.wheres)
            world.unsubscribe(*keys[int(rng.integers(len(keys)))])
        case 3 if at in world.publishers:
            world.unadvertise(at)
        case 3:
            world.advertise(at)
        case 4:
            world.add(f"new{number}")
            world.connect(at, f"new{number}")
        case 5 if len(world.around(at)) == 1 and len(names) > 1:
            world.remove(at)
        case 6 if len(world.around(at)) == 1:
            (before,) = world.around(at)
            after = str(rng.choice([name for name in names if name != at]))
            world.disconnect(at, before)
            world.run()
            world.connect(at, after)


@pytest.mark.no_cover
@pytest.mark.parametrize("covering", [True, False])
@pytest.mark.parametrize("policy", FORWARDINGS)
def test_events_follow_what_is_subscribed_at_the_moment(policy, covering):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        world = drawn_overlay(rng, FORWARDINGS[policy], covering, most_brokers=6)
        for number in range(15):
            change_something(world, number)
            world.run()
            if world.publishers:
                publish_some(world, 1)
        world.check_notified()
        assert world.is_quiet


@pytest.mark.parametrize("policy", FORWARDINGS)
def test_a_neighbour_that_joined_behind_whom_nobody_wants_anything_may_publish(policy):
    world = ShuffledOverlay(np.random.default_rng(0), FORWARDINGS[policy])
    world.add("a")
    world.advertise("a")
    world.subscribe("a", "s", Where("c0(photo)", lambda event: of_photo(event, 0)))
    facts = {"event_id": 0, "city": None, "photo": "1" * CONCEPTS}
    world.publish("a", facts)
    world.run()
    world.add("b")
    world.connect("a", "b")
    world.run()
    world.advertise("b")
    world.run()
    world.publish("b", facts)
    world.run()
    world.check_notified()
    assert sum(world.notified.values()) == 2


# -- crashes


@pytest.mark.parametrize("forwarding", HARDY, ids=name_of)
def test_brokers_that_crash_at_any_moment_notify_who_asked_in_the_end(forwarding):
    """Some twice, but no one else; and nothing stays open."""
    for seed in seeds(5, 50):
        rng = np.random.default_rng(seed)
        world = drawn_overlay(rng, forwarding)
        homes, names = sorted(world.publishers), sorted(world.brokers)
        for _ in range(3):
            world.publish(str(rng.choice(homes)), drawn_facts(rng))
            for _ in range(int(rng.choice([0, 5, 100]))):
                world.step()
        for _ in range(1_000):
            if not world.step():
                break
            if rng.random() < 0.05:
                world.crash(str(rng.choice(names)))
        world.run()
        expected = {(event, *key) for event, one in world.events.items() for key in one.expected}
        assert set(world.notified) == expected
        assert world.is_quiet


# -- brokers that leave while events are being decided


@pytest.mark.parametrize("forwarding", [*HARDY, patient(np.inf)], ids=name_of)
def test_who_is_left_when_a_broker_goes_is_notified_and_waits_for_nobody(forwarding):
    """A leaf takes the models that it was in charge of with it; who gave them takes them back."""
    for seed in seeds(12, 120):
        rng = np.random.default_rng(seed)
        world = drawn_overlay(rng, forwarding)
        leaves = [one for one in world.brokers if len(world.around(one)) == 1]
        homes = sorted(world.publishers)
        leaving = [one for one in leaves if one not in homes]
        if not leaving:
            continue
        for _ in range(3):
            world.publish(str(rng.choice(homes)), drawn_facts(rng))
            for _ in range(int(rng.choice([0, 5, 30]))):
                world.step()
        gone = str(rng.choice(leaving))
        world.remove(gone)
        world.run()
        expected = {(event, *key) for event, one in world.events.items() for key in one.expected}
        assert {key for key in expected if key[1] != gone} <= set(world.notified) <= expected
        assert world.is_quiet


def test_an_event_whose_source_is_gone_is_decided_all_the_same():
    broker = a_broker()
    broker.handle(Subscriber("s"), Subscribe("s", "c0(photo)"))
    assert broker.handle(Neighbour("a"), an_event(0, charge=(0,))) == [(MODELS, Ask(0, 0))]
    assert broker.handle(Neighbour("a"), Leave()) == []
    assert broker.handle(MODELS, Answered(0, 0, (1,))) == [(Subscriber("s"), Notification(0))]
    assert not broker._visits


def test_who_loses_the_source_of_an_event_takes_charge_of_what_nobody_else_has():
    broker = a_broker()
    broker.handle(Subscriber("s"), Subscribe("s", "c0(photo)"))
    sent = broker.handle(Neighbour("a"), an_event(0))
    assert [link for link, _ in sent] == [CLOCK]
    assert broker.handle(Neighbour("a"), Leave()) == [(MODELS, Ask(0, 0))]


def test_who_sends_an_event_that_came_from_another_is_told_not_to_wait():
    broker = a_broker()
    broker.handle(Neighbour("c"), Join())
    broker.handle(Subscriber("s"), Subscribe("s", "c0(photo)"))
    broker.handle(Neighbour("a"), an_event(0, charge=(0,)))
    again = broker.handle(Neighbour("c"), an_event(0, charge=(1,)))
    assert again == [(Neighbour("c"), Learnt(0, charge=(1,), closed=True))]
    assert list(broker.deciding) == [0]


def test_an_event_that_is_refused_may_come_again():
    broker = a_broker("mec")
    broker.handle(Subscriber("s"), Subscribe("s", "city = 'Cork'"))
    with pytest.raises(OverlayError, match="has no row"):
        broker.handle(Publisher("p"), an_event())
    with pytest.raises(OverlayError, match="has no row"):
        broker.handle(Publisher("p"), an_event())


# -- one broker, by hand


def a_broker(policy: str = "frontier") -> EventBroker:
    broker = EventBroker("b", read, beliefs_of(np.random.default_rng(0)), FORWARDINGS[policy])
    broker.handle(Neighbour("a"), Join())
    return broker


def an_event(event_id: int = 0, charge: tuple[int, ...] = ()) -> Publish:
    return Publish(Event(event_id), np.full(CONCEPTS, UNASKED, np.uint8), charge)


@pytest.mark.parametrize("policy", FORWARDINGS)
def test_an_event_that_comes_twice_is_decided_once(policy):
    broker = a_broker(policy)
    broker.handle(Subscriber("s"), Subscribe("s", "c0(photo)"))
    ((link, ask),) = broker.handle(Publisher("p"), an_event())
    assert (link, ask) == (MODELS, Ask(0, 0))
    assert broker.handle(Publisher("p"), an_event()) == []
    assert broker.handle(MODELS, Answered(0, 0, (1,))) in (
        [(Subscriber("s"), Notification(0))],
        [],
    )
    assert broker.handle(Publisher("p"), an_event()) == []


def test_events_take_turns_in_the_order_in_which_they_came():
    broker = a_broker("mec")
    broker.handle(Subscriber("s"), Subscribe("s", "c0(photo) AND c3(photo)"))
    asked = [one for _, one in broker.handle(Publisher("p"), an_event(0)) if isinstance(one, Ask)]
    assert broker.handle(Publisher("p"), an_event(1)) == []
    assert broker.handle(Publisher("p"), an_event(2)) == []
    for ask in asked:
        sent = broker.handle(MODELS, Answered(*ask, (1,)))
        asked += [one for _, one in sent if isinstance(one, Ask)]
    assert [ask.event_id for ask in asked] == [0, 0, 1, 1, 2, 2]


def test_who_has_decided_an_event_returns_a_charge_to_where_the_event_came_from():
    broker = a_broker()
    broker.handle(Neighbour("c"), Join())
    closed = [(Neighbour("a"), Learnt(7, charge=(1, 2), closed=True))]
    assert broker.handle(Neighbour("a"), an_event(7, charge=(1, 2))) == closed
    for source, was_closed in (("a", False), ("c", True)):
        late = Learnt(7, charge=(1, 2), closed=was_closed)
        assert broker.handle(Neighbour(source), late) == closed
    assert broker.handle(Neighbour("a"), an_event(7, charge=(1, 2))) == closed
    assert broker.handle(Neighbour("c"), Learnt(7, closed=True)) == []


def test_where_an_event_was_published_a_charge_that_comes_late_ends():
    broker = a_broker()
    assert broker.handle(Publisher("p"), an_event(7)) == []
    assert broker.handle(Neighbour("a"), Learnt(7, charge=(1,), closed=True)) == []


def test_what_cannot_be_is_refused():
    broker = a_broker()
    with pytest.raises(OverlayError, match="never sent Ask"):
        broker.handle(MODELS, Ask(0, 0))
    with pytest.raises(OverlayError, match="cannot come from clock"):
        broker.handle(CLOCK, Subscribe("s", "TRUE"))
    with pytest.raises(OverlayError, match="unknown link"):
        broker.handle(Neighbour("stranger"), an_event())
    broker.handle(Subscriber("s"), Subscribe("s", "city = 'Cork'"))
    with pytest.raises(OverlayError, match="has no row"):
        broker.handle(Publisher("p"), an_event(1))
