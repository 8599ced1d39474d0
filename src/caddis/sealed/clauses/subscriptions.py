"""The bytes of sealed subscriptions: what subscribers hand to brokers, and how brokers read it.

A subscription has a part for each stream and epoch that it is sealed for, so that it goes on
matching while a stream moves from one epoch to the next. All numbers begin with their lowest byte.

    version   1 byte
    parts     1 to 256, one after another, each behind its size, 4 bytes

    epoch     8 bytes            counts    by clause: its tokens, 2 bytes, and its vectors, 2 bytes
    words     4, of a filter     filters   by clause, 8 bytes a word
    dimensions, clauses  4 each  tokens    by clause, ascending, 8 bytes each
    stream    4 and UTF-8        vectors   by clause, 8 bytes a dimension

For files and messages that hold texts the same bytes are written as `sealed:` and base64.

Anybody may have written these bytes. The kernels read nothing before it is known to lie within the
subscription, and multiply no sizes that are not bounded yet.
"""

from __future__ import annotations

import base64
import binascii
import struct
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from caddis.arrays import Bytes, Floats, Int32s, Int64s, Words, offsets_of, places_in_rows
from caddis.compiling import inner_kernel, kernel
from caddis.errors import SealedError
from caddis.language import is_text
from caddis.sealed.prefilter import bytes_of

VERSION = 1
MOST_PARTS = 256
MOST_WORDS = 1 << 16
MOST_DIMENSIONS = 1 << 16
SIZE_BYTES = 4
HEAD_BYTES = 24
COUNT_BYTES = 4

SOUND, NO_VERSION, CUT_OFF, NO_PART, MISFIT, NO_NUMBER, UNSORTED, MANY_PARTS = range(8)
"""What is wrong with a subscription; SOUND if nothing is."""

FIELDS = 10
ROW, STREAM, STREAM_END, EPOCH, WORDS, DIMENSIONS, CLAUSES, TOKENS, VECTORS, BODY = range(FIELDS)
"""What is known of a part. STREAM and BODY, where its counts begin, are places in the bytes."""


@inner_kernel(borrows=True)
def whole(data: Bytes, at: int, size: int) -> int:
    """The whole number in `size` bytes, the lowest first; 8 bytes are signed."""
    number = np.int64(0)
    for i in range(size):
        number |= np.int64(data[at + i]) << np.int64(8 * i)
    return int(number)


@inner_kernel(borrows=True)
def read_part(data: Bytes, at: int, end: int, part: Int64s) -> int:
    """Read the sizes of the part at a place into `part`; returns what is wrong with it."""
    if end - at < HEAD_BYTES:
        return CUT_OFF
    part[EPOCH] = whole(data, at, 8)
    part[WORDS] = whole(data, at + 8, 4)
    part[DIMENSIONS] = whole(data, at + 12, 4)
    part[CLAUSES] = whole(data, at + 16, 4)
    stream = whole(data, at + 20, 4)
    part[STREAM] = at + HEAD_BYTES
    part[STREAM_END] = part[STREAM] + stream
    part[BODY] = part[STREAM_END]
    if part[STREAM_END] > end or COUNT_BYTES * part[CLAUSES] > end - part[BODY]:
        return CUT_OFF
    if not (0 < part[WORDS] <= MOST_WORDS and 0 < part[DIMENSIONS] <= MOST_DIMENSIONS):
        return MISFIT
    part[TOKENS], part[VECTORS] = 0, 0
    for clause in range(part[CLAUSES]):
        place = part[BODY] + COUNT_BYTES * clause
        part[TOKENS] += whole(data, place, 2)
        part[VECTORS] += whole(data, place + 2, 2)
    # Bounded by the bytes that there are, so that the products below cannot overflow.
    if max(part[TOKENS], part[VECTORS]) > end - at:
        return CUT_OFF
    numbers = part[CLAUSES] * part[WORDS] + part[TOKENS] + part[VECTORS] * part[DIMENSIONS]
    fits = part[BODY] + COUNT_BYTES * part[CLAUSES] + 8 * numbers == end
    return check_numbers(data, part) if fits else MISFIT


