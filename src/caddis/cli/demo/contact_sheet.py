"""The contact sheet: one HTML file that shows who got which photos, and why.

Spark says who got what; why is worked out here once more, for the few frames that are shown: the
answers that made a subscription's WHERE clause true. The page, whose frame is contact_sheet.html,
needs nothing but itself: the photos are inside, and it asks for no font, script or address.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from io import BytesIO
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from caddis.cli.shell import count, local_executor, milliseconds_a_run, short
from caddis.files import replace_file

if TYPE_CHECKING:
    from caddis.models import Model
    from caddis.ordering import Answer
    from caddis.spark import ModelUse

SHOWN = 12
"""Frames that are shown of one subscription."""
THUMBNAIL = (200, 150)
MODEL_HEADINGS = ("model", "runs", "saved", "", "from cache", "unreadable", "ms a run", "total s")


@dataclass(frozen=True, slots=True)
class Frame:
    """A photo that a subscription got.

    caption: where and when it was taken.
    answers: the concepts that made it match, each with "yes" or "no".
    """

    jpeg: bytes
    caption: str
    answers: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Section:
    """A subscription and its frames.

    got: how many frames it got.
    frames: some of these, which are shown.
    """

    name: str
    where: str
    got: int
    frames: tuple[Frame, ...]


@dataclass(frozen=True, slots=True)
class Sheet:
    """All that is shown.

    facts: names of what was counted, and the numbers.
    """

    facts: tuple[tuple[str, str], ...]
    models: tuple[ModelUse, ...]
    sections: tuple[Section, ...]


def write_sheet(path: Path, sheet: Sheet) -> None:
    """Write the sheet to a file, which it replaces as a whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, as_html(sheet))


def sections_of(
    wheres: Mapping[str, str],
    got: Mapping[str, Sequence[int]],
    events: pa.Table,
    models: Sequence[Model],
) -> tuple[Section, ...]:
    """A section for each subscription, with some of the frames that it got.

    wheres: the WHERE clause of each subscription.
    got: the frames of each subscription; frame i is row i of the events.
    """
    shown = {name: _spread(frames) for name, frames in got.items()}
    frames = sorted({frame for some in shown.values() for frame in some})
    why = _reasons(wheres, events.take(frames), models)
    event_of = dict(zip(frames, events.take(frames).to_pylist(), strict=True))
    place_of = {frame: place for place, frame in enumerate(frames)}
    sections = []
    for link, (name, where) in enumerate(wheres.items()):
        some = [_frame(event_of[one], why[place_of[one], link]) for one in shown[name]]
        sections.append(Section(name, where, len(got[name]), tuple(some)))
    return tuple(sections)


def _spread(frames: Sequence[int]) -> list[int]:
    """The frames to show, spread evenly from the first to the last."""
    places = np.linspace(0, len(frames) - 1, min(SHOWN, len(frames))).round().astype(int)
    return [frames[place] for place in places.tolist()]


def _reasons(
    wheres: Mapping[str, str], events: pa.Table, models: Sequence[Model]
) -> dict[tuple[int, int], tuple[Answer, ...]]:
    """The answers that mattered, by row of the events and number of the subscription."""
    from caddis.ordering import reasons

    table = pa.table({"subscription_id": list(wheres), "where": list(wheres.values())})
    executor, _ = local_executor(table, events.schema, models)
    answers = {}
    for batch in events.combine_chunks().to_batches():
        answers.update(reasons(executor, batch, executor.match(batch).known))
    return answers


def _frame(event: Mapping[str, Any], answers: tuple[Answer, ...]) -> Frame:
    caption = f"{event['camera']}, {event['taken_at']:%H:%M}"
    return Frame(
        thumbnail(event["photo"]),
        caption,
        tuple((answer.concept, answer.answer) for answer in answers),
    )


def thumbnail(path: str) -> bytes:
    """A small JPEG of a photo, cut to the sheet's proportions."""
    from PIL import Image, ImageOps

    with Image.open(path) as photo:
        small = ImageOps.fit(photo.convert("RGB"), THUMBNAIL)
    file = BytesIO()
    small.save(file, "JPEG", quality=78)
    return file.getvalue()


def as_html(sheet: Sheet) -> str:
    """The whole page."""
    page = Path(__file__).with_suffix(".html").read_text("utf-8")
    return Template(page).substitute(
        facts="".join(
            f"<div><dt>{escape(name)}</dt><dd>{escape(number)}</dd></div>"
            for name, number in sheet.facts
        ),
        models=_models(sheet.models),
        sections="\n".join(map(_section, sheet.sections)),
    )


def _models(uses: Iterable[ModelUse]) -> str:
    head = "".join(f"<th>{heading}</th>" for heading in MODEL_HEADINGS)
    rows = "".join(f"<tr>{_cells(use)}</tr>" for use in uses)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    return f'<div class="wide">{table}</div>'


def _cells(use: ModelUse) -> str:
    mean = milliseconds_a_run(use)
    share = use.saved / (use.saved + use.runs) if use.saved + use.runs else 0.0
    cells = (
        f"<code>{escape(use.name)}</code>",
        f"{use.runs:,}",
        f"{use.saved:,}",
        f'<div class="share" style="--share:{share:.3f}"></div>',
        f"{use.hits:,}",
        f"{use.unreadable + use.failed:,}",
        "" if mean is None else short(mean),
        short(use.milliseconds / 1000),
    )
    return "".join(f"<td>{cell}</td>" for cell in cells)


def _section(section: Section) -> str:
    more = f", {len(section.frames)} shown" if len(section.frames) < section.got else ""
    frames = "\n".join(map(_figure, section.frames))
    grid = f'<div class="grid">{frames}</div>' if frames else "<p>Nothing came by.</p>"
    return f"""<section>
<h2>{escape(section.name)} <small>{count(section.got, "frame")}{more}</small></h2>
<pre>{escape(section.where)}</pre>
{grid}
</section>"""


def _figure(frame: Frame) -> str:
    width, height = THUMBNAIL
    source = base64.b64encode(frame.jpeg).decode()
    answers = "".join(
        f'<span class="{escape(word)}">{escape(concept)}</span>' for concept, word in frame.answers
    )
    return (
        f'<figure><img src="data:image/jpeg;base64,{source}" alt="{escape(frame.caption)}" '
        f'width="{width}" height="{height}"><figcaption>{answers}'
        f"<small>{escape(frame.caption)}</small></figcaption></figure>"
    )
