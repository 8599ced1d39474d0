"""Topics begin and end while events are on their way; and what nodes refuse."""

from __future__ import annotations

from typing import Any

import pytest

from caddis.errors import TopicError
from caddis.topics.channels.messages import (
    CONTROL,
    SUBSCRIBER,
    Acknowledged,
    Ask,
    Channel,
    Digest,
    Event,
    Gap,
    Join,
    Leave,
    Lost,
    Peer,
    Settings,
    Start,
    Started,
)
from caddis.topics.channels.publisher import ChannelPublisher
from caddis.topics.channels.receiver import ChannelReceiver
from caddis.topics.links import CLOCK, Wake
from tests.topics.channels.scene import FIRST, QUICK, Scene, nothing_lost, receiver_that_has


def test_nothing_that_was_published_before_is_delivered():
    scene = Scene()
    scene.publish("tea", 3, every_ms=5)
    scene.subscribe("tea")
    scene.wait(30)
    scene.publish("tea", 3, every_ms=5)
    scene.settle()
    assert scene.got() == [4, 5, 6]


def test_topics_that_nobody_wants_are_dropped():
    scene = Scene()
    scene.subscribe("rain")
    scene.wait(10)
    scene.publish("wind", 3)
    scene.settle()
    assert scene.bob.tally.unwanted == 3


def test_a_publisher_is_acknowledged_though_the_first_questions_are_lost():
    scene = Scene()
    scene.loses = lambda _sender, _receiver, message: isinstance(message, Start)
    scene.subscribe("tea")
    scene.publish("tea", 30, every_ms=20)
    assert scene.got() == []
    scene.loses = nothing_lost
    scene.publish("tea", 30, every_ms=20)
    scene.settle()
    assert scene.got()[-1] == 60


def test_what_comes_before_the_acknowledgement_is_held_until_then():
    bob = ChannelReceiver("bob", FIRST, QUICK)
    bob.subscribe(["tea"])
    bob.handle(Channel(0), Event("ann", "tea", 4, "before"))
    bob.handle(Channel(0), Event("ann", "tea", 5, "after"))
    sent = bob.handle(Peer("ann"), Started("ann", 0, 1, (("tea", 4),)))
    assert sent == [
        (SUBSCRIBER, Acknowledged("ann", ("tea",))),
        (SUBSCRIBER, Event("ann", "tea", 5, "after")),
    ]


def test_a_first_event_that_comes_before_the_acknowledgement_is_delivered():
    bob = ChannelReceiver("bob", FIRST, QUICK)
    bob.subscribe(["tea"])
    bob.handle(Channel(0), Event("ann", "tea", 1, "first"))
    sent = bob.handle(Peer("ann"), Started("ann", 0, 1, ()))
    assert sent[1] == (SUBSCRIBER, Event("ann", "tea", 1, "first"))


def test_known_publishers_are_asked_again_for_new_topics():
    bob = receiver_that_has("tea", 0)
    [_, _, (_, wake)] = bob.subscribe(["rain"])
    assert bob.handle(CLOCK, wake)[0] == (Peer("ann"), Start("bob", 1, 2, ("rain",)))


def test_a_receiver_that_wants_nothing_more_sets_no_alarm():
    bob = receiver_that_has("tea", 0)
    [_, _, (_, wake)] = bob.subscribe(["rain"])
    bob.unsubscribe(["tea", "rain"])
    assert bob.handle(CLOCK, wake) == []


def test_an_old_acknowledgement_does_not_start_a_topic_that_was_taken_up_again():
    bob = ChannelReceiver("bob", FIRST, QUICK)
    bob.subscribe(["tea"])
    bob.unsubscribe(["tea"])
    bob.subscribe(["tea"])
    assert bob.handle(Peer("ann"), Started("ann", 0, 1, (("tea", 4),)))[0][0] is CLOCK
    sent = bob.handle(Peer("ann"), Started("ann", 1, 2, (("tea", 6),)))
    assert sent == [(SUBSCRIBER, Acknowledged("ann", ("tea",)))]
    assert bob.handle(Channel(0), Event("ann", "tea", 6, "")) == []
    assert bob.handle(Channel(0), Event("ann", "tea", 7, ""))[0][1].number == 7


