"""Publishers and receivers: schedules that were thought up to break them, by name."""

from __future__ import annotations

from typing import Any

import pytest

from caddis.errors import TopicError
from caddis.topics.channels.map import ChannelMap
from caddis.topics.channels.messages import (
    CONTROL,
    SUBSCRIBER,
    Ask,
    Channel,
    Digest,
    Event,
    Gap,
    Gone,
    Lost,
    Peer,
    Settings,
    Start,
    Started,
)
from caddis.topics.channels.publisher import ChannelPublisher, TellNumbers
from caddis.topics.channels.receiver import ChannelReceiver
from caddis.topics.links import CLOCK
from tests.topics.channels.scene import FIRST, QUICK, Scene, nothing_lost, receiver_that_has

# -- maps


def test_an_event_goes_on_its_channel_alone_while_one_map_serves(scene):
    scene.publish("tea", 3)
    assert scene.world.traffic.on_channels == 3
    scene.settle()
    assert scene.got() == [1, 2, 3]


def test_in_an_overlap_both_channels_carry_and_the_second_copy_is_dropped(scene):
    after = FIRST.with_channels({"tea": 5})
    scene.world.tell("ann", after)
    scene.world.tell("bob", after)
    scene.wait(10)
    scene.publish("tea", 3)
    assert scene.world.traffic.on_channels == 6
    scene.wait(10)
    assert scene.got() == [1, 2, 3]
    assert scene.bob.tally.duplicates == 3
    scene.wait(QUICK.overlap_ms)
    assert scene.bob.channels == {5}
    scene.publish("tea")
    assert scene.world.traffic.on_channels == 7
    scene.settle()


def test_a_publisher_that_keeps_the_old_map_long_after_the_overlap_is_heard(scene):
    scene.world.tell("bob", FIRST.with_channels({"tea": 5}))
    scene.wait(QUICK.overlap_ms + 10)
    assert scene.bob.channels == {5}
    scene.publish("tea", 8, every_ms=70)
    scene.settle()
    assert scene.got() == list(range(1, 9))
    assert scene.bob.tally.asked >= 8


def test_a_receiver_that_learns_long_after_the_overlap_misses_nothing(scene):
    after = FIRST.with_channels({"tea": 5})
    scene.world.tell("ann", after)
    scene.publish("tea", 8, every_ms=70)
    scene.world.tell("bob", after)
    scene.publish("tea", 3, every_ms=70)
    scene.settle()
    assert scene.got() == list(range(1, 12))


def test_who_learns_within_the_overlap_need_not_ask(scene):
    after = FIRST.with_channels({"tea": 5})
    for first, second in [("ann", "bob"), ("bob", "ann")]:
        scene.world.tell(first, after)
        scene.publish("tea", 15, every_ms=10)
        scene.world.tell(second, after)
        scene.publish("tea", 15, every_ms=20)
        after = after.with_channels({"tea": after.channel_of("tea") + 1})
    scene.settle()
    assert scene.got() == list(range(1, 61))
    assert scene.bob.tally.asks == 0


def test_versions_may_be_skipped_by_one_and_not_by_the_other(scene):
    versions = [FIRST]
    for number in range(2, 8):
        versions.append(versions[-1].with_channels({"tea": number}))
    scene.world.tell("ann", versions[6])
    for one in versions[1:]:
        scene.publish("tea", 2, every_ms=30)
        scene.world.tell("bob", one)
    scene.publish("tea", 2, every_ms=30)
    assert scene.ann.version == scene.bob.version == 7
    scene.settle()
    assert scene.got() == list(range(1, 15))


def test_a_map_may_flip_back_within_an_overlap(scene):
    there = FIRST.with_channels({"tea": 5})
    back = there.with_channels({"tea": 0})
    for one in (there, back):
        scene.world.tell("ann", one)
        scene.publish("tea", 2, every_ms=20)
        scene.world.tell("bob", one)
        scene.publish("tea", 2, every_ms=20)
    assert scene.bob.channels == {0, 5}
    scene.publish("tea", 10, every_ms=50)
    assert scene.bob.channels == {0}
    scene.settle()
    assert scene.got() == list(range(1, 19))
    assert scene.bob.tally.asks == 0