@inner_kernel(borrows=True)
def check_numbers(data: Bytes, part: Int64s) -> int:
    """Whether the tokens of each clause ascend, and all of the vectors' numbers are finite."""
    at = part[BODY] + part[CLAUSES] * (COUNT_BYTES + 8 * part[WORDS])
    for clause in range(part[CLAUSES]):
        count = whole(data, part[BODY] + COUNT_BYTES * clause, 2)
        for i in range(1, count):
            last = np.uint64(whole(data, at + 8 * (i - 1), 8))
            if np.uint64(whole(data, at + 8 * i, 8)) <= last:
                return UNSORTED
        at += 8 * count
    # A double is infinite or NaN exactly if all 11 bits of its exponent are set.
    for i in range(part[VECTORS] * part[DIMENSIONS]):
        if data[at + 8 * i + 7] & 0x7F == 0x7F and data[at + 8 * i + 6] & 0xF0 == 0xF0:
            return NO_NUMBER
    return SOUND


@kernel
def read_parts(data: Bytes, starts: Int64s, problems: Bytes, parts: Int64s) -> int:
    """Read all parts of all subscriptions that have no problem yet; returns how many there are.

    They are listed as far as `parts` has room, so that one call can count and another one list.
    A subscription with a part that is wrong gets a problem, and none of its parts counts.
    """
    used = 0
    part = np.zeros(FIELDS, np.int64)
    for row in range(len(starts) - 1):
        if problems[row] != SOUND:
            continue
        at, end, before = starts[row], starts[row + 1], used
        problem = SOUND if end > at and data[at] == VERSION else NO_VERSION
        if problem == SOUND and end == at + 1:
            problem = NO_PART
        at += 1
        while problem == SOUND and at < end:
            size = whole(data, at, SIZE_BYTES) if end - at >= SIZE_BYTES else end
            if size > end - at - SIZE_BYTES or used - before == MOST_PARTS:
                problem = MANY_PARTS if used - before == MOST_PARTS else CUT_OFF
                break
            problem = read_part(data, at + SIZE_BYTES, at + SIZE_BYTES + size, part)
            if used < len(parts):
                part[ROW] = row
                for field in range(FIELDS):
                    parts[used, field] = part[field]
            used += 1
            at += SIZE_BYTES + size
        if problem != SOUND:
            problems[row] = problem
            used = before
    return used


@inner_kernel(borrows=True)
def copy_bytes(data: Bytes, at: int, size: int, target: Bytes, to: int) -> None:
    """Copy some bytes.

    To assign them all at once, numba compiles a second of what raises an error if sizes differ.
    """
    for i in range(size):
        target[to + i] = data[at + i]


@kernel
def copy_parts(
    data: Bytes, parts: Int64s, counts: Int64s, filters: Bytes, tokens: Bytes, vectors: Bytes
) -> None:
    """Join parts of the same sizes; counts: how many tokens and vectors each clause has."""
    clause, at_filter, at_token, at_vector = 0, 0, 0, 0
    for number in range(len(parts)):
        part = parts[number]
        at = part[BODY]
        for _ in range(part[CLAUSES]):
            counts[clause, 0] = whole(data, at, 2)
            counts[clause, 1] = whole(data, at + 2, 2)
            clause += 1
            at += COUNT_BYTES
        size = 8 * part[CLAUSES] * part[WORDS]
        copy_bytes(data, at, size, filters, at_filter)
        at, at_filter = at + size, at_filter + size
        size = 8 * part[TOKENS]
        copy_bytes(data, at, size, tokens, at_token)
        at, at_token = at + size, at_token + size
        size = 8 * part[VECTORS] * part[DIMENSIONS]
        copy_bytes(data, at, size, vectors, at_vector)
        at_vector += size


TEXT_PREFIX = "sealed:"
MOST_OF_A_CLAUSE = (1 << 16) - 1

IS_NULL, PLAIN_TEXT, BAD_BASE64, BAD_STREAM = range(MANY_PARTS + 1, MANY_PARTS + 5)
PROBLEMS = {
    NO_VERSION: f"this is no sealed subscription of version {VERSION}",
    CUT_OFF: "a part of the sealed subscription is cut off",
    NO_PART: "the sealed subscription has no part",
    MISFIT: "the sizes in the sealed subscription do not fit",
    NO_NUMBER: "a vector of the sealed subscription has a number that is not finite",
    UNSORTED: "the tokens of the sealed subscription do not ascend",
    MANY_PARTS: f"the sealed subscription has more than {MOST_PARTS} parts",
    IS_NULL: "the sealed subscription is null",
    PLAIN_TEXT: f"this subscription is not sealed; sealed texts begin with {TEXT_PREFIX!r}",
    BAD_BASE64: f"what follows {TEXT_PREFIX!r} is not base64",
    BAD_STREAM: "the stream of the sealed subscription is no text",
}


