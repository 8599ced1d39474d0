"""What brokers compare of sealed events, as arrays: filters, tokens and points of many rows.

Rows are parted by stream and epoch, as only what was sealed with the same keys can be compared.
Anybody may have written a row: one that is not made as the sizes of its stream ask for is told
apart, with what is wrong with it, and the others go on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from caddis.arrays import Bools, Floats, Int32s, Int64s, Words, offsets_of, places_in_rows
from caddis.errors import EventError
from caddis.sealed.events import ROUTING
from caddis.sealed.matcher.kernels import rows_ascend
from caddis.sealed.prefilter import decode, read_only
from caddis.sealed.values import norms, point_lengths

NUMBER_BYTES = 8
COMPARED = ("stream", "epoch", *ROUTING)
"""The columns of sealed events that matching reads."""

Key = tuple[str, int]
"""Stream and epoch."""

FILTER, TOKENS, POINT, FINITE, LENGTH, UNSORTED = (
    "its filter is not well-formed, or of another size than its stream's",
    "its tokens are not whole numbers of 8 bytes",
    "its point has more or fewer coordinates than its stream's",
    "its point is not made of finite numbers",
    "its point is shorter or longer than any that is sealed",
    "its tokens do not ascend",
)


@dataclass(frozen=True, slots=True)
class EventParts:
    """Rows that are well made: row i of each array is row `rows[i]` of the batch.

    Tokens of row i are tokens[token_starts[i]:token_starts[i + 1]].
    """

    rows: Int32s
    filters: Words
    token_starts: Int64s
    tokens: Words
    points: Floats


def checked(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The columns that are compared, in the types they have here; EventError if one is missing."""
    names = batch.schema.names
    columns = []
    for name in COMPARED:
        if names.count(name) != 1:
            raise EventError(
                f"sealed events have one column {name!r}; these have {', '.join(names)}"
            )
        columns.append(_cast(name, batch.column(names.index(name))))
    return pa.record_batch(columns, list(COMPARED))


def _cast(name: str, column: pa.Array) -> pa.Array:
    wanted = pa.int64() if name == "epoch" else pa.binary()
    try:
        return column.cast(wanted)
    except pa.ArrowException:
        raise EventError(f"the column {name!r} of sealed events cannot be {column.type}") from None


def by_key(batch: pa.RecordBatch, rows: Int32s) -> Iterator[tuple[Key, Int32s]]:
    """Streams and epochs, each with those of the rows that are sealed so; null ones are left out."""
    whole = pc.and_(batch.column("stream").is_valid(), batch.column("epoch").is_valid())
    rows = rows[whole.to_numpy(zero_copy_only=False)[rows]]
    taken = batch.select(["stream", "epoch"]).take(pa.array(rows))
    streams = taken.column("stream").dictionary_encode()
    epochs, epoch_of = np.unique(taken.column("epoch").to_numpy(), return_inverse=True)
    codes = streams.indices.to_numpy().astype(np.int64) * len(epochs) + epoch_of
    for code in np.unique(codes).tolist():
        stream, epoch = divmod(code, len(epochs))
        name = streams.dictionary[stream].as_py().decode(errors="surrogateescape")
        yield (name, int(epochs[epoch])), rows[codes == code]


def without_key(batch: pa.RecordBatch, rows: Int32s) -> Int32s:
    """Those of the rows that have no stream or no epoch."""
    missing = pc.or_(batch.column("stream").is_null(), batch.column("epoch").is_null())
    found: Int32s = rows[missing.to_numpy(zero_copy_only=False)[rows]]
    return found


