"""Maps of topics to channels."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caddis.errors import TopicError
from caddis.topics.channels import map as channel_map
from caddis.topics.channels.map import ChannelMap

CHANNELS = st.dictionaries(st.text(max_size=3), st.integers(0, 5), max_size=12)
MAPS = st.builds(ChannelMap, CHANNELS, st.integers(0, 9), st.none() | st.integers(0, 5))


@given(MAPS)
def test_a_map_is_read_as_it_was_written(one):
    read = ChannelMap.from_json(one.to_json())
    assert read == one
    assert hash(read) == hash(one)
    assert read.to_json() == one.to_json()


@given(CHANNELS, st.randoms(use_true_random=False))
def test_equal_maps_have_the_same_text(channels, random):
    shuffled = list(channels.items())
    random.shuffle(shuffled)
    assert ChannelMap(dict(shuffled)).to_json() == ChannelMap(channels).to_json()


@given(MAPS)
def test_each_topic_is_in_the_channel_that_it_has(one):
    channels = one.channels
    for number in range(6):
        of_it = sorted(topic for topic, channel in channels.items() if channel == number)
        assert list(one.topics_of(number)) == of_it
    assert all(one.channel_of(topic) == channel for topic, channel in channels.items())


@given(MAPS, MAPS)
def test_moves_are_the_topics_whose_channel_differs(one, other):
    moves = one.moves(other)
    for topic in {*one.topics, *other.topics}:
        before, after = one.get(topic), other.get(topic)
        assert moves.get(topic) == ((before, after) if before != after else None)
    assert set(moves) <= {*one.topics, *other.topics}


@given(MAPS, CHANNELS)
def test_the_next_version_differs_in_what_was_changed(one, changes):
    after = one.with_channels(changes)
    assert after.version == one.version + 1
    assert after.channels == one.channels | changes
    assert set(one.moves(after)) <= set(changes)


def test_topics_can_be_taken_out():
    after = ChannelMap({"tea": 1, "rain": 2}).with_channels({"tea": None, "wind": 2})
    assert after == ChannelMap({"rain": 2, "wind": 2}, version=2)


def test_a_map_does_not_change_with_what_it_was_made_of():
    channels = {"tea": 1}
    one = ChannelMap(channels)
    channels["tea"] = one.channels["tea"] = 2
    assert one.channel_of("tea") == 1


def test_a_newer_version_holds_and_an_older_one_is_ignored():
    third, seventh = ChannelMap({"tea": 1}, 3), ChannelMap({"tea": 2}, 7)
    assert third.latest(seventh) is seventh
    assert seventh.latest(third) is seventh
    assert third.latest(ChannelMap({"tea": 1}, 3)) is third


def test_two_different_maps_of_one_version_are_refused():
    with pytest.raises(TopicError, match=r"two different maps are version 3: 1 topics"):
        ChannelMap({"tea": 1}, 3).latest(ChannelMap({"tea": 2}, 3))


@pytest.mark.parametrize(
    ("one", "other", "difference"),
    [
        (ChannelMap({"tea": 1}), ChannelMap({"tea": 1}, otherwise=4), "topics is None or 4;"),
        (ChannelMap({"tea": 4}, otherwise=4), ChannelMap({}, otherwise=4), "different topics;"),
    ],
)
def test_two_maps_of_one_version_may_differ_in_what_no_topic_shows(one, other, difference):
    with pytest.raises(TopicError, match=difference):
        one.latest(other)


def test_other_topics_have_a_channel_if_the_map_gives_them_one():
    assert ChannelMap({"tea": 1}, otherwise=9).channel_of("rain") == 9
    with pytest.raises(TopicError, match=r"topic 'rain' is not in version 1 of the map$"):
        ChannelMap({"tea": 1}).channel_of("rain")


def test_a_clustering_becomes_a_map():
    made = ChannelMap.from_arrays(["tea", "rain"], np.array([4, 0], np.int32), version=2)
    assert made == ChannelMap({"tea": 4, "rain": 0}, 2)
    with pytest.raises(
        TopicError, match="2 channels need as many different topics, not 2 topics of which 1 "
    ):
        ChannelMap.from_arrays(["tea", "tea"], np.array([4, 0], np.int32))


def test_whole_numbers_of_numpy_are_numbers():
    seven: Any = np.int32(7)
    three: Any = np.int64(3)
    nine: Any = np.uint8(9)
    one = ChannelMap({"tea": seven}, three, otherwise=nine)
    assert one == ChannelMap({"tea": 7}, 3, otherwise=9)
    assert ChannelMap.from_json(one.to_json()) == one
    after = one.with_channels({"rain": three})
    assert after.to_json() == '{"channels":{"rain":3,"tea":7},"otherwise":9,"version":4}'
    with pytest.raises(TopicError, match="a channel is a whole number from 0 up, not np"):
        ChannelMap({"tea": -seven})
    with pytest.raises(TopicError, match="a channel is a whole number from 0 up, not np"):
        ChannelMap({"tea": np.True_})  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[", "not a channel map: Expecting value"),
        ("[]", "a channel map reads"),
        ('{"channels": {"tea": 1, "tea": 2}}', "'tea' occurs twice"),
        ('{"channels": {"tea": -1}}', "topic 'tea': a channel is a whole number"),
        ('{"channels": {"tea": true}}', "topic 'tea': a channel is a whole number"),
        ('{"channels": {}, "version": 1.5}', "a map's version is a whole number"),
        ('{"channels": {}, "otherwise": -2}', "the channel of all other topics is"),
        ('{"channels": {}, "colour": 1}', "a channel map has no 'colour'"),
        (f'{{"channels": {{"tea": {"1" * 5_000}}}}}', "not a channel map: Exceeds the limit"),
        ("[" * 100_000, "not a channel map: maximum recursion"),
        (b'{"channels": {"th\xe9": 1}}', "not a channel map: 'utf-8' codec"),
    ],
)
def test_a_text_that_is_no_map_is_refused(text, reason):
    with pytest.raises(TopicError, match=reason):
        ChannelMap.from_json(text)


def test_a_topic_is_a_text():
    with pytest.raises(TopicError, match="a topic is a text, not 7"):
        ChannelMap({7: 1})  # type: ignore[dict-item]
    no_topics: list[Any] = [7, ["tea"]]
    for one in no_topics:
        with pytest.raises(TopicError, match="a topic is a text, not "):
            ChannelMap({"tea": 1}, otherwise=9).channel_of(one)


def test_an_unknown_topic_is_compared_with_few(monkeypatch):
    compared: list[str] = []

    def note(_topic: str, alike: Iterable[str]) -> str:
        compared.extend(alike)
        return "; did you mean another?"

    monkeypatch.setattr(channel_map, "did_you_mean", note)
    one = ChannelMap({f"topic {number}": 0 for number in range(50_000)} | {"tea": 0})
    with pytest.raises(TopicError, match="did you mean"):
        one.channel_of("topic 5OO")
    assert len(compared) == channel_map.COMPARED
    assert "tea" not in compared


def test_a_map_says_what_it_is():
    one = ChannelMap({"tea": 1, "café": 2}, 3, otherwise=4)
    assert one.to_json() == '{"channels":{"café":2,"tea":1},"otherwise":4,"version":3}'
    assert ChannelMap.from_json(one.to_json()) == one != "tea"
    assert repr(one) == "<ChannelMap version 3: 2 topics>"
    assert "tea" in one
    assert "rain" not in one
    assert {one: "kept"}[ChannelMap({"café": 2, "tea": 1}, 3, 4)] == "kept"
    assert list(one.topics) == ["tea", "café"]
