"""Why frames reached a subscription: the answers that made its WHERE clause true.

Spark tells who got what; why is found out here once more, for the few frames that are shown.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from caddis.cli.demo.contact_sheet import Frame, Section, thumbnail

if TYPE_CHECKING:
    from caddis.models import Model
    from caddis.ordering import Answer

SHOWN = 12


def sections(
    wheres: Mapping[str, str],
    got: Mapping[str, Sequence[int]],
    events: pa.Table,
    models: Sequence[Model],
) -> tuple[Section, ...]:
    """A section a subscription, with some of the frames that it got.

    got: by subscription, its frames; frame i is row i of the events.
    """
    shown = {name: _some(frames) for name, frames in got.items()}
    frames = sorted({frame for some in shown.values() for frame in some})
    why = _reasons(wheres, events.take(frames), models)
    event_of = dict(zip(frames, events.take(frames).to_pylist(), strict=True))
    place_of = {frame: place for place, frame in enumerate(frames)}
    found = []
    for link, (name, where) in enumerate(wheres.items()):
        some = [_frame(event_of[one], why[place_of[one], link]) for one in shown[name]]
        found.append(Section(name, where, len(got[name]), tuple(some)))
    return tuple(found)


def _some(frames: Sequence[int]) -> list[int]:
    """At most as many as are shown, from beginning to end."""
    places = np.linspace(0, len(frames) - 1, min(SHOWN, len(frames))).round().astype(int)
    return [frames[place] for place in places.tolist()]


def _reasons(
    wheres: Mapping[str, str], events: pa.Table, models: Sequence[Model]
) -> dict[tuple[int, int], tuple[Answer, ...]]:
    """By row of the events and number of the subscription."""
    from caddis.matching import Matcher
    from caddis.models import AnswerCache, Asker, Catalogue, Statistics
    from caddis.ordering import Executor, reasons

    catalogue = Catalogue(models)
    table = pa.table({"subscription_id": list(wheres), "where": list(wheres.values())})
    matcher = Matcher.compile(table, events.schema, concepts=catalogue.vocabulary)
    asker = Asker(cache=AnswerCache(), clock=time.perf_counter)
    executor = Executor([matcher], catalogue, statistics=Statistics(), asker=asker)
    found = {}
    for batch in events.combine_chunks().to_batches():
        found.update(reasons(executor, batch, executor.match(batch).known))
    return found


def _frame(event: Mapping[str, Any], answers: tuple[Answer, ...]) -> Frame:
    caption = f"{event['camera']}, {event['taken_at']:%H:%M}"
    said = tuple((answer.concept, answer.said) for answer in answers)
    return Frame(thumbnail(event["photo"]), caption, said)