def parts_of(
    batch: pa.RecordBatch, rows: Int32s, bits: int, dimensions: int
) -> tuple[EventParts, dict[int, str]]:
    """The parts of some rows, and what is wrong with the others.

    batch: of `checked`.
    """
    taken = batch.select(list(ROUTING)).take(pa.array(rows))
    problems: dict[int, str] = {}
    filters, good = decode(taken.column("filter"), bits)
    _tell(problems, rows, ~good, FILTER)
    lengths = {name: _lengths(taken.column(name)) for name in ROUTING}
    _tell(problems, rows, lengths["tokens"] % NUMBER_BYTES != 0, TOKENS)
    _tell(problems, rows, lengths["point"] != NUMBER_BYTES * dimensions, POINT)
    if problems:
        kept = np.array([row not in problems for row in rows.tolist()], bool)
        rows, filters, taken = rows[kept], filters[kept], taken.filter(pa.array(kept))
    parts = _as_arrays(rows, filters, taken, dimensions)
    return _sound(parts, problems)


def _as_arrays(rows: Int32s, filters: Words, taken: pa.RecordBatch, dimensions: int) -> EventParts:
    tokens = taken.column("tokens")
    counts = _lengths(tokens) // NUMBER_BYTES
    starts = offsets_of(counts)
    points = np.frombuffer(_bytes(taken.column("point")), "<f8").reshape(len(rows), dimensions)
    held = np.frombuffer(_bytes(tokens), "<u8")
    return EventParts(rows, filters, read_only(starts), read_only(held), read_only(points))


def _sound(parts: EventParts, problems: dict[int, str]) -> tuple[EventParts, dict[int, str]]:
    """Without those whose numbers are not what they must be."""
    finite = np.asarray(np.isfinite(parts.points).all(axis=1))
    least, most = point_lengths(parts.points.shape[1])
    lengths = norms(parts.points)
    possible = (least <= lengths) & (lengths <= most)
    ascend = rows_ascend(parts.token_starts, parts.tokens)
    if possible.all() and ascend.all():
        return parts, problems
    _tell(problems, parts.rows, ~finite, FINITE)
    _tell(problems, parts.rows, ~possible, LENGTH)
    _tell(problems, parts.rows, ~ascend, UNSORTED)
    kept = np.flatnonzero(possible & ascend)
    starts, tokens = gathered(parts.token_starts, parts.tokens, kept)
    points = read_only(parts.points[kept])
    arrays = read_only(starts), read_only(tokens), points
    return EventParts(parts.rows[kept], parts.filters[kept], *arrays), problems


def gathered(starts: Int64s, values: Words, chosen: Int64s) -> tuple[Int64s, Words]:
    """Starts and values of the chosen lists, of which list i is values[starts[i]:starts[i + 1]].

    >>> lists = np.array([7, 8, 9], np.uint64)
    >>> gathered(np.array([0, 2, 2, 3]), lists, np.array([2, 0]))
    (array([0, 1, 3]), array([9, 7, 8], dtype=uint64))
    """
    places, ends = members_of(starts, chosen)
    return ends, values[places]


def members_of(starts: Int64s, chosen: Int64s) -> tuple[Int64s, Int64s]:
    """Where the members of the chosen lists lie, and their own starts."""
    counts = np.diff(starts)[chosen]
    return places_in_rows(counts) + np.repeat(starts[:-1][chosen], counts), offsets_of(counts)


def _tell(problems: dict[int, str], rows: Int32s, wrong: Bools, problem: str) -> None:
    for row in rows[wrong].tolist():
        problems.setdefault(row, problem)


def _lengths(column: pa.BinaryArray) -> Int64s:
    """In bytes; of what is missing, -1."""
    lengths = pc.fill_null(pc.binary_length(column), -1).to_numpy(zero_copy_only=False)
    return np.asarray(lengths, np.int64)


def _bytes(column: pa.BinaryArray) -> memoryview:
    """The bytes of all rows of a column that has no nulls and was just taken."""
    _, offsets, data = column.buffers()
    if not len(column) or data is None:
        return memoryview(b"")
    ends = np.frombuffer(offsets, np.int32)[column.offset : column.offset + len(column) + 1]
    return memoryview(data)[int(ends[0]) : int(ends[-1])]