def test_two_versions_within_one_overlap_serve_together_with_the_first(scene):
    second = FIRST.with_channels({"tea": 5})
    third = second.with_channels({"tea": 6})
    scene.world.tell("ann", second)
    scene.wait(50)
    scene.world.tell("ann", third)
    before = scene.world.traffic.on_channels
    scene.publish("tea")
    assert scene.world.traffic.on_channels == before + 3
    scene.wait(160)
    scene.publish("tea")
    assert scene.world.traffic.on_channels == before + 5
    scene.settle()
    assert scene.got() == [1, 2]
    assert scene.bob.channels == {0}


def test_an_older_map_that_comes_late_is_ignored(scene):
    third = ChannelMap({"tea": 7}, version=3)
    for node in (scene.ann, scene.bob):
        assert node.handle(CONTROL, third)
        assert node.handle(CONTROL, FIRST.with_channels({"tea": 5})) == []
        assert node.handle(CONTROL, third) == []
        assert node.version == 3


def test_a_topic_that_the_map_of_a_receiver_lacks_comes_by_asking():
    scene = Scene()
    scene.subscribe("new")
    scene.wait(10)
    scene.world.tell("ann", FIRST.with_channels({"new": 2}))
    scene.publish("new", 3)
    scene.settle()
    assert scene.got("new") == [1, 2, 3]


def test_a_topic_that_the_map_of_a_publisher_lacks_is_refused_and_not_numbered(scene):
    with pytest.raises(TopicError, match="topic 'tee' is not in version 1 of the map; did you"):
        scene.ann.publish("tee", "")
    no_topic: Any = 7
    with pytest.raises(TopicError, match="a topic is a text, not 7"):
        scene.ann.publish(no_topic, "")
    assert scene.ann.handle(CONTROL, Start("bob", 0, 1, ("tee",)))[0][1].numbers == ()


def test_while_an_old_map_has_a_topic_it_is_published_though_the_new_one_lacks_it(scene):
    scene.world.tell("ann", FIRST.with_channels({"tea": None}))
    scene.publish("tea", 2, every_ms=20)
    scene.wait(QUICK.overlap_ms)
    with pytest.raises(TopicError, match="topic 'tea' is not in version 2 of the map"):
        scene.ann.publish("tea", "")
    scene.settle()
    assert scene.got() == [1, 2]


def test_an_event_is_never_sent_twice_on_one_channel(scene):
    after = FIRST
    for channel in (5, 6, 5, 0):
        after = after.with_channels({"rain": channel})
        scene.world.tell("ann", after)
    sent = [link for link, _ in scene.ann.publish("tea", "") if isinstance(link, Channel)]
    assert sent == [Channel(0)]
    sent = [link for link, _ in scene.ann.publish("rain", "") if isinstance(link, Channel)]
    assert sorted(sent) == [Channel(0), Channel(1), Channel(5), Channel(6)]


# -- losses


def test_the_loss_of_the_last_event_is_found_by_a_digest(scene):
    scene.loses = lambda _sender, _receiver, message: isinstance(message, Event)
    scene.publish("tea")
    scene.wait(1)
    scene.loses = nothing_lost
    scene.wait(QUICK.digest_ms + 50)
    assert scene.got() == [1]
    scene.settle()


def test_all_events_come_even_if_channels_lose_every_one(scene):
    seen = set()

    def for_the_first_time(_sender: str, _receiver: str, message: object) -> bool:
        known = message in seen
        seen.add(message)
        return isinstance(message, Event) and not known

    scene.loses = for_the_first_time
    scene.publish("tea", 50, every_ms=7)
    scene.wait(1_000)
    assert scene.got() == list(range(1, 51))
    assert scene.bob.tally.asked == 50
    scene.settle()


def test_what_comes_after_a_gap_is_held_back(scene):
    scene.loses = lambda _sender, _receiver, message: isinstance(message, Event)
    scene.publish("tea")
    scene.loses = nothing_lost
    scene.publish("tea", 2)
    scene.wait(10)
    assert scene.got() == []
    scene.wait(QUICK.ask_after_ms)
    assert scene.got() == [1, 2, 3]
    scene.settle()


def test_what_is_only_late_is_not_asked_for():
    bob = receiver_that_has("tea", 0)
    sent = bob.handle(Channel(0), Event("ann", "tea", 2, ""))
    [(link, wake)] = sent
    assert (link, wake.after_ms) == (CLOCK, QUICK.ask_after_ms)
    assert len(bob.handle(Channel(5), Event("ann", "tea", 1, ""))) == 2
    assert bob.handle(CLOCK, wake) == []
    assert bob.tally.asks == 0