@dataclass(frozen=True, slots=True)
class ClauseBlock:
    """Sealed clauses of one stream and epoch; clause c belongs to subscription `owner[c]`.

    Its filter is row c of `filters`, its tokens are tokens[token_starts[c]:token_starts[c + 1]],
    ascending, and its vectors the rows of `vectors` likewise.
    """

    stream: str
    epoch: int
    owner: Int32s
    filters: Words
    token_starts: Int64s
    tokens: Words
    vector_starts: Int64s
    vectors: Floats

    def __len__(self) -> int:
        return len(self.owner)

    def take(self, chosen: Int64s) -> ClauseBlock:
        """The chosen clauses, in their order; some may be chosen several times."""
        tokens, token_starts = members_of(self.token_starts, chosen)
        vectors, vector_starts = members_of(self.vector_starts, chosen)
        return ClauseBlock(
            self.stream,
            self.epoch,
            self.owner[chosen],
            self.filters[chosen],
            token_starts,
            self.tokens[tokens],
            vector_starts,
            self.vectors[vectors],
        )


def members_of(starts: Int64s, chosen: Int64s) -> tuple[Int64s, Int64s]:
    """Where the members of the chosen lists lie, and where each of these lists then begins.

    starts: list i has the members from starts[i] to starts[i + 1].

    >>> members_of(np.array([0, 2, 2, 3]), np.array([2, 0]))
    (array([2, 0, 1]), array([0, 1, 3]))
    """
    counts = np.diff(starts)[chosen]
    return places_in_rows(counts) + np.repeat(starts[:-1][chosen], counts), offsets_of(counts)


def pack(block: ClauseBlock, rows: int) -> list[bytes]:
    """The bytes of each subscription, from 0 to `rows`; owners must ascend."""
    if np.any(np.diff(block.owner) < 0):
        raise SealedError("clauses are packed in the order of their owners")
    counts = np.column_stack([np.diff(block.token_starts), np.diff(block.vector_starts)])
    if counts.max(initial=0) > MOST_OF_A_CLAUSE:
        raise SealedError(f"a sealed clause has at most {MOST_OF_A_CLAUSE:,} tokens")
    stream = block.stream.encode()
    sizes = block.filters.shape[1], block.vectors.shape[1]
    arrays = [counts.astype("<u2"), block.filters.astype("<u8", copy=False)]
    arrays += [block.tokens.astype("<u8", copy=False), block.vectors.astype("<f8", copy=False)]
    clauses = np.searchsorted(block.owner, np.arange(rows + 1))
    ends = [clauses, clauses, block.token_starts[clauses], block.vector_starts[clauses]]
    ends = [end.tolist() for end in ends]
    packed = []
    for row in range(rows):
        of_clauses = ends[0][row + 1] - ends[0][row]
        head = struct.pack("<qIIII", block.epoch, *sizes, of_clauses, len(stream)) + stream
        body = [
            array[end[row] : end[row + 1]].tobytes()
            for array, end in zip(arrays, ends, strict=True)
        ]
        part = head + b"".join(body)
        packed.append(struct.pack("<BI", VERSION, len(part)) + part)
    return packed


def join(blobs: Iterable[bytes]) -> bytes:
    """Join subscriptions that are sealed for different streams or epochs into one.

    It matches what any of them matches.
    """
    given = list(blobs)
    if not given or any(blob[:1] != bytes([VERSION]) for blob in given):
        raise SealedError(PROBLEMS[NO_VERSION])
    return bytes([VERSION]) + b"".join(blob[1:] for blob in given)


def as_text(blob: bytes) -> str:
    """A sealed subscription as text, for files and messages that hold texts.

    >>> from_text(as_text(b"12345"))
    b'12345'
    """
    return TEXT_PREFIX + base64.b64encode(blob).decode()


def from_text(text: str) -> bytes:
    """The bytes of a sealed subscription that `as_text` wrote."""
    found = _decoded(text)
    if isinstance(found, int):
        raise SealedError(PROBLEMS[found])
    return found


def unpack_all(wheres: pa.ChunkedArray | pa.Array) -> tuple[list[ClauseBlock], dict[int, str]]:
    """The clauses of sealed subscriptions, in blocks of the same stream, epoch and sizes.

    Owners ascend in each block. Also returns what is wrong with rows, which then have no clauses.

    wheres: bytes, or texts from `as_text`.
    """
    blobs, problems = _as_bytes(wheres)
    data, starts = bytes_of(blobs)
    count = read_parts(data, starts, problems, np.empty((0, FIELDS), np.int64))
    parts = np.empty((count, FIELDS), np.int64)
    read_parts(data, starts, problems, parts)
    groups = _grouped(data, parts, problems)
    blocks = []
    for (stream, epoch, words, dimensions), numbers in groups.items():
        mine = parts[numbers]
        mine = mine[problems[mine[:, ROW]] == SOUND]
        if len(mine):
            blocks.append(_block(data, mine, stream, epoch, words, dimensions))
    wrong = np.flatnonzero(problems)
    return blocks, {int(row): PROBLEMS[int(problems[row])] for row in wrong}


