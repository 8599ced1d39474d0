"""What `caddis demo photos` does: make a picture stream, match it on Spark, show who got what.

Frames are made from photos that ship in Python packages, or from the user's own. They are files,
and events name them, so that workers read the pictures themselves. The stream takes a few files
of events at a time, as it would if cameras were uploading them.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from rich.console import Console
from rich.markup import escape

from caddis.cli.demo.command import DemoOptions
from caddis.cli.demo.contact_sheet import Section, Sheet, sections_of, write_sheet
from caddis.cli.shell import (
    Job,
    ModelSummary,
    begin_compiling,
    count,
    needed_kernels,
    rate,
    require_java,
    show_rows,
    start_spark,
    text_table,
)
from caddis.errors import CaddisError, EnvironmentProblem
from caddis.files import write_parts

if TYPE_CHECKING:
    from caddis.lab.workloads import Shot
    from caddis.models import Model
    from caddis.spark import Report
    from caddis.spark.base import DataFrame, MicroBatch, SparkSession

FOLDERS = {"skimage": "data", "sklearn": "datasets/images"}
"""Where packages keep their photos."""
SUFFIXES = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff")
DETAIL = 600
"""Pixels of a photo's short side that frames are made from."""
EVENTS_A_FILE = 25
"""Few, as cameras would upload them."""
FILES_A_BATCH = 8


@dataclass(frozen=True, slots=True)
class PhotoSummary:
    """What was matched, how fast, and what the subscriptions that are shown got.

    sheet: the file of the contact sheet.
    sections: the subscriptions that are shown.
    batches: the stream's micro-batches, in order.
    """

    frames: int
    sheet: Path
    master: str
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
        """The values that --json prints."""
        frames, seconds = self.warm
        return {
            "frames": self.frames,
            "matches": self.matches,
            "subscriptions": self.subscriptions,
            "batches": len(self.batches),
            "unreadable": self.models.problems,
            "models": [asdict(use) for use in self.models.uses],
            "named": {section.name: section.got for section in self.sections},
            "sheet": self.sheet,
            "frames_per_second": round(frames / max(seconds, 1e-9), 1),
            "seconds": round(self.seconds, 3),
        }

    def show(self, console: Console) -> None:
        """Print who got what, what models did, and how fast."""
        table = text_table("who", "waits for", "frames", texts=(0, 1))
        for section in self.sections:
            table.add_row(escape(section.name), escape(section.where), f"{section.got:,}")
        console.print()
        console.print(table)
        frames, seconds = self.warm
        state = "workers warm" if len(self.batches) > 1 else "workers starting"
        speed = f"{count(frames, 'frame')} in {seconds:.1f} s on {self.master}, {state}"
        batches = count(len(self.batches), "micro-batch", "micro-batches")
        rows = [
            ("frames", f"{self.frames:,}", batches),
            ("subscriptions", f"{self.subscriptions:,}", ""),
            ("matches", f"{self.matches:,}", ""),
            ("unreadable", f"{self.models.problems:,}", "answers that damaged frames did not get"),
            ("frames/s", rate(frames, seconds), speed),
        ]
        show_rows(console, rows)
        self.models.show(console)
        console.print(f"\nThe contact sheet is {escape(str(self.sheet.absolute()))}")


def match_photos(options: DemoOptions, job: Job) -> PhotoSummary:
    """Make the stream, match it, and write the contact sheet."""
    from caddis.lab.workloads import photo_subscriptions

    began = time.monotonic()
    require_java()
    kernels = needed_kernels(models=True)
    begin_compiling(kernels, job)
    models = _open_models(job)
    temporary = tempfile.TemporaryDirectory(prefix="caddis-photos-")
    folder = Path(job.resources.enter_context(temporary))
    events = _make_stream(options, folder, job)
    subscriptions = photo_subscriptions(options.subscription_count, options.seed)
    spark = start_spark(options.master, "UTC", job, kernels)
    from caddis.spark import Report
    from caddis.spark.base import spark_failures

    report = Report()
    with spark_failures():
        matches = _compile(spark, folder / "events", subscriptions, models, report, job)
        batches = _match_stream(matches, folder, options.frame_count, job)
    table = ds.dataset(folder / "matches", format="parquet").to_table()
    summary = PhotoSummary(
        frames=options.frame_count,
        sheet=options.sheet,
        master=options.master,
        matches=len(table),
        subscriptions=len(subscriptions),
        sections=_lay_out(table, events, models, job),
        models=ModelSummary(report.models),
        batches=tuple(batches),
        seconds=time.monotonic() - began,
    )
    write_sheet(options.sheet, _sheet(summary))
    return summary


def _open_models(job: Job) -> list[Model]:
    from caddis.lab.workloads import photo_models

    with job.screen.step("Opening three networks") as step:
        models = photo_models()
        for model in models:
            model.load()
        step.done = f"{count(len(models), 'network')} opened"
    return models


