"""The demo's picture stream: what cameras see in a day, and what people wait for.

A few photos are enough for thousands of frames: each frame is some part of a photo, perhaps
mirrored, in another light. Some frames repeat an earlier one of their camera, byte by byte, and
some are damaged on the way. Three networks share the concepts among them, so that most
subscriptions need more than one network, and it matters which one runs first.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO

import numpy as np
import pyarrow as pa

from caddis.arrays import Bytes, Floats
from caddis.models import Model, efficientnet_lite, imagenet_concepts, needs_pillow

PHOTO_SCHEMA = pa.schema(
    [
        pa.field("event_id", pa.int64(), nullable=False),
        pa.field("camera", pa.string()),
        pa.field("city", pa.string()),
        pa.field("taken_at", pa.timestamp("us", tz="UTC")),
        pa.field("photo", pa.string()),
    ]
)
MIDNIGHT = dt.datetime(2026, 5, 1, tzinfo=dt.UTC)
SIDE = 300
"""Pixels of a frame's short side."""
REPEATED, DAMAGED = 0.08, 0.01
"""The shares of frames that repeat an earlier one, and that are damaged."""

CITIES = ("Galway", "Dublin", "Cork", "Sligo", "Limerick", "Ennis")
PLACES = ("street", "cafe", "garden", "roof")
CAMERAS = tuple((f"{place}-{city.lower()}", city) for city in CITIES for place in PLACES)
"""Each camera's name and city."""

WHEEL_PHOTOS: Mapping[str, tuple[str, float]] = {
    "chelsea.png": ("skimage", 2),
    "coffee.png": ("skimage", 2),
    "motorcycle_left.png": ("skimage", 1),
    "motorcycle_right.png": ("skimage", 1),
    "rocket.jpg": ("skimage", 1),
    "camera.png": ("skimage", 1),
    "astronaut.png": ("skimage", 1),
    "hubble_deep_field.jpg": ("skimage", 1),
    "moon.png": ("skimage", 1),
    "page.png": ("skimage", 1),
    "coins.png": ("skimage", 1),
    "brick.png": ("skimage", 1),
    "gravel.png": ("skimage", 1),
    "china.jpg": ("sklearn", 2),
    "flower.jpg": ("sklearn", 2),
}
"""Photos that ship in packages: the package, and how often cameras see the photo."""

CONCEPTS = (
    ("motorcycle", "bicycle", "car", "boat", "aircraft", "rocket", "flower", "photographer"),
    ("cat", "dog", "bird", "building", "bridge", "mountain", "beach"),
    ("food", "coffee", "dessert", "fruit", "bottle"),
)
"""The concepts that EfficientNet-Lite 0, 1 and 2 answer."""
OWN_CONCEPTS = {"photographer": [872]}
"""ImageNet has no class for photographers, but it has one for tripods."""
THRESHOLDS = (0.25, 0.35, 0.35)

NAMED: Mapping[str, str] = {
    "cats-of-galway": "city = 'Galway' AND cat(photo)",
    "flowers-outdoors": "flower(photo) AND NOT building(photo)",
    "bikers": "motorcycle(photo) AND city IN ('Dublin', 'Cork') AND NOT food(photo)",
    "baristas": "camera LIKE 'cafe%' AND city IN ('Galway', 'Cork') AND coffee(photo)",
    "architects": "city = 'Sligo' AND taken_at >= '2026-05-01 12:00' AND building(photo) AND NOT "
    "bridge(photo)",
    "launch-watch": "rocket(photo) OR aircraft(photo)",
    "night-shift": "taken_at < '2026-05-01 03:00' AND (cat(photo) OR motorcycle(photo))",
    "photo-club": "photographer(photo) AND city <> 'Galway'",
    "second-breakfast": "city = 'Ennis' AND taken_at BETWEEN '2026-05-01 09:00' AND "
    "'2026-05-01 15:00' AND (coffee(photo) OR dessert(photo))",
    "garden-visitors": "camera = 'garden-cork' AND (cat(photo) OR dog(photo) OR bird(photo))",
    "odd-neighbours": "camera IN ('roof-dublin', 'roof-ennis') AND cat(photo) AND NOT "
    "rocket(photo)",
    "nothing-to-see": "camera = 'street-limerick' AND NOT (motorcycle(photo) OR cat(photo) OR "
    "building(photo) OR food(photo) OR flower(photo) OR rocket(photo))",
}
"""The subscriptions that the demo shows, each with its matches."""

_WRITTEN = """
    camera = '{camera}' AND {quick}(photo) AND NOT {slow}(photo)

    camera = '{camera}' AND {quick}(photo) AND {hours}

    city = '{city}' AND {quick}(photo) AND NOT {middle}(photo) AND {hours}

    city = '{city}' AND {quick}(photo) AND {slow}(photo) AND {hours}

    city <> '{city}' AND {hours} AND {quick}(photo) AND NOT {quick2}(photo)

    camera LIKE '{place}%' AND {hours}
    AND {quick}(photo) AND NOT ({middle}(photo) OR {slow}(photo))

    city IN ('{city}', '{city2}') AND {hours}
    AND ({quick}(photo) AND NOT {slow}(photo) OR {quick2}(photo) AND {middle}(photo))

    camera IN ('{camera}', 'roof-galway') AND NOT ({quick}(photo) OR NOT {quick2}(photo))
"""
TEMPLATES = tuple(" ".join(text.split()) for text in _WRITTEN.split("\n\n"))