def test_questions_become_rarer_and_an_answer_makes_them_quick_again():
    bob = receiver_that_has("tea", 0)
    sent = bob.handle(CONTROL, Digest("ann", (("tea", 2),)))
    pauses = []
    for _ in range(4):
        [wake] = [message for link, message in sent if link is CLOCK]
        pauses.append(wake.after_ms)
        sent = bob.handle(CLOCK, wake)
        assert (Peer("ann"), Ask("bob", (Gap("tea", 1, 2),))) in sent
    assert pauses == [20, 40, 80, 160]
    bob.handle(Peer("ann"), Event("ann", "tea", 1, ""))
    [wake] = [message for link, message in sent if link is CLOCK]
    sent = bob.handle(CLOCK, wake)
    assert sent[0] == (Peer("ann"), Ask("bob", (Gap("tea", 2, 2),)))
    assert sent[-1][1].after_ms == 2 * 20


def test_questions_stay_quick_while_the_publisher_is_heard():
    bob = receiver_that_has("tea", 0)
    sent = bob.handle(CONTROL, Digest("ann", (("tea", 2),)))
    pauses = []
    for _ in range(6):
        [wake] = [message for link, message in sent if link is CLOCK]
        pauses.append(wake.after_ms)
        bob.handle(CONTROL, Digest("ann", ()))
        sent = bob.handle(CLOCK, wake)
    assert pauses == [20, 40, 80, 160, 160, 160]


def test_a_digest_with_news_holds_few_of_the_other_numbers():
    topics = [f"topic {number}" for number in range(100)]
    ann = ChannelPublisher("ann", ChannelMap(dict.fromkeys(topics, 0)), QUICK)
    [_, (_, wake)] = ann.begin()
    sizes = []
    for topic in topics:
        ann.publish(topic, "")
    for _ in range(5):
        [(_, digest), (_, wake)] = ann.handle(CLOCK, wake)
        sizes.append(len(digest.numbers))
    ann.publish(topics[50], "")
    [(_, digest), (_, wake)] = ann.handle(CLOCK, ann._alarms.set(1, TellNumbers())[1])
    assert digest.numbers[0] == (topics[50], 2)
    assert [*sizes, len(digest.numbers)] == [100, 100, 100, 100, 100, 17]


def test_what_the_publisher_no_longer_has_is_reported_with_its_numbers():
    scene = Scene(Settings(history=4, digest_ms=100, ask_after_ms=20))
    scene.subscribe("tea")
    scene.wait(20)
    scene.publish("tea", 2, every_ms=5)
    scene.loses = lambda *_: True
    scene.publish("tea", 10, every_ms=5)
    scene.loses = nothing_lost
    scene.publish("tea", 2)
    scene.wait(10_000)
    scene.ledger.check()
    assert scene.ledger.losses() == [Lost("ann", "tea", 3, 10)]
    assert scene.got() == [1, 2, 11, 12, 13, 14]
    assert scene.bob.tally.lost == 8


def test_a_silent_publisher_is_given_up_and_taken_up_again(scene):
    scene.publish("tea", 1, every_ms=5)
    scene.loses = lambda _sender, _receiver, message: isinstance(message, Event)
    scene.publish("tea", 1, every_ms=5)
    scene.loses = nothing_lost
    scene.publish("tea", 1, every_ms=5)
    scene.loses = lambda *_: True
    scene.wait(60_000)
    assert scene.ledger.losses() == [Lost("ann", "tea", 2, 2)]
    assert scene.got() == [1, 3]
    sent = scene.world.traffic.lost["Ask"]
    assert sent == scene.bob.tally.asks == scene.bob.tally.asked == QUICK.give_up
    scene.publish("tea", 2)
    scene.wait(60_000)
    assert scene.world.traffic.lost["Ask"] == sent
    scene.loses = nothing_lost
    scene.wait(60_000)
    assert scene.got() == [1, 3, 4, 5]
    scene.ledger.check()


def test_an_answer_to_the_last_question_is_waited_for():
    for answered in (True, False):
        bob = receiver_that_has("tea", 0)
        sent = bob.handle(CONTROL, Digest("ann", (("tea", 1),)))
        for _ in range(QUICK.give_up):
            [wake] = [message for link, message in sent if link is CLOCK]
            sent = bob.handle(CLOCK, wake)
            assert sent[0] == (Peer("ann"), Ask("bob", (Gap("tea", 1, 1),)))
        [wake] = [message for link, message in sent if link is CLOCK]
        if answered:
            bob.handle(Peer("ann"), Event("ann", "tea", 1, ""))
        sent = bob.handle(CLOCK, wake)
        assert sent == ([] if answered else [(SUBSCRIBER, Lost("ann", "tea", 1, 1))])
        assert bob.tally.asks == QUICK.give_up


