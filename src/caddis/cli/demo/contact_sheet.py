"""The contact sheet: one HTML file that shows who got which photos, and why.

Spark says who got what; why is worked out here once more, for the few frames that are shown: the
answers that made a subscription's WHERE clause true. The page needs nothing but itself: the photos
are inside, and it asks for no font, script or address.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from io import BytesIO
from pathlib import Path
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
    facts = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(number)}</dd></div>"
        for name, number in sheet.facts
    )
    sections = "\n".join(map(_section, sheet.sections))
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Caddis: who got which photos</title>
<style>{STYLE}</style>
</head>
<body>
<header>
<h1>Who got which photos, and why</h1>
<p>A stream of frames was matched against standing subscriptions. Each is an SQL WHERE clause that
may ask networks what a photo shows; a network runs on a frame only if its answer can still change
who gets it.</p>
<dl>{facts}</dl>
{_models(sheet.models)}
</header>
<main>
{sections}
</main>
</body>
</html>
"""


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


STYLE = """
:root { color-scheme: light dark; --paper: #f6f5f1; --card: #fff; --ink: #22262a; --soft: #6b7278;
  --line: #dfddd6; --yes: #1c6b4a; --yes-ground: #dcefe4; --no: #7a4a1e; --no-ground: #f3e6d6;
  --accent: #1f6f8b; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #16191c; --card: #1f2327; --ink: #e6e4de; --soft: #9aa0a6; --line: #33383d;
    --yes: #8fd9b3; --yes-ground: #1d3a2d; --no: #e3b98a; --no-ground: #3d2e1e; --accent: #6cb8d3; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 84rem; padding: 2.5rem 2rem 4rem; background: var(--paper);
  color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
h1 { margin: 0 0 .25rem; font-size: 2rem; letter-spacing: -.02em; }
header p { max-width: 46rem; margin: 0 0 1.5rem; color: var(--soft); }
dl { display: flex; flex-wrap: wrap; gap: 1rem 3rem; margin: 0 0 1.5rem; }
dt { color: var(--soft); font-size: .85rem; }
dd { margin: 0; font-size: 1.75rem; font-weight: 600; font-variant-numeric: tabular-nums; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .35rem 1.5rem .35rem 0; text-align: right; white-space: nowrap; }
th { border-bottom: 1px solid var(--line); color: var(--soft); font-size: .85rem;
  font-weight: 400; }
th:first-child, td:first-child { text-align: left; }
.share { width: 5rem; height: .5rem; border-radius: 1rem;
  background: linear-gradient(to right, var(--accent) calc(var(--share) * 100%), var(--line) 0); }
section { margin-top: 2.75rem; }
h2 { margin: 0; font-size: 1.2rem; }
h2 small { margin-left: .5rem; color: var(--soft); font-weight: 400; font-size: .9rem; }
pre { margin: .35rem 0 .9rem; color: var(--accent); white-space: pre-wrap;
  font: .9rem/1.5 ui-monospace, monospace; }
code { font: .9rem ui-monospace, monospace; }
.grid { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fill, minmax(11.5rem, 1fr)); }
figure { margin: 0; overflow: hidden; border: 1px solid var(--line); border-radius: .5rem;
  background: var(--card); }
img { display: block; width: 100%; height: auto; }
figcaption { padding: .5rem .6rem .6rem; }
figcaption small { display: block; margin-top: .25rem; color: var(--soft); font-size: .78rem; }
figcaption span { display: inline-block; margin: 0 .2rem .25rem 0; padding: 0 .45rem;
  border-radius: 1rem; font-size: .75rem; }
.yes { color: var(--yes); background: var(--yes-ground); }
.yes::after { content: " yes"; }
.no { color: var(--no); background: var(--no-ground); }
.no::after { content: " no"; }
"""
