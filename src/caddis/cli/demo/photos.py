"""Where the demo's photos come from, and how they become files of frames and of events.

What `caddis demo photos` does: make a picture stream, match it on Spark, show who got what.

Frames are files, and events name them, so that workers read the pictures themselves. The stream
takes a few files of events at a time, as it would if cameras were uploading them.
"""

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
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from rich.console import Console
from rich.markup import escape
from caddis.cli.demo.contact_sheet import Sheet, write_sheet
from caddis.cli.demo.contact_sheet import sections
from caddis.cli.shell import (
    Job,
    ModelSummary,
    count,
    rate,
    require_java,
    show_rows,
    start_spark,
    text_table,
)

if TYPE_CHECKING:
    from caddis.lab.workloads import Shot
    from caddis.cli.demo.contact_sheet import Section
    from caddis.models import Model
    from caddis.spark import Report
    from caddis.spark.base import DataFrame, MicroBatch, SparkSession


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


FILES_A_BATCH = 8


@dataclass(frozen=True, slots=True)
class PhotoOrder:
    """The options as they were given."""

    frames: int
    subscriptions: int
    seed: int
    photos: Path | None
    out: Path
    master: str


@dataclass(frozen=True, slots=True)
class PhotoStream:
    """What the demo found."""

    order: PhotoOrder
    matches: int
    subscriptions: int
    sections: tuple[Section, ...]
    models: ModelSummary
    batches: tuple[MicroBatch, ...]
    seconds: float

    @property
    def warm(self) -> tuple[int, float]:
        """Frames and seconds without the first micro-batch, in which workers start."""
        some = self.batches[1:] or self.batches
        return sum(batch.events for batch in some), sum(batch.seconds for batch in some)

    def as_json(self) -> dict[str, object]:
        """The same for a machine."""
        frames, seconds = self.warm
        return {
            "frames": self.order.frames,
            "matches": self.matches,
            "subscriptions": self.subscriptions,
            "batches": len(self.batches),
            "unreadable": self.models.problems,
            "models": [asdict(use) for use in self.models.uses],
            "named": {section.name: section.got for section in self.sections},
            "sheet": self.order.out,
            "frames_per_second": round(frames / max(seconds, 1e-9), 1),
            "seconds": round(self.seconds, 3),
        }

    def show(self, console: Console) -> None:
        """Who got what, what models did, and how fast."""
        table = text_table("who", "waits for", "frames", texts=(0, 1))
        for section in self.sections:
            table.add_row(escape(section.name), escape(section.where), f"{section.got:,}")
        console.print()
        console.print(table)
        frames, seconds = self.warm
        state = "workers warm" if len(self.batches) > 1 else "workers starting"
        speed = f"{count(frames, 'frame')} in {seconds:.1f} s on {self.order.master}, {state}"
        batches = count(len(self.batches), "micro-batch", "micro-batches")
        rows = [
            ("frames", f"{self.order.frames:,}", batches),
            ("subscriptions", f"{self.subscriptions:,}", ""),
            ("matches", f"{self.matches:,}", ""),
            ("unreadable", f"{self.models.problems:,}", "answers that a damaged frame did not get"),
            ("frames/s", rate(frames, seconds), speed),
        ]
        show_rows(console, rows)
        self.models.show(console)
        console.print(f"\nThe contact sheet is {escape(str(self.order.out.absolute()))}")


def match_photos(order: PhotoOrder, job: Job) -> PhotoStream:
    """Make the stream, match it, and write the contact sheet."""
    from caddis.lab.workloads import photo_subscriptions

    began = time.monotonic()
    require_java()
    models = _models(job)
    folder = Path(job.resources.enter_context(tempfile.TemporaryDirectory(prefix="caddis-photos-")))
    events = _made(order, folder, job)
    wishes = photo_subscriptions(order.subscriptions, order.seed)
    spark = start_spark(order.master, "UTC", job)
    from caddis.spark import Report
    from caddis.spark.base import spark_failures

    report = Report()
    with spark_failures():
        matches = _compiled(spark, folder / "events", wishes, models, report, job)
        batches = _streamed(matches, folder, order.frames, job)
    found = ds.dataset(folder / "matches", format="parquet").to_table()
    stream = PhotoStream(
        order=order,
        matches=len(found),
        subscriptions=len(wishes),
        sections=_sections(found, events, models, job),
        models=ModelSummary(report.models),
        batches=tuple(batches),
        seconds=time.monotonic() - began,
    )
    write_sheet(order.out, _sheet(stream))
    return stream