def test_a_topic_that_misses_what_never_was_keeps_no_other_from_being_asked_for():
    bob = ChannelReceiver("bob", FIRST, QUICK)
    bob.subscribe(["rain", "tea", "wind"])
    bob.handle(Peer("ann"), Started("ann", 0, 1, ()))
    numbers = (("rain", 10**9), ("tea", 2), ("wind", 1))
    sent = bob.handle(CONTROL, Digest("ann", numbers))
    asked = []
    for _ in range(3):
        [wake] = [message for link, message in sent if link is CLOCK]
        sent = bob.handle(CLOCK, wake)
        asked.append([gap.topic for gap in sent[0][1].gaps])
    assert asked == [["rain"], ["tea", "wind", "rain"], ["tea", "wind", "rain"]]


def test_an_event_that_comes_after_it_was_reported_as_lost_is_dropped():
    bob = receiver_that_has("tea", 0)
    bob.handle(Channel(0), Event("ann", "tea", 2, "second"))
    sent = bob.handle(Peer("ann"), Gone("ann", "tea", 2))
    assert sent == [
        (SUBSCRIBER, Lost("ann", "tea", 1, 1)),
        (SUBSCRIBER, Event("ann", "tea", 2, "second")),
    ]
    assert bob.handle(Channel(0), Event("ann", "tea", 1, "first")) == []
    assert bob.tally.duplicates == 1


def test_everything_may_come_twice(scene):
    carry = scene.world._copies
    scene.world._copies = lambda *args: (carry(*args), carry(*args))
    scene.subscribe("rain")
    scene.publish("tea", 5, every_ms=3)
    scene.publish("rain", 5, every_ms=3)
    scene.settle()
    assert scene.got("tea") == scene.got("rain") == [1, 2, 3, 4, 5]


def test_a_receiver_that_holds_little_back_still_gets_all():
    scene = Scene(Settings(window=3, ask_events=2, digest_ms=100, ask_after_ms=20))
    scene.subscribe("tea")
    scene.wait(20)
    scene.loses = lambda _sender, _receiver, message: isinstance(message, Event)
    scene.publish("tea", 30)
    scene.loses = nothing_lost
    scene.publish("tea", 30)
    scene.wait(10)
    [window] = scene.bob._sources["ann"].windows.values()
    assert len(window._held) == 0
    scene.settle()
    assert scene.got() == list(range(1, 61))


def test_small_digests_tell_all_topics_in_turn():
    ann = ChannelPublisher("ann", FIRST, Settings(digest_topics=1))
    [_, (_, wake)] = ann.begin()
    for topic in ("tea", "rain", "wind"):
        ann.publish(topic, "")
    told = []
    for _ in range(12):
        [(link, digest), (_, wake)] = ann.handle(CLOCK, wake)
        assert link is CONTROL
        told += [topic for topic, _ in digest.numbers]
    assert sorted(told[:9]) == sorted(["tea", "rain", "wind"] * 3)
    assert sorted(told[9:]) == ["rain", "tea", "wind"]


def test_digests_become_rare_only_when_all_numbers_were_told_again():
    ann = ChannelPublisher("ann", FIRST, Settings(digest_topics=1, digest_ms=100))
    [_, (_, wake)] = ann.begin()
    for topic in ("tea", "rain", "wind"):
        ann.publish(topic, "")
    pauses = []
    for _ in range(15):
        [_, (_, wake)] = ann.handle(CLOCK, wake)
        pauses.append(wake.after_ms)
    assert pauses == [100] * 10 + [200] * 3 + [400] * 2


def test_digests_become_no_rarer_than_the_settings_say():
    ann = ChannelPublisher("ann", FIRST, Settings(digest_ms=100, idle_digest_ms=700))
    [_, (_, wake)] = ann.begin()
    ann.publish("tea", "")
    pauses = []
    for _ in range(9):
        [_, (_, wake)] = ann.handle(CLOCK, wake)
        pauses.append(wake.after_ms)
    assert pauses == [100, 100, 200, 400, 700, 700, 700, 700, 700]


def test_digests_become_rare_while_nothing_is_published(scene):
    scene.publish("tea")
    scene.wait(600_000)
    told = scene.world.traffic.sent["Digest"]
    assert told < 40
    scene.publish("tea")
    scene.wait(250)
    assert scene.world.traffic.sent["Digest"] == told + 2
