"""The bytes of sealed subscriptions: what subscribers hand to brokers.

A subscription has a part for each stream and epoch that it is sealed for, so that it goes on to
match while a stream moves from one epoch to the next. All numbers begin with their lowest byte.

    version   1 byte
    parts     1 to 256, one after another, each behind its size, 4 bytes

    epoch     8 bytes            counts    by clause: its tokens, 2 bytes, and its vectors, 2 bytes
    words     4, of a filter     filters   by clause, 8 bytes a word
    dimensions, clauses  4 each  tokens    by clause, ascending, 8 bytes each
    stream     4 and UTF-8        vectors   by clause, 8 bytes a dimension

For files and messages that hold texts the same bytes are written as `sealed:` and base64.
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

from caddis.arrays import Bytes, Floats, Int32s, Int64s, Words
from caddis.errors import SealedError
from caddis.language import is_text
from caddis.sealed.clauses import unpack_kernels as kernels
from caddis.sealed.clauses.unpack_kernels import (
    CLAUSES,
    CUT_OFF,
    DIMENSIONS,
    EPOCH,
    FIELDS,
    MANY_PARTS,
    MISFIT,
    MOST_PARTS,
    NO_NUMBER,
    NO_PART,
    NO_VERSION,
    ROW,
    SOUND,
    STREAM,
    STREAM_END,
    TOKENS,
    UNSORTED,
    VECTORS,
    VERSION,
    WORDS,
)

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
    """Sealed clauses of one stream and epoch; clause c is of subscription `owner[c]`.

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


def pack(block: ClauseBlock, rows: int) -> list[bytes]:
    """By subscription from 0 to `rows`: its bytes; owners must ascend."""
    if np.any(np.diff(block.owner) < 0):
        raise SealedError("the owners of clauses that are packed must ascend")
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
    """One subscription of several that are sealed for other streams or epochs.

    It matches what any of them does.
    """
    given = list(blobs)
    if not given or any(blob[:1] != bytes([VERSION]) for blob in given):
        raise SealedError(PROBLEMS[NO_VERSION])
    return bytes([VERSION]) + b"".join(blob[1:] for blob in given)


def as_text(blob: bytes) -> str:
    """The form for files and messages that hold texts.

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

    Also what is wrong with some, by row; those have no clauses. wheres: bytes, or texts of
    `as_text`. Owners ascend in each block.
    """
    blobs, problems = _as_bytes(wheres)
    starts, data = _buffers(blobs)
    count = kernels.read_parts(data, starts, problems, np.empty((0, FIELDS), np.int64))
    parts = np.empty((count, FIELDS), np.int64)
    kernels.read_parts(data, starts, problems, parts)
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
    kernels.copy_parts(data, parts, counts, *outputs)
    starts = np.zeros((2, clauses + 1), np.int64)
    np.cumsum(counts.T, axis=1, out=starts[:, 1:])
    owner = np.repeat(parts[:, ROW], parts[:, CLAUSES]).astype(np.int32)
    return ClauseBlock(stream, epoch, owner, filters, starts[0], all_tokens, starts[1], all_vectors)


def _bytes_of(array: Words | Floats) -> Bytes:
    return array.reshape(-1).view(np.uint8)


def _as_bytes(wheres: pa.ChunkedArray | pa.Array) -> tuple[pa.LargeBinaryArray, Bytes]:
    """Every subscription as bytes, and the problems of those that are not.

    All together may have more bytes than 32 bits count, so chunks are made large before they are
    put together.
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


def _buffers(blobs: pa.LargeBinaryArray) -> tuple[Int64s, Bytes]:
    """Where each subscription begins, the end, and all bytes: read-only, as kernels ask."""
    _, starts, data = blobs.buffers()
    places = np.frombuffer(starts if len(blobs) else bytes(8), np.int64)
    first = blobs.offset if len(blobs) else 0
    found = places[first : first + len(blobs) + 1], np.frombuffer(data or b"", np.uint8)
    for array in found:
        array.flags.writeable = False
    return found
