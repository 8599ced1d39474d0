"""Channels that were joined or left in vain are joined and left again."""

from __future__ import annotations

from caddis.topics.channels.messages import Channel, Event, Join, Leave
from caddis.topics.channels.receiver import STRAYS
from tests.topics.channels.scene import Scene, nothing_lost, receiver_that_has


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
