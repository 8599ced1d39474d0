"""Slices of matches: together they are the whole, and none is larger than it may be."""

from collections.abc import Iterator
from itertools import pairwise
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caddis import Matcher, Matches
from caddis.matching import in_step
from caddis.matching.links import MatchReport
from tests.oracle.clauses import Clauses
from tests.oracle.events import random_batch, random_schema
from tests.runs import seeds

SCHEMA = pa.schema([("city", pa.string()), ("price", pa.int64()), ("tags", pa.list_(pa.int64()))])


def compiled(wheres: list[str], schema: pa.Schema = SCHEMA) -> Matcher:
    ids = list(range(len(wheres)))
    return Matcher.compile(pa.table({"subscription_id": ids, "where": wheres}), schema)


def pairs(matches: Matches) -> list[tuple[int, int]]:
    return list(zip(matches.rows.tolist(), matches.links.tolist(), strict=True))


@pytest.mark.parametrize("most_pairs", [1, 7, 100])
@pytest.mark.parametrize("seed", seeds(6, 30))
def test_slices_are_together_the_whole_each_pair_once_and_rows_ascend(seed, most_pairs):
    random = Random(seed)
    batch = random_batch(random, random_schema(random), rows=40)
    clauses = Clauses(random, batch)
    matcher = compiled([clauses.tree().text for _ in range(60)], batch.schema)
    whole, slices = matcher.match(batch), list(matcher.match_in_slices(batch, most_pairs))
    found = [pair for one in slices for pair in pairs(one)]
    assert sorted(found) == sorted(pairs(whole))
    assert len(set(found)) == len(found)
    assert [row for row, _ in found] == sorted(row for row, _ in found)
    ends = [0, *(one.end for one in slices)]
    assert ends[-1] == whole.end == batch.num_rows
    for one, (begin, end) in zip(slices, pairwise(ends), strict=True):
        assert begin < end
        assert set(one.rows.tolist()) <= set(range(begin, end))
        assert one.report.events == end - begin
        assert one.report.matches == len(one.rows)
        assert len(one.rows) <= most_pairs or end - begin == 1


@given(
    st.lists(st.lists(st.integers(0, 3) | st.none(), max_size=4) | st.none(), max_size=9),
    st.integers(1, 12),
)
def test_slices_cut_arrays_and_patterns_between_rows(tags, most_pairs):
    wheres = [f"array_contains(tags, {value})" for value in range(4)]
    wheres += [f"NOT array_contains(tags, {value}) AND price >= 0" for value in range(4)]
    wheres += ["city LIKE '%a%'", "city LIKE '%b' AND price < 5", "price IS NOT NULL OR city = 'a'"]
    matcher = compiled(wheres)
    cities, prices = [["ab", "b", None][i % 3] for i in range(len(tags))], list(range(len(tags)))
    batch = pa.record_batch({"city": cities, "price": prices, "tags": tags}, SCHEMA)
    slices = list(matcher.match_in_slices(batch, most_pairs))
    assert sorted(pair for one in slices for pair in pairs(one)) == sorted(
        pairs(matcher.match(batch))
    )
    searched = sum(one.report.searches for one in slices)
    assert searched == matcher.match(batch).report.searches


def test_events_that_match_everything_come_in_slices_of_bounded_size():
    matcher = compiled([f"price > {-i}" for i in range(1, 3_001)])
    batch = pa.record_batch({"price": list(range(1, 101))})
    slices = list(matcher.match_in_slices(batch, 10_000))
    assert max(len(one.rows) for one in slices) <= 10_000
    assert sum(len(one.rows) for one in slices) == 100 * 3_000
    # What one slice found says how many rows the next one has.
    assert len(slices) <= 60


def test_a_single_row_has_room_for_all_that_it_matches():
    matcher = compiled([f"price > {-i}" for i in range(1, 3_001)])
    slices = list(matcher.match_in_slices(pa.record_batch({"price": [1, 2]}), 10))
    assert [len(one.rows) for one in slices] == [3_000, 3_000]


def test_rows_grow_again_after_one_that_matches_very_many():
    matcher = compiled(["price = 0"] * 1_000 + ["price = 1"])
    batch = pa.record_batch({"price": [0] + [1] * 999})
    ends = [one.end for one in matcher.match_in_slices(batch, 1_000)]
    assert ends[0] == 1
    assert ends[-1] == 1_000
    assert len(ends) < 10


def test_an_empty_batch_is_one_slice():
    (only,) = compiled(["price = 1"]).match_in_slices(pa.RecordBatch.from_pylist([], SCHEMA))
    assert (only.end, len(only.rows)) == (0, 0)


def cut(rows: list[int], ends: list[int]) -> Iterator[Matches]:
    """The rows, each a match of the link of its own number, in slices that end there."""
    for begin, end in pairwise([0, *ends]):
        some = np.array([row for row in sorted(rows) if begin <= row < end], np.int32)
        yield Matches(some, some, MatchReport(end - begin, len(some), 0, 0), end)


rows_and_ends = st.tuples(
    st.lists(st.integers(0, 19), max_size=30),
    st.sets(st.integers(1, 19), max_size=6).map(lambda some: [*sorted(some), 20]),
)


@given(st.lists(rows_and_ends, max_size=4))
def test_matchers_in_step_are_at_the_same_rows(some):
    found: list[list[int]] = [[] for _ in some]
    seen = -1
    for turn in in_step([cut(rows, ends) for rows, ends in some]):
        here = [row for rows, _ in turn for row in rows.tolist()]
        assert min(here, default=seen + 1) > seen
        seen = max(here, default=seen)
        for mine, (rows, links) in zip(found, turn, strict=True):
            assert rows.tolist() == links.tolist()
            mine.extend(rows.tolist())
    assert found == [sorted(rows) for rows, _ in some]
