"""Clauses of made-up sizes are reported to who sent them, and nobody else pays for them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from caddis.errors import SubscriptionError
from caddis.sealed.clauses.subscriptions import ClauseBlock, as_text, join, pack, unpack_all
from caddis.sealed.keys.directory import Directory
from caddis.sealed.matcher.blocks import sealed_clauses_of
from caddis.sealed.matcher.matcher import SealedMatcher
from tests.sealed.homes import (
    EVENTS,
    WHERES,
    clause_table,
    homes,
    pairs,
    sealed_events,
    sealed_wheres,
)

HONEST: list[bytes] = sealed_wheres()["where"].to_pylist()
BITS, DIMENSIONS = homes().directory.streams["homes"].outline.bits, 11


def made_up(words: int = 2, dimensions: int = 11, stream: str = "homes", clauses: int = 1) -> bytes:
    """A subscription with clauses that ask for one bit and no more."""
    nothing = np.zeros(clauses + 1, np.int64)
    block = ClauseBlock(
        stream,
        1,
        np.zeros(clauses, np.int32),
        np.tile(np.arange(words, dtype=np.uint64) == 0, (clauses, 1)).astype(np.uint64),
        nothing,
        np.zeros(0, np.uint64),
        nothing,
        np.zeros((0, dimensions)),
    )
    return pack(block, 1)[0]


SEVERAL = join(made_up(dimensions=one) for one in range(12, 212))


def compiled(wheres: list[bytes], publishers: Directory | None = None) -> SealedMatcher:
    table = pa.table({"subscription_id": range(len(wheres)), "where": pa.array(wheres)})
    return SealedMatcher.compile(table, publishers=publishers, on_invalid="skip")


def problems(matcher: SealedMatcher) -> dict[object, str]:
    return {error.subscription_id: error.problem for error in matcher.invalid}


def test_the_sizes_of_these_tests_are_those_of_the_stream():
    outline = homes().directory.streams["homes"].outline
    assert (outline.bits, outline.dimensions) == (BITS, DIMENSIONS) == (128, 11)


@pytest.mark.parametrize(
    ("hostile", "problem"),
    [
        (made_up(words=1), "has 64 bits and 11 dimensions; those of 'homes' have 128 and 11"),
        (made_up(words=1024), "has 65536 bits and 11 dimensions"),
        (made_up(words=1025), "filters of the sealed subscription have 65600 bits, not 65536 at"),
        (made_up(dimensions=12), "has 128 bits and 12 dimensions"),
        (made_up(stream="boats"), "the directory has no stream 'boats'"),
        (SEVERAL, "has parts of several sizes for one stream and epoch"),
        (join([made_up(), made_up(stream="boats")]), "the directory has no stream 'boats'"),
    ],
)
@pytest.mark.parametrize("at", [0, len(WHERES)])
def test_a_directory_says_which_sizes_are_right(hostile: bytes, problem: str, at: int):
    wheres = [*HONEST[:at], hostile, *HONEST[at:]]
    matcher = compiled(wheres, homes().directory)
    assert list(problems(matcher)) == [at]
    assert problem in problems(matcher)[at]
    whole = pairs(SealedMatcher.compile(sealed_wheres()).match(sealed_events()))
    found = matcher.match(homes().publish())
    assert pairs(found) == {(row, link + (link >= at)) for row, link in whole}
    assert found.refused == ()


@pytest.mark.parametrize("hostile", [made_up(words=1), made_up(dimensions=12, clauses=1_000)])
@pytest.mark.parametrize("at", [0, len(WHERES)])
def test_without_a_directory_most_subscriptions_say_it(hostile: bytes, at: int):
    matcher = compiled([*HONEST[:at], hostile, *HONEST[at:]])
    assert list(problems(matcher)) == [at]
    found = matcher.match(sealed_events())
    assert len(pairs(found)) == len(
        pairs(SealedMatcher.compile(sealed_wheres()).match(sealed_events()))
    )
    assert found.refused == ()


def test_of_two_subscriptions_the_first_says_it():
    one, other = made_up(), made_up(words=1)
    assert list(problems(compiled([one, other]))) == list(problems(compiled([other, one]))) == [1]


def test_a_subscription_of_a_thousand_sizes_costs_nobody_a_comparison():
    """It had every event compared with each of its sizes."""
    for wheres in ([HONEST[0], SEVERAL], [SEVERAL, HONEST[0]]):
        matcher = compiled(wheres)
        assert list(problems(matcher)) == [wheres.index(SEVERAL)]
        alone = compiled(wheres[:1] if wheres[1] is SEVERAL else wheres[1:])
        reports = [one.match(sealed_events()).report for one in (matcher, alone)]
        assert reports[0] == reports[1]
        assert matcher.nbytes - alone.nbytes < 100


def test_a_size_per_epoch_and_stream_is_fine():
    other = replace(unpack_all(pa.array([made_up(words=1)]))[0][0], epoch=2)
    both = join([made_up(), made_up(words=1, stream="boats"), pack(other, 1)[0]])
    assert problems(compiled([both])) == {}


@pytest.mark.parametrize("length", [0.0, 1e-9, 1e9, 1e200])
def test_vectors_that_nobody_can_have_sealed_are_refused(length: float):
    """A vector of length 0 is fulfilled by all, and products of very long ones are no numbers."""
    (block,) = unpack_all(homes("aspe").seal(["city = 'Cork'"])["where"])[0]
    (hostile,) = pack(replace(block, vectors=np.full_like(block.vectors, length)), 1)
    assert "shorter or longer than any" in problems(compiled([hostile, hostile]))[0]


# -------------------------------------------------------------------------------------- brokers


def test_a_broker_does_not_read_a_text_of_several_sizes():
    with pytest.raises(SubscriptionError, match="parts of several sizes"):
        sealed_clauses_of(as_text(SEVERAL))


@pytest.mark.parametrize("hostile", [made_up(words=1), made_up(dimensions=12)])
@pytest.mark.parametrize("informed", [True, False])
def test_brokers_match_on_beside_clauses_of_other_sizes(hostile: bytes, informed: bool):
    texts = [as_text(one) for one in (HONEST[0], hostile, HONEST[2])]
    clauses = clause_table([sealed_clauses_of(text) for text in texts])
    ids = pa.array(["ann", "eve", "ann too"])
    publishers = homes().directory if informed else None
    matcher = SealedMatcher.from_clauses(clauses, ids, publishers=publishers)
    found = matcher.match(homes().publish(EVENTS))
    central = pairs(compiled([HONEST[0], HONEST[2]]).match(sealed_events()))
    assert pairs(found) == {(row, 2 * link) for row, link in central}
    assert found.refused == ()
