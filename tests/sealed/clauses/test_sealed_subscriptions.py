"""The bytes of sealed subscriptions: what was packed comes out, and damage stays in its row."""

from __future__ import annotations

import math
import struct
from dataclasses import replace
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caddis.errors import SealedError
from caddis.sealed.clauses.subscriptions import (
    ClauseBlock,
    _as_bytes,
    as_text,
    from_text,
    join,
    pack,
    unpack_all,
)

ARRAYS = ("owner", "filters", "token_starts", "tokens", "vector_starts", "vectors")


def starts_of(counts: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def random_block(
    seed: int, rows: int, stream: str = "homes", epoch: int = 3, words: int = 2, dimensions: int = 5
) -> ClauseBlock:
    rng = np.random.default_rng(seed)
    owner = np.repeat(np.arange(rows), rng.integers(0, 4, rows)).astype(np.int32)
    tokens, vectors = rng.integers(0, 4, (2, len(owner)))
    drawn = [np.sort(rng.integers(0, 2**64, count, np.uint64)) for count in tokens]
    return ClauseBlock(
        stream,
        epoch,
        owner,
        rng.integers(0, 2**64, (len(owner), words), np.uint64),
        starts_of(tokens),
        np.concatenate([np.zeros(0, np.uint64), *drawn]),
        starts_of(vectors),
        rng.normal(size=(int(vectors.sum()), dimensions)),
    )


def same(one: ClauseBlock, other: ClauseBlock) -> bool:
    return (one.stream, one.epoch) == (other.stream, other.epoch) and all(
        np.array_equal(getattr(one, name), getattr(other, name)) for name in ARRAYS
    )


@pytest.mark.parametrize("type_", [pa.binary(), pa.large_binary()], ids=str)
@pytest.mark.parametrize("seed", range(5))
def test_what_was_packed_comes_out(seed, type_):
    block = random_block(seed, rows=20, epoch=-1 if seed == 0 else 2**62)
    blocks, problems = unpack_all(pa.array(pack(block, 20), type_))
    assert not problems
    assert [same(block, one) for one in blocks] == [True]


@pytest.mark.parametrize("type_", [pa.string(), pa.large_string(), pa.string_view()], ids=str)
def test_texts_are_read_like_bytes(type_):
    block = random_block(1, rows=9)
    texts = pa.array(map(as_text, pack(block, 9)), pa.string()).cast(type_)
    blocks, problems = unpack_all(texts)
    assert not problems
    assert same(block, blocks[0])


def test_chunks_slices_and_dictionaries_are_read_like_one_array():
    block = random_block(2, rows=9)
    blobs = [b"before", *pack(block, 9)]
    chunks = pa.chunked_array([pa.array(blobs[:4])[1:], pa.array(blobs[4:])])
    assert same(block, unpack_all(chunks)[0][0])
    assert same(block, unpack_all(chunks.combine_chunks().dictionary_encode())[0][0])


@pytest.mark.parametrize("type_", [pa.binary(), pa.large_binary(), pa.string()], ids=str)
def test_any_number_of_chunks_is_read_like_one_array(type_):
    block = random_block(2, rows=9)
    blobs: list[object] = list(pack(block, 9))
    if type_ == pa.string():
        blobs = [as_text(blob) for blob in pack(block, 9)]
    chunks = pa.chunked_array([[], *([blob] for blob in blobs), [None], []], type_)
    blocks, problems = unpack_all(chunks)
    assert same(block, blocks[0])
    assert problems == {9: "the sealed subscription is null"}
    assert unpack_all(pa.chunked_array([], type_)) == ([], {})


@pytest.mark.parametrize("given", [pa.binary(), pa.large_binary()], ids=str)
def test_chunks_whose_bytes_32_bits_may_not_count_become_large_first(given):
    blobs, _ = _as_bytes(pa.chunked_array([[b"1"], [b"2", None]], given))
    assert blobs.type == pa.large_binary()
    assert blobs.to_pylist() == [b"1", b"2", None]


def test_streams_epochs_and_sizes_are_told_apart():
    blocks = [
        random_block(3, rows=6),
        random_block(4, rows=6, stream="größe"),
        random_block(5, rows=6, epoch=4),
        random_block(6, rows=6, words=1),
        random_block(7, rows=6, dimensions=2),
    ]
    joined = [join(parts) for parts in zip(*(pack(one, 6) for one in blocks), strict=True)]
    found, problems = unpack_all(pa.array(joined))
    assert not problems
    assert all(any(same(one, other) for other in found) for one in blocks)
    assert len(found) == len(blocks)


def test_no_subscriptions_have_no_clauses():
    assert unpack_all(pa.array([], pa.binary())) == ([], {})
    assert unpack_all(pa.chunked_array([], pa.string())) == ([], {})


def test_each_damage_has_its_own_words():
    sound = pack(random_block(8, rows=1), 1)[0]
    blobs = [None, b"", b"\x01", b"\x02" + sound[1:], sound[:-1], sound + b"x", sound]
    _, problems = unpack_all(pa.array(blobs, pa.binary()))
    assert problems == {
        0: "the sealed subscription is null",
        1: "this is no sealed subscription of version 1",
        2: "the sealed subscription has no part",
        3: "this is no sealed subscription of version 1",
        4: "a part of the sealed subscription is cut off",
        5: "a part of the sealed subscription is cut off",
    }
    texts = ["city = 'Galway'", "sealed:!", as_text(sound), None]
    _, problems = unpack_all(pa.array(texts))
    assert problems == {
        0: "this subscription is not sealed; sealed texts begin with 'sealed:'",
        1: "what follows 'sealed:' is not base64",
        3: "the sealed subscription is null",
    }


def part(stream: bytes = b"t", *, words=1, dimensions=1, counts=(), numbers: bytes = b"") -> bytes:
    head = struct.pack("<qIIII", 1, words, dimensions, len(counts), len(stream)) + stream
    body = head + b"".join(struct.pack("<HH", *count) for count in counts) + numbers
    return struct.pack("<BI", 1, len(body)) + body


@pytest.mark.parametrize(
    ("blob", "problem"),
    [
        (part(words=0), "sizes"),
        (part(dimensions=0), "sizes"),
        (part(words=2**32 - 1, dimensions=2**32 - 1), "sizes"),
        (part(counts=[(0, 0)]), "sizes"),
        (part(counts=[(65535, 65535)] * 3, numbers=bytes(24)), "cut off"),
        (part(b"\xff"), "no text"),
        (part(counts=[(0, 1)], numbers=bytes(8) + struct.pack("<d", math.nan)), "not finite"),
        (part(counts=[(0, 1)], numbers=bytes(8) + struct.pack("<d", -math.inf)), "not finite"),
        (part(counts=[(2, 0)], numbers=bytes(24)), "ascend"),
    ],
)
def test_hostile_sizes_and_numbers_are_problems(blob, problem):
    blocks, problems = unpack_all(pa.array([blob]))
    assert not blocks
    assert problem in problems[0]


def test_a_subscription_without_clauses_is_sound():
    blocks, problems = unpack_all(pa.array([part()]))
    assert not problems
    assert len(blocks[0]) == 0


def test_one_wrong_part_spoils_its_subscription_alone():
    sound = pack(random_block(9, rows=2), 2)
    blocks, problems = unpack_all(pa.array([join([sound[0], part(b"\xff")]), sound[1]]))
    assert set(problems) == {0}
    assert set(blocks[0].owner.tolist()) <= {1}


def twin(blob: bytes) -> list[tuple[object, ...]] | None:
    """The clauses of a subscription, read as plainly as can be; None if something is wrong."""
    if blob[:1] != b"\x01" or len(blob) == 1:
        return None
    clauses: list[tuple[object, ...]] = []
    rest = blob[1:]
    try:
        while rest:
            size = struct.unpack_from("<I", rest)[0]
            mine, rest = rest[4 : 4 + size], rest[4 + size :]
            if len(mine) < size:
                return None
            clauses += twin_of_part(mine)
    except (struct.error, ValueError):
        return None
    return clauses


def twin_of_part(mine: bytes) -> list[tuple[object, ...]]:
    epoch, words, dimensions, count, length = struct.unpack_from("<qIIII", mine)
    stream = mine[24 : 24 + length].decode()
    if not (0 < words <= 2**16 and 0 < dimensions <= 2**16):
        raise ValueError
    mine = mine[24 + length :]
    if len(mine) < 4 * count:
        raise ValueError
    counts = [struct.unpack_from("<HH", mine, 4 * at) for at in range(count)]
    mine = mine[4 * count :]
    tokens, vectors = (sum(numbers) for numbers in zip(*counts, strict=True)) if counts else (0, 0)
    if len(mine) != 8 * (count * words + tokens + vectors * dimensions):
        raise ValueError
    filters, mine = mine[: 8 * count * words], mine[8 * count * words :]
    all_tokens = struct.unpack(f"<{tokens}Q", mine[: 8 * tokens])
    numbers = struct.unpack(f"<{vectors * dimensions}d", mine[8 * tokens :])
    if not all(map(math.isfinite, numbers)):
        raise ValueError
    found: list[tuple[object, ...]] = []
    for at, (of_tokens, of_vectors) in enumerate(counts):
        its = all_tokens[:of_tokens]
        all_tokens = all_tokens[of_tokens:]
        if list(its) != sorted(set(its)):
            raise ValueError
        taken, numbers = numbers[: of_vectors * dimensions], numbers[of_vectors * dimensions :]
        filter_ = filters[8 * words * at : 8 * words * (at + 1)]
        found.append((stream, epoch, words, dimensions, filter_, its, taken))
    return found


def clauses_of(blocks: list[ClauseBlock]) -> list[tuple[object, ...]]:
    return [
        (
            block.stream,
            block.epoch,
            block.filters.shape[1],
            block.vectors.shape[1],
            block.filters[at].tobytes(),
            tuple(block.tokens[block.token_starts[at] : block.token_starts[at + 1]].tolist()),
            tuple(
                block.vectors[block.vector_starts[at] : block.vector_starts[at + 1]]
                .reshape(-1)
                .tolist()
            ),
        )
        for block in blocks
        for at in range(len(block))
    ]


@given(st.integers(0, 50), st.integers(0, 2**32), st.integers(1, 3))
def test_whatever_is_damaged_reads_as_its_twin_reads_it(seed, damage, changes):
    random = Random(damage)
    blob = bytearray(pack(random_block(seed, rows=1, words=1, dimensions=2), 1)[0])
    for _ in range(changes):
        at = random.randrange(len(blob))
        kind = random.choice(("change", "change", "cut", "insert"))
        if kind == "change":
            blob[at] = random.choice((0, 1, 2, 0x7F, 0xF0, 0xFF, random.randrange(256)))
        elif kind == "insert":
            blob[at:at] = random.randbytes(random.randint(1, 9))
        elif at:
            del blob[at:]
    blocks, problems = unpack_all(pa.array([bytes(blob)]))
    expected = twin(bytes(blob))
    assert (expected is None) == (0 in problems)
    assert sorted(map(repr, clauses_of(blocks))) == sorted(map(repr, expected or []))


def test_only_sealed_subscriptions_can_be_joined():
    for blobs in ([], [b""], [b"city = 'Galway'"]):
        with pytest.raises(SealedError, match="no sealed subscription"):
            join(blobs)


def test_a_plain_text_is_no_sealed_one():
    with pytest.raises(SealedError, match="not sealed"):
        from_text("city = 'Galway'")


def test_clauses_whose_owners_do_not_ascend_are_not_packed():
    block = random_block(1, rows=9)
    mixed = replace(block, owner=np.arange(len(block), dtype=np.int32)[::-1])
    with pytest.raises(SealedError, match="packed in the order of their owners"):
        pack(mixed, len(block))


def test_thousands_of_parts_are_refused_before_any_is_unpacked():
    """Each part of another size or epoch is a block of its own, however short it is."""
    sound = join([part(bytes([at])) for at in range(100)] * 2)
    hostile = join([part(dimensions=size) for size in range(1, 1_001)])
    blocks, problems = unpack_all(pa.array([sound, hostile]))
    assert problems == {1: "the sealed subscription has more than 256 parts"}
    assert len(blocks) == 100
