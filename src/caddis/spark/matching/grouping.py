"""How matches leave a worker: as pairs, or grouped, one row for each event.

A match is a pair of an event's key and a subscription's id. Grouped, an event that matched is one
row with a list of ids, so that its key is carried once however many subscriptions it matched. The
lists are built from offsets; no value is touched in Python.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from caddis.arrays import Int32s, Int64s

SUBSCRIPTION_ID, SUBSCRIPTION_IDS = "subscription_id", "subscription_ids"

MATCHES_AT_A_TIME = 1 << 20
"""A batch of groups is handed over when it holds this many matches."""

Found = Iterable[tuple[Int32s, pa.Array]]
"""Rows of a batch, and the ids of the subscriptions that they match."""


def pairs(name: str, keys: pa.Array, found: Found) -> Iterator[pa.RecordBatch]:
    """One row for each match.

    name: the column of the events' keys.
    """
    for rows, ids in found:
        yield pa.record_batch({name: keys.take(pa.array(rows)), SUBSCRIPTION_ID: ids})


def groups(name: str, keys: pa.Array, found: Found) -> Iterator[pa.RecordBatch]:
    """One row for each event of a batch that matches anything, with all ids that it matches.

    Parts of what was found may concern the same event, so all of them are awaited.
    """
    parts = [(rows, ids) for rows, ids in found if len(rows)]
    if not parts:
        return
    rows = np.concatenate([rows for rows, _ in parts])
    ids = pa.chunked_array([ids for _, ids in parts])
    if np.any(rows[1:] < rows[:-1]):
        order = np.argsort(rows, kind="stable")
        rows, ids = rows[order], ids.take(pa.array(order))
    starts = np.flatnonzero(np.diff(rows, prepend=-1))
    matched, offsets = keys.take(pa.array(rows[starts])), np.append(starts, len(rows))
    for first, end in _ranges(offsets):
        begin = offsets[first]
        places = pa.array((offsets[first : end + 1] - begin).astype(np.int32))
        some = ids.slice(begin, offsets[end] - begin).combine_chunks()
        lists = pa.ListArray.from_arrays(places, some)
        yield pa.record_batch({name: matched.slice(first, end - first), SUBSCRIPTION_IDS: lists})


def _ranges(offsets: Int64s) -> Iterator[tuple[int, int]]:
    """Ranges of groups with about MATCHES_AT_A_TIME matches each, or of a single group."""
    first, last = 0, len(offsets) - 1
    while first < last:
        end = int(np.searchsorted(offsets, offsets[first] + MATCHES_AT_A_TIME, side="right")) - 1
        end = max(end, first + 1)
        yield first, end
        first = end
