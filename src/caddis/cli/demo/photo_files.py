"""Where the demo's photos come from, and how they become files of frames and of events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from caddis.errors import CaddisError, EnvironmentProblem

if TYPE_CHECKING:
    from caddis.lab.workloads import Shot

FOLDERS = {"skimage": "data", "sklearn": "datasets/images"}
"""Where packages keep their photos."""
SUFFIXES = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff")
DETAIL = 600
"""Pixels of a photo's short side that frames are made from."""
EVENTS_A_FILE = 25


@dataclass(frozen=True, slots=True)
class Source:
    """A photo, and how often cameras see it."""

    path: Path
    weight: float


def wheel_photos() -> list[Source]:
    """The photos that ship in scikit-image and scikit-learn."""
    from caddis.lab.workloads import WHEEL_PHOTOS

    found = []
    for name, (package, weight) in WHEEL_PHOTOS.items():
        spec = find_spec(package)
        if spec is None or spec.origin is None:
            raise EnvironmentProblem(
                "the demo's photos ship in scikit-image and scikit-learn: install caddis[lab], or "
                "give a folder of your own with --photos"
            )
        found.append(Source(Path(spec.origin).parent / FOLDERS[package] / name, weight))
    return found


def own_photos(folder: Path) -> list[Source]:
    """All photos below a folder, seen equally often."""
    if not folder.is_dir():
        raise CaddisError(f"{folder}: there is no such folder")
    paths = sorted(path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES)
    if not paths:
        raise CaddisError(f"{folder} holds no photos ({', '.join(SUFFIXES)})")
    return [Source(path, 1.0) for path in paths]


def make_frames(
    sources: Sequence[Source],
    taken: Sequence[Shot],
    folder: Path,
    told: Callable[[int], None],
) -> list[str]:
    """A file a shot, in the order of the shots.

    told: is told now and then how many are made.
    """
    folder.mkdir()
    paths = [folder / f"{number:06d}.jpg" for number in range(len(taken))]
    of_photo: dict[int, list[int]] = {}
    for number, shot in enumerate(taken):
        of_photo.setdefault(shot.photo, []).append(number)
    done = 0
    with ThreadPoolExecutor() as pool:
        making = [
            pool.submit(_frames_of, sources[photo].path, [(taken[n], paths[n]) for n in numbers])
            for photo, numbers in of_photo.items()
        ]
        for one in as_completed(making):
            done += one.result()
            told(done)
    return [str(path) for path in paths]


def write_events(events: pa.Table, folder: Path) -> None:
    """Files of a few events, as cameras would upload them."""
    folder.mkdir()
    for part, begin in enumerate(range(0, len(events), EVENTS_A_FILE)):
        rows = events.slice(begin, EVENTS_A_FILE)
        pq.write_table(rows, folder / f"part-{part:05d}.parquet")


def _frames_of(photo: Path, wanted: Sequence[tuple[Shot, Path]]) -> int:
    """Frames of one photo; one that cannot be read is passed on as it is, for the models to say."""
    from caddis.lab.workloads import frame_of
    from caddis.models import Unreadable, decode

    encoded = photo.read_bytes()
    try:
        picture = decode(encoded, DETAIL)
    except Unreadable:
        picture = None
    for shot, path in wanted:
        path.write_bytes(encoded if picture is None else frame_of(picture, shot))
    return len(wanted)
