"""The picture stream is the same for the same seed, and its frames are what a camera might send."""

from collections import Counter
from io import BytesIO

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image

from caddis.lab.workloads.photo_stream import (
    CAMERAS,
    CONCEPTS,
    NAMED,
    OWN_CONCEPTS,
    PHOTO_SCHEMA,
    SIDE,
    Shot,
    frame_of,
    photo_events,
    photo_subscriptions,
    shots,
)
from caddis.language import Vocabulary
from caddis.matching import Matcher
from caddis.models import Unreadable, imagenet_concepts
from caddis.models.pictures import decode

PHOTO = np.random.default_rng(1).integers(0, 256, (400, 600, 3), dtype=np.uint8)


def shot(**changes) -> Shot:
    plain = {
        "camera": 0,
        "photo": 0,
        "part": (0.0, 0.0, 1.0, 1.0),
        "mirrored": False,
        "light": 1.0,
        "damaged": False,
    }
    return Shot(**{**plain, **changes})


def pixels(content: bytes) -> np.ndarray:
    return np.asarray(Image.open(BytesIO(content)), np.float64)


def test_the_same_seed_gives_the_same_shots_and_another_one_others():
    assert shots(50, [1, 2], seed=3) == shots(50, [1, 2], seed=3)
    assert shots(50, [1, 2], seed=3) != shots(50, [1, 2], seed=4)


def test_some_frames_repeat_what_their_camera_saw_and_a_few_are_damaged():
    taken = shots(2000, [1.0] * 5, seed=1)
    repeats = len(taken) - len(set(taken))
    assert 0.05 < repeats / len(taken) < 0.11
    assert 0.003 < sum(one.damaged for one in taken) / len(taken) < 0.02
    assert not any(one.damaged for one, times in Counter(taken).items() if times > 1)


def test_photos_are_seen_as_often_as_they_weigh():
    seen = Counter(one.photo for one in shots(3000, [3, 1, 0], seed=1))
    assert 2.4 < seen[0] / seen[1] < 3.7
    assert seen[2] == 0


def test_a_frame_is_a_jpeg_of_the_part_that_was_seen():
    whole = pixels(frame_of(PHOTO, shot()))
    assert whole.shape == (SIDE, SIDE * 3 // 2, 3)
    part = pixels(frame_of(PHOTO, shot(part=(0.25, 0.0, 0.75, 0.5))))
    assert part.shape == whole.shape


def test_a_frame_may_be_mirrored_and_in_another_light():
    slope = np.repeat(np.linspace(0, 200, 400, dtype=np.uint8)[None, :, None], 300, axis=0)
    photo = np.repeat(slope, 3, axis=2)
    plain, mirrored, dark = (
        pixels(frame_of(photo, one)) for one in (shot(), shot(mirrored=True), shot(light=0.5))
    )
    assert np.allclose(mirrored[:, ::-1], plain, atol=4)
    assert np.allclose(2 * dark, plain, atol=6)


def test_equal_shots_are_equal_bytes_and_a_damaged_one_cannot_be_read():
    assert frame_of(PHOTO, shot()) == frame_of(PHOTO, shot())
    with pytest.raises(Unreadable):
        decode(frame_of(PHOTO, shot(damaged=True)), 224)


def test_events_are_spread_over_a_day_in_order():
    taken = shots(48, [1.0], seed=1)
    events = photo_events(taken, [f"{number}.jpg" for number in range(48)])
    assert events.schema == PHOTO_SCHEMA
    moments = events["taken_at"].to_pylist()
    assert moments == sorted(moments)
    assert (moments[-1] - moments[0]).total_seconds() == 47 * 1800
    cities = dict(CAMERAS)
    rows = events.select(["camera", "city"]).to_pylist()
    assert all(cities[row["camera"]] == row["city"] for row in rows)


def test_every_subscription_can_be_used_and_the_named_ones_come_first():
    vocabulary = Vocabulary.of((name, "photo") for names in CONCEPTS for name in names)
    table = photo_subscriptions(400, seed=1)
    matcher = Matcher.compile(table, PHOTO_SCHEMA, concepts=vocabulary)
    assert table["subscription_id"].to_pylist()[: len(NAMED)] == list(NAMED)
    assert (len(matcher), matcher.invalid) == (400 + len(NAMED), ())
    assert table.equals(photo_subscriptions(400, seed=1))
    assert len(set(table["where"].to_pylist())) > 300


def test_no_two_networks_answer_the_same_and_all_concepts_are_known():
    names = [name for names in CONCEPTS for name in names]
    assert len(names) == len(set(names))
    assert set(names) <= set(imagenet_concepts()) | set(OWN_CONCEPTS)


def test_no_events_are_events_too():
    assert photo_events([], []).num_rows == 0
    assert pa.types.is_timestamp(photo_events([], [])["taken_at"].type)
