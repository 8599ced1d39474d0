"""Publishers and receivers: schedules that were thought up to break them, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from caddis.errors import TopicError
from caddis.lab.channel_simulator import ChannelSimulator
from caddis.topics.channel_map import ChannelMap
from caddis.topics.channel_publisher import ChannelPublisher, TellNumbers
from caddis.topics.channel_receiver import STRAYS, ChannelReceiver
from caddis.topics.dissemination import (
    CONTROL,
    SUBSCRIBER,
    Acknowledged,
    Ask,
    Channel,
    Digest,
    Event,
    Gap,
    Gone,
    Join,
    Leave,
    Lost,
    Peer,
    Settings,
    Start,
    Started,
)
from caddis.topics.links import CLOCK, Wake
from tests.lab.channel_ledger import Ledger

FIRST = ChannelMap({"tea": 0, "rain": 1, "wind": 1})
QUICK = Settings(overlap_ms=200, digest_ms=100, ask_after_ms=20)


def nothing_lost(_sender: str, _receiver: str, _message: object) -> bool:
    return False


class Scene:
    """Ann publishes, Bob receives; each message takes a millisecond."""

    def __init__(self, settings: Settings = QUICK) -> None:
        self.ledger = Ledger()
        self.loses: Callable[[str, str, Any], bool] = nothing_lost
        self.world = ChannelSimulator(
            np.random.default_rng(0),
            self.ledger.hear,
            loss=self._loses,
            delay_ms=(1.0, 1.0),
        )
        self.ann = self.world.add_publisher("ann", FIRST, settings)
        self.bob = self.world.add_receiver("bob", FIRST, settings)

    def _loses(self, sender: str, receiver: str, message: object) -> bool:
        return self.loses(sender, receiver, message)

    def subscribe(self, *topics: str) -> None:
        self.ledger.subscribing("bob", list(topics))
        self.world.say("bob", self.bob.subscribe(topics))

    def unsubscribe(self, *topics: str) -> None:
        self.world.say("bob", self.bob.unsubscribe(topics))
        self.ledger.unsubscribed("bob", list(topics))

    def publish(self, topic: str, times: int = 1, every_ms: float = 0.0) -> None:
        for _ in range(times):
            body = self.ledger.publishing("ann", topic)
            self.world.publish("ann", topic, body)
            self.ledger.was_published("ann", topic)
            self.wait(every_ms)

    def wait(self, for_ms: float) -> None:
        self.world.run(self.world.now + for_ms)

    def settle(self) -> None:
        """Wait for long, then see that all is as it must be, and nothing lost."""
        self.loses = nothing_lost
        self.wait(120_000)
        assert self.ledger.settled()
        self.ledger.check()
        assert not self.ledger.losses()

    def got(self, topic: str = "tea") -> list[int]:
        return self.ledger.numbers("bob", "ann", topic)


@pytest.fixture
def scene() -> Scene:
    made = Scene()
    made.subscribe("tea")
    made.wait(50)
    return made


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


# -- joining and leaving in vain


def test_a_join_that_was_lost_is_said_again():
    scene = Scene()
    scene.loses = lambda _sender, _receiver, message: isinstance(message, Join)
    scene.subscribe("tea")
    scene.wait(10)
    scene.loses = nothing_lost
    scene.publish("tea", 1, every_ms=300)
    assert scene.got() == [1]
    assert scene.bob.tally.asked == 1
    for number in range(2, 20):
        scene.publish("tea", 1, every_ms=5)
        assert scene.got()[-1] == number
    assert scene.bob.tally.asked == 1
    scene.settle()


def test_a_join_is_said_again_however_often_it_is_lost():
    scene = Scene()
    scene.loses = lambda _sender, _receiver, message: isinstance(message, Join)
    scene.subscribe("tea")
    scene.publish("tea", 20, every_ms=100)
    assert scene.world.traffic.lost["Join"] > 5
    scene.loses = nothing_lost
    scene.publish("tea", 3, every_ms=200)
    asked = scene.bob.tally.asked
    scene.publish("tea", 20, every_ms=5)
    assert scene.bob.tally.asked == asked
    scene.settle()


def test_a_join_that_a_leave_overtook_is_said_again(scene):
    scene.publish("tea", 3, every_ms=5)
    scene.world._members[0].clear()
    scene.publish("tea", 2, every_ms=300)
    assert scene.world._members[0] == {"bob"}
    asked = scene.bob.tally.asked
    assert asked == 2
    scene.publish("tea", 20, every_ms=5)
    assert scene.bob.tally.asked == asked
    scene.settle()


def test_what_came_before_a_channel_was_left_does_not_count_once_it_is_joined_again(scene):
    scene.publish("tea", 3, every_ms=5)
    scene.unsubscribe("tea")
    scene.wait(10)
    scene.loses = lambda _sender, _receiver, message: isinstance(message, Join)
    scene.subscribe("tea")
    scene.wait(10)
    scene.loses = nothing_lost
    scene.publish("tea", 1, every_ms=300)
    assert scene.world._members[0] == {"bob"}
    scene.settle()


def test_while_a_channel_carries_what_it_lost_is_asked_for_without_joining_again(scene):
    before = scene.world.traffic.sent["Join"]
    for _ in range(5):
        scene.loses = lambda _sender, _receiver, message: isinstance(message, Event)
        scene.publish("tea", 1)
        scene.loses = nothing_lost
        scene.publish("tea", 1, every_ms=100)
    assert scene.bob.tally.asked == 5
    assert scene.world.traffic.sent["Join"] == before
    scene.settle()


def test_a_channel_that_was_left_and_goes_on_to_carry_is_left_again():
    scene = Scene()
    scene.subscribe("rain", "tea")
    scene.wait(10)
    scene.loses = lambda _sender, _receiver, message: isinstance(message, Leave)
    scene.unsubscribe("rain")
    scene.publish("rain", STRAYS, every_ms=5)
    assert scene.world.traffic.lost["Leave"] == 2
    scene.publish("rain", STRAYS - 1, every_ms=5)
    assert scene.world.traffic.lost["Leave"] == 2
    scene.loses = nothing_lost
    scene.publish("rain", 20, every_ms=5)
    assert scene.world._members[1] == set()
    assert scene.bob.tally.unwanted == 2 * STRAYS
    scene.settle()


def test_what_came_on_a_channel_before_it_was_joined_again_is_no_stray():
    bob = receiver_that_has("tea", 0)
    for _ in range(3):
        bob.unsubscribe(["tea"])
        for number in range(1, STRAYS):
            assert bob.handle(Channel(0), Event("ann", "wind", number, "")) == []
        assert bob.subscribe(["tea"])[0] == (Channel(0), Join("bob"))


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
    said = bob.handle(Channel(0), Event("ann", "tea", 2, ""))
    [(link, wake)] = said
    assert (link, wake.after_ms) == (CLOCK, QUICK.ask_after_ms)
    assert len(bob.handle(Channel(5), Event("ann", "tea", 1, ""))) == 2
    assert bob.handle(CLOCK, wake) == []
    assert bob.tally.asks == 0


def test_questions_become_rarer_and_an_answer_makes_them_quick_again():
    bob = receiver_that_has("tea", 0)
    said = bob.handle(CONTROL, Digest("ann", (("tea", 2),)))
    pauses = []
    for _ in range(4):
        [wake] = [message for link, message in said if link is CLOCK]
        pauses.append(wake.after_ms)
        said = bob.handle(CLOCK, wake)
        assert (Peer("ann"), Ask("bob", (Gap("tea", 1, 2),))) in said
    assert pauses == [20, 40, 80, 160]
    bob.handle(Peer("ann"), Event("ann", "tea", 1, ""))
    [wake] = [message for link, message in said if link is CLOCK]
    said = bob.handle(CLOCK, wake)
    assert said[0] == (Peer("ann"), Ask("bob", (Gap("tea", 2, 2),)))
    assert said[-1][1].after_ms == 2 * 20


def test_questions_stay_quick_while_the_publisher_is_heard():
    bob = receiver_that_has("tea", 0)
    said = bob.handle(CONTROL, Digest("ann", (("tea", 2),)))
    pauses = []
    for _ in range(6):
        [wake] = [message for link, message in said if link is CLOCK]
        pauses.append(wake.after_ms)
        bob.handle(CONTROL, Digest("ann", ()))
        said = bob.handle(CLOCK, wake)
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
        said = bob.handle(CONTROL, Digest("ann", (("tea", 1),)))
        for _ in range(QUICK.give_up):
            [wake] = [message for link, message in said if link is CLOCK]
            said = bob.handle(CLOCK, wake)
            assert said[0] == (Peer("ann"), Ask("bob", (Gap("tea", 1, 1),)))
        [wake] = [message for link, message in said if link is CLOCK]
        if answered:
            bob.handle(Peer("ann"), Event("ann", "tea", 1, ""))
        said = bob.handle(CLOCK, wake)
        assert said == ([] if answered else [(SUBSCRIBER, Lost("ann", "tea", 1, 1))])
        assert bob.tally.asks == QUICK.give_up


def test_a_topic_that_misses_what_never_was_keeps_no_other_from_being_asked_for():
    bob = ChannelReceiver("bob", FIRST, QUICK)
    bob.subscribe(["rain", "tea", "wind"])
    bob.handle(Peer("ann"), Started("ann", 0, 1, ()))
    numbers = (("rain", 10**9), ("tea", 2), ("wind", 1))
    said = bob.handle(CONTROL, Digest("ann", numbers))
    asked = []
    for _ in range(3):
        [wake] = [message for link, message in said if link is CLOCK]
        said = bob.handle(CLOCK, wake)
        asked.append([gap.topic for gap in said[0][1].gaps])
    assert asked == [["rain"], ["tea", "wind", "rain"], ["tea", "wind", "rain"]]


def test_an_event_that_comes_after_it_was_reported_as_lost_is_dropped():
    bob = receiver_that_has("tea", 0)
    bob.handle(Channel(0), Event("ann", "tea", 2, "second"))
    said = bob.handle(Peer("ann"), Gone("ann", "tea", 2))
    assert said == [
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


# -- starting and ending


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
    said = bob.handle(Peer("ann"), Started("ann", 0, 1, (("tea", 4),)))
    assert said == [
        (SUBSCRIBER, Acknowledged("ann", ("tea",))),
        (SUBSCRIBER, Event("ann", "tea", 5, "after")),
    ]


def test_a_first_event_that_comes_before_the_acknowledgement_is_delivered():
    bob = ChannelReceiver("bob", FIRST, QUICK)
    bob.subscribe(["tea"])
    bob.handle(Channel(0), Event("ann", "tea", 1, "first"))
    said = bob.handle(Peer("ann"), Started("ann", 0, 1, ()))
    assert said[1] == (SUBSCRIBER, Event("ann", "tea", 1, "first"))


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
    said = bob.handle(Peer("ann"), Started("ann", 1, 2, (("tea", 6),)))
    assert said == [(SUBSCRIBER, Acknowledged("ann", ("tea",)))]
    assert bob.handle(Channel(0), Event("ann", "tea", 6, "")) == []
    assert bob.handle(Channel(0), Event("ann", "tea", 7, ""))[0][1].number == 7


def test_an_acknowledgement_of_later_topics_does_not_start_earlier_ones():
    bob = ChannelReceiver("bob", FIRST, QUICK)
    bob.subscribe(["tea"])
    bob.subscribe(["rain"])
    [(_, wake)] = bob.handle(Peer("ann"), Started("ann", 1, 2, ()))
    assert bob.handle(CLOCK, wake)[0] == (Peer("ann"), Start("bob", 0, 2, ("tea", "rain")))
    said = bob.handle(Peer("ann"), Started("ann", 0, 2, (("tea", 3),)))
    assert said == [(SUBSCRIBER, Acknowledged("ann", ("tea", "rain")))]
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


def receiver_that_has(topic: str, last: int) -> ChannelReceiver:
    """A receiver of one topic that Ann has acknowledged."""
    bob = ChannelReceiver("bob", FIRST, QUICK)
    bob.subscribe([topic])
    bob.handle(Peer("ann"), Started("ann", 0, 1, ((topic, last),)))
    return bob