def test_an_acknowledgement_of_later_topics_does_not_start_earlier_ones():
    bob = ChannelReceiver("bob", FIRST, QUICK)
    bob.subscribe(["tea"])
    bob.subscribe(["rain"])
    [(_, wake)] = bob.handle(Peer("ann"), Started("ann", 1, 2, ()))
    assert bob.handle(CLOCK, wake)[0] == (Peer("ann"), Start("bob", 0, 2, ("tea", "rain")))
    sent = bob.handle(Peer("ann"), Started("ann", 0, 2, (("tea", 3),)))
    assert sent == [(SUBSCRIBER, Acknowledged("ann", ("tea", "rain")))]
    assert bob.handle(Peer("ann"), Started("ann", 0, 1, (("tea", 1),))) == []


def test_a_publisher_that_begins_later_is_heard_from_its_first_event():
    scene = Scene()
    scene.subscribe("tea")
    scene.wait(100)
    scene.world.add_publisher("carl", FIRST, QUICK)
    scene.wait(100)
    for _ in range(3):
        body = scene.ledger.publishing("carl", "tea")
        scene.world.publish("carl", "tea", body)
        scene.ledger.was_published("carl", "tea")
    scene.settle()
    assert scene.ledger.numbers("bob", "carl", "tea") == [1, 2, 3]


def test_topics_come_and_go_while_events_are_on_their_way(scene):
    for _ in range(6):
        scene.publish("tea", 2)
        scene.unsubscribe("tea")
        scene.publish("tea", 2)
        scene.subscribe("tea")
        scene.publish("tea", 2, every_ms=3)
    scene.settle()


@pytest.mark.parametrize("topics", ["tea", b"tea", [7], ["tea", None]])
def test_topics_are_a_list_of_texts(topics):
    bob = receiver_that_has("rain", 0)
    for act in (bob.subscribe, bob.unsubscribe):
        with pytest.raises(TopicError, match=r"list of texts, such as|a topic is a text, not"):
            act(topics)
    assert bob.topics == {"rain"}


def test_channels_are_left_when_no_wanted_topic_needs_them():
    bob = ChannelReceiver("bob", FIRST, QUICK)
    assert bob.subscribe(["rain", "wind"])[0] == (Channel(1), Join("bob"))
    assert bob.subscribe(["wind"]) == []
    assert bob.unsubscribe(["wind"]) == []
    assert bob.unsubscribe(["rain", "unknown"]) == [(Channel(1), Leave("bob"))]


def test_a_publisher_that_is_gone_for_good_is_forgotten():
    bob = receiver_that_has("tea", 0)
    [(_, wake)] = bob.handle(Channel(0), Event("ann", "tea", 3, "third"))
    assert bob.publisher_left("ann") == [
        (SUBSCRIBER, Lost("ann", "tea", 1, 2)),
        (SUBSCRIBER, Event("ann", "tea", 3, "third")),
    ]
    assert bob.publisher_left("ann") == []
    assert bob.handle(CLOCK, wake) == []


def test_messages_for_others_are_refused():
    with pytest.raises(TopicError, match="publisher 'ann' cannot use a Digest"):
        ChannelPublisher("ann", FIRST).handle(CONTROL, Digest("carl", ()))
    with pytest.raises(TopicError, match="receiver 'bob' cannot use a Ask"):
        ChannelReceiver("bob", FIRST).handle(CONTROL, Ask("carl", ()))


def test_an_answer_holds_no_more_than_a_question_may_ask_for():
    ann = ChannelPublisher("ann", FIRST, Settings(ask_events=3))
    for _ in range(9):
        ann.publish("tea", "")
    gaps = (Gap("tea", 1, 2), Gap("tea", 4, 9), Gap("rain", 1, 1))
    answer = ann.handle(Peer("bob"), Ask("bob", gaps))
    assert [message.number for _, message in answer] == [1, 2, 4]


def test_settings_are_above_nothing():
    for value in (0, -1, float("nan"), float("inf")):
        with pytest.raises(TopicError, match=f"overlap_ms is more than 0 and finite, not {value}"):
            Settings(overlap_ms=value)
    no_counts: list[Any] = [1.5, True, "7"]
    for one in no_counts:
        with pytest.raises(TopicError, match=f"history is a whole number, not {one}"):
            Settings(history=one)
    with pytest.raises(TopicError, match="history is more than 0 and finite, not 0"):
        Settings(history=0)


def test_an_alarm_that_no_longer_counts_is_nothing():
    ann = ChannelPublisher("ann", FIRST)
    assert ann.handle(CLOCK, Wake(1, 999)) == []