def _make_stream(options: DemoOptions, folder: Path, job: Job) -> pa.Table:
    """The events, which are also written to files beside their frames."""
    from caddis.lab.workloads import photo_events, shots

    sources = wheel_photos() if options.photos is None else own_photos(options.photos)
    number = options.frame_count
    taken = shots(number, [source.weight for source in sources], options.seed)
    things = f"{count(number, 'frame')} from {count(len(sources), 'photo')}"
    with job.screen.step(f"Making {things}") as step:
        paths = make_frames(
            sources,
            taken,
            folder / "frames",
            lambda done: step.update(f"{done:,} made", done, number),
        )
        step.done = f"{things} made"
    events = photo_events(taken, paths)
    write_parts(events, folder / "events", EVENTS_A_FILE)
    return events


def _compile(
    spark: SparkSession,
    events: Path,
    subscriptions: pa.Table,
    models: Sequence[Model],
    report: Report,
    job: Job,
) -> DataFrame:
    from caddis.spark import match
    from caddis.spark.base import counted, read_events

    with job.screen.step("Compiling the subscriptions into an index") as step:
        step.done = f"{count(len(subscriptions), 'subscription')} compiled into an index"
        columns = read_events(spark, events, "parquet").schema
        reader = spark.readStream.schema(columns).option("maxFilesPerTrigger", FILES_A_BATCH)
        stream = counted(reader.parquet(str(events)), "events")
        return counted(match(stream, subscriptions, models=models, report=report), "matches")


def _match_stream(matches: DataFrame, folder: Path, frames: int, job: Job) -> list[MicroBatch]:
    from caddis.spark.base import follow, stream_matches

    batches: list[MicroBatch] = []
    with job.screen.step("Matching the stream; workers start first") as step:
        out, checkpoint = folder / "matches", folder / "checkpoint"
        query = stream_matches(matches, out, "parquet", checkpoint, once=True)
        job.resources.callback(query.stop)
        for batch in follow(query):
            batches.append(batch)
            frames_seen = sum(one.events for one in batches)
            matches_seen = sum(one.matches for one in batches)
            step.update(f"{frames_seen:,} frames, {matches_seen:,} matches", frames_seen, frames)
        step.done = f"{count(frames, 'frame')} matched"
    return batches


def _lay_out(
    matches: pa.Table, events: pa.Table, models: Sequence[Model], job: Job
) -> tuple[Section, ...]:
    """The sections of the contact sheet: the subscriptions that have names, and their frames."""
    from caddis.lab.workloads import NAMED

    with job.screen.step("Laying out the contact sheet") as step:
        step.done = "Contact sheet laid out"
        got = {
            name: matches.filter(pc.equal(matches["subscription_id"], name))["event_id"]
            for name in NAMED
        }
        frames = {name: sorted(keys.to_pylist()) for name, keys in got.items()}
        return sections_of(NAMED, frames, events, models)


def _sheet(summary: PhotoSummary) -> Sheet:
    frames, seconds = summary.warm
    facts = (
        ("frames", f"{summary.frames:,}"),
        ("subscriptions", f"{summary.subscriptions:,}"),
        ("matches", f"{summary.matches:,}"),
        ("frames a second", rate(frames, seconds)),
    )
    return Sheet(facts, summary.models.uses, summary.sections)


@dataclass(frozen=True, slots=True)
class Source:
    """A photo, and how often cameras see it."""

    path: Path
    weight: float


def wheel_photos() -> list[Source]:
    """The photos that ship in scikit-image and scikit-learn."""
    from caddis.lab.workloads import WHEEL_PHOTOS

    sources = []
    for name, (package, weight) in WHEEL_PHOTOS.items():
        spec = find_spec(package)
        if spec is None or spec.origin is None:
            raise EnvironmentProblem(
                "the demo's photos ship in scikit-image and scikit-learn: install caddis[lab], or "
                "give a folder of your own with --photos"
            )
        sources.append(Source(Path(spec.origin).parent / FOLDERS[package] / name, weight))
    return sources


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
    report: Callable[[int], None],
) -> list[str]:
    """Make a file for each shot, in the order of the shots.

    taken: the shots; each names the source that the camera saw.
    report: called now and then with the number of files that are made.
    """
    folder.mkdir()
    paths = [folder / f"{number:06d}.jpg" for number in range(len(taken))]
    shots_of: dict[int, list[int]] = {}
    for number, shot in enumerate(taken):
        shots_of.setdefault(shot.photo, []).append(number)
    done = 0
    with ThreadPoolExecutor() as pool:
        making = [
            pool.submit(_frames_of, sources[photo].path, [(taken[n], paths[n]) for n in numbers])
            for photo, numbers in shots_of.items()
        ]
        for one in as_completed(making):
            done += one.result()
            report(done)
    return [str(path) for path in paths]


def _frames_of(photo: Path, wanted: Sequence[tuple[Shot, Path]]) -> int:
    """Write the frames of one photo; one that cannot be read is copied, for models to refuse."""
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