def _models(job: Job) -> list[Model]:
    from caddis.lab.workloads import photo_models

    with job.screen.step("Opening three networks") as step:
        models = photo_models()
        for model in models:
            model.load()
        step.done = f"{count(len(models), 'network')} opened"
    return models


def _made(order: PhotoOrder, folder: Path, job: Job) -> pa.Table:
    """The events, written to files beside their frames."""
    from caddis.lab.workloads import photo_events, shots

    sources = wheel_photos() if order.photos is None else own_photos(order.photos)
    taken = shots(order.frames, [source.weight for source in sources], order.seed)
    frames = count(order.frames, "frame")
    with job.screen.step(f"Making {frames} of {count(len(sources), 'photo')}") as step:
        paths = make_frames(
            sources,
            taken,
            folder / "frames",
            lambda done: step.update(f"{done:,} made", done, order.frames),
        )
        step.done = f"{frames} of {count(len(sources), 'photo')} made"
    events = photo_events(taken, paths)
    write_events(events, folder / "events")
    return events


def _compiled(
    spark: SparkSession,
    events: Path,
    wishes: pa.Table,
    models: Sequence[Model],
    report: Report,
    job: Job,
) -> DataFrame:
    from caddis.spark import match
    from caddis.spark.base import counted, read_events

    with job.screen.step("Compiling the subscriptions into an index") as step:
        step.done = f"{count(len(wishes), 'subscription')} compiled into an index"
        columns = read_events(spark, events, "parquet").schema
        reader = spark.readStream.schema(columns).option("maxFilesPerTrigger", FILES_A_BATCH)
        stream = counted(reader.parquet(str(events)), "events")
        return counted(match(stream, wishes, models=models, report=report), "matches")


def _streamed(matches: DataFrame, folder: Path, frames: int, job: Job) -> list[MicroBatch]:
    from caddis.spark.base import follow, stream_matches

    batches: list[MicroBatch] = []
    with job.screen.step("Matching the stream; workers start first") as step:
        out, checkpoint = folder / "matches", folder / "checkpoint"
        query = stream_matches(matches, out, "parquet", checkpoint, once=True)
        job.resources.callback(query.stop)
        for batch in follow(query):
            batches.append(batch)
            seen, found = sum(b.events for b in batches), sum(b.matches for b in batches)
            step.update(f"{seen:,} frames, {found:,} matches", seen, frames)
        step.done = f"{count(frames, 'frame')} matched"
    return batches


def _sections(
    found: pa.Table, events: pa.Table, models: Sequence[Model], job: Job
) -> tuple[Section, ...]:
    from caddis.lab.workloads import NAMED

    with job.screen.step("Laying out the contact sheet") as step:
        step.done = "Contact sheet laid out"
        got = {
            name: found.filter(pc.equal(found["subscription_id"], name))["event_id"]
            for name in NAMED
        }
        frames = {name: sorted(keys.to_pylist()) for name, keys in got.items()}
        return sections(NAMED, frames, events, models)


def _sheet(stream: PhotoStream) -> Sheet:
    frames, seconds = stream.warm
    facts = (
        ("frames", f"{stream.order.frames:,}"),
        ("subscriptions", f"{stream.subscriptions:,}"),
        ("matches", f"{stream.matches:,}"),
        ("frames a second", rate(frames, seconds)),
    )
    return Sheet(facts, stream.models.uses, stream.sections)