@dataclass(frozen=True, slots=True)
class Shot:
    """How a frame is taken."""

    camera: int
    photo: int
    part: tuple[float, float, float, float]
    """Left, top, right and bottom, as shares of the photo's sides."""
    mirrored: bool
    light: float
    """The factor of brightness; below 1 the frame is darker than the photo."""
    damaged: bool


def photo_models() -> list[Model]:
    """EfficientNet-Lite 0, 1 and 2, each for concepts of its own."""
    known = {**imagenet_concepts(), **OWN_CONCEPTS}
    return [
        efficientnet_lite(
            which,
            concepts={name: known[name] for name in names},
            reads="photo",
            threshold=THRESHOLDS[which],
        )
        for which, names in enumerate(CONCEPTS)
    ]


def shots(frames: int, weights: Sequence[float], seed: int) -> list[Shot]:
    """The shots that cameras take, in the order of time.

    weights: how often each photo is seen.

    >>> [shot.photo for shot in shots(5, [1, 0], seed=1)]
    [0, 0, 0, 0, 0]
    """
    rng = np.random.default_rng([seed, 5])
    chances = np.array(weights, np.float64) / np.sum(weights)
    latest: dict[int, Shot] = {}
    taken: list[Shot] = []
    for _ in range(frames):
        shot = _shot(chances, rng)
        if rng.random() < REPEATED:
            shot = latest.get(shot.camera, shot)
        if not shot.damaged:
            latest[shot.camera] = shot
        taken.append(shot)
    return taken


def frame_of(photo: Bytes, shot: Shot) -> bytes:
    """A frame as JPEG; a damaged one ends after a quarter.

    photo: red, green and blue of each pixel, an array of height × width × 3.
    """
    pil = needs_pillow()
    height, width = photo.shape[:2]
    left, top, right, bottom = (
        share * side for share, side in zip(shot.part, (width, height) * 2, strict=True)
    )
    scale = SIDE / min(right - left, bottom - top)
    size = (round((right - left) * scale), round((bottom - top) * scale))
    part = (left, top, right, bottom)
    frame = pil.fromarray(photo).resize(size, pil.Resampling.BILINEAR, box=part)
    frame = frame.point([min(255, round(shot.light * level)) for level in range(256)] * 3)
    if shot.mirrored:
        frame = frame.transpose(pil.Transpose.FLIP_LEFT_RIGHT)
    file = BytesIO()
    frame.save(file, "JPEG", quality=85)
    content = file.getvalue()
    return content[: len(content) // 4] if shot.damaged else content


def photo_events(taken: Sequence[Shot], paths: Sequence[str]) -> pa.Table:
    """The frames as events, with the columns of PHOTO_SCHEMA, spread over a day.

    paths: where each frame lies.
    """
    every = dt.timedelta(days=1) / max(1, len(taken))
    moments = [MIDNIGHT + number * every for number in range(len(taken))]
    columns = [
        pa.array(range(len(taken)), pa.int64()),
        pa.array([CAMERAS[shot.camera][0] for shot in taken]),
        pa.array([CAMERAS[shot.camera][1] for shot in taken]),
        pa.array(moments, PHOTO_SCHEMA.field("taken_at").type),
        pa.array(paths, pa.string()),
    ]
    return pa.Table.from_arrays(columns, schema=PHOTO_SCHEMA)


def photo_subscriptions(drawn: int, seed: int) -> pa.Table:
    """The named subscriptions, and `drawn` more."""
    rng = np.random.default_rng([seed, 6])
    ids = [*NAMED, *(f"drawn-{number:04d}" for number in range(drawn))]
    wheres = [*NAMED.values(), *(_where(rng) for _ in range(drawn))]
    return pa.table({"subscription_id": pa.array(ids), "where": pa.array(wheres)})


def _shot(chances: Floats, rng: np.random.Generator) -> Shot:
    """A shot of some part of a photo, from 70% of its sides to all of it."""
    share = rng.uniform(0.7, 1.0)
    left, top = rng.uniform(0, 1 - share, 2).tolist()
    return Shot(
        camera=int(rng.integers(len(CAMERAS))),
        photo=int(rng.choice(len(chances), p=chances)),
        part=(left, top, left + share, top + share),
        mirrored=bool(rng.random() < 0.5),
        light=float(rng.uniform(0.75, 1.25)),
        damaged=bool(rng.random() < DAMAGED),
    )


def _where(rng: np.random.Generator) -> str:
    """A WHERE clause that somebody might write."""
    quick, middle, slow = (rng.permutation(names).tolist() for names in CONCEPTS)
    camera, city = CAMERAS[int(rng.integers(len(CAMERAS)))]
    hour = int(rng.integers(0, 22))
    return str(rng.choice(TEMPLATES)).format(
        camera=camera,
        place=camera.partition("-")[0],
        city=city,
        city2=str(rng.choice([one for one in CITIES if one != city])),
        quick=quick[0],
        quick2=quick[1],
        middle=middle[0],
        slow=slow[0],
        hours=f"taken_at BETWEEN TIMESTAMP '{MIDNIGHT:%Y-%m-%d} {hour:02d}:00:00' "
        f"AND TIMESTAMP '{MIDNIGHT:%Y-%m-%d} {hour + 2:02d}:00:00'",
    )