Sizes = tuple[str, int, int, int]
"""Stream, epoch, words of a filter and dimensions of a vector."""


def _grouped(data: Bytes, parts: Int64s, problems: Bytes) -> dict[Sizes, list[int]]:
    """The numbers of the parts of each stream, epoch and sizes."""
    names: dict[bytes, str] = {}
    groups: dict[Sizes, list[int]] = {}
    fields = parts[:, [ROW, STREAM, STREAM_END, EPOCH, WORDS, DIMENSIONS]].tolist()
    for number, (row, start, end, epoch, words, dimensions) in enumerate(fields):
        encoded = data[start:end].tobytes()
        if encoded not in names:
            try:
                names[encoded] = encoded.decode()
            except UnicodeDecodeError:
                problems[row] = BAD_STREAM
                continue
        groups.setdefault((names[encoded], epoch, words, dimensions), []).append(number)
    return groups


def _block(
    data: Bytes, parts: Int64s, stream: str, epoch: int, words: int, dimensions: int
) -> ClauseBlock:
    clauses, tokens, vectors = parts[:, [CLAUSES, TOKENS, VECTORS]].sum(axis=0).tolist()
    counts = np.empty((clauses, 2), np.int64)
    filters = np.empty((clauses, words), "<u8")
    all_tokens = np.empty(tokens, "<u8")
    all_vectors = np.empty((vectors, dimensions), "<f8")
    outputs = [_bytes_of(array) for array in (filters, all_tokens, all_vectors)]
    copy_parts(data, parts, counts, *outputs)
    token_starts, vector_starts = offsets_of(counts[:, 0]), offsets_of(counts[:, 1])
    owner = np.repeat(parts[:, ROW], parts[:, CLAUSES]).astype(np.int32)
    return ClauseBlock(
        stream, epoch, owner, filters, token_starts, all_tokens, vector_starts, all_vectors
    )


def _bytes_of(array: Words | Floats) -> Bytes:
    return array.reshape(-1).view(np.uint8)


def _as_bytes(wheres: pa.ChunkedArray | pa.Array) -> tuple[pa.LargeBinaryArray, Bytes]:
    """Every subscription as bytes, and the problems of those that cannot be read as such.

    Together they may have more bytes than 32 bits count, so chunks get large offsets before they
    are joined.
    """
    chunks = wheres.chunks if isinstance(wheres, pa.ChunkedArray) else [wheres]
    found = [_chunk_as_bytes(chunk) for chunk in chunks]
    if len(found) == 1:
        return found[0]
    blobs = pa.concat_arrays([pa.array([], pa.large_binary()), *(one for one, _ in found)])
    return blobs, np.concatenate([np.zeros(0, np.uint8), *(problems for _, problems in found)])


def _chunk_as_bytes(wheres: pa.Array) -> tuple[pa.LargeBinaryArray, Bytes]:
    if pa.types.is_dictionary(wheres.type):
        entries = wheres.dictionary
        large = pa.large_string() if is_text(entries.type) else pa.large_binary()
        wheres = entries.cast(large).take(wheres.indices)
    problems = np.where(pc.is_null(wheres).to_numpy(zero_copy_only=False), IS_NULL, SOUND)
    problems = problems.astype(np.uint8)
    if not is_text(wheres.type):
        return wheres.cast(pa.large_binary()), problems
    blobs: list[bytes] = []
    for row, text in enumerate(wheres.to_pylist()):
        found = _decoded(text) if text is not None else IS_NULL
        if isinstance(found, int):
            problems[row] = found
        blobs.append(b"" if isinstance(found, int) else found)
    return pa.array(blobs, pa.large_binary()), problems


def _decoded(text: str) -> bytes | int:
    """The bytes of a text, or what is wrong with it."""
    if not text.startswith(TEXT_PREFIX):
        return PLAIN_TEXT
    try:
        return base64.b64decode(text[len(TEXT_PREFIX) :], validate=True)
    except (binascii.Error, ValueError):
        return BAD_BASE64
