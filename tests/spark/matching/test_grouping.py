"""Matches as pairs and as groups: the same matches, however they were found."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caddis.arrays import Int32s
from caddis.spark.matching import grouping
from caddis.spark.matching.grouping import groups, pairs

KEYS = pa.array([f"event {row}" for row in range(20)])
Part = tuple[Int32s, pa.Array]


def part(rows: Sequence[int], ids: Sequence[int]) -> Part:
    return np.array(sorted(rows), np.int32), pa.array(ids, pa.int64())


parts = st.lists(
    st.lists(st.integers(0, len(KEYS) - 1), max_size=12).map(
        lambda rows: part(rows, range(len(rows)))
    )
)


def grouped(found: Sequence[Part]) -> list[tuple[str, list[int]]]:
    batches = groups("event_id", KEYS, found)
    rows = [row for batch in batches for row in batch.to_pylist()]
    return [(row["event_id"], row["subscription_ids"]) for row in rows]


@given(parts)
def test_groups_hold_the_same_matches_as_pairs(found: list[Part]):
    flat = [row for batch in pairs("event_id", KEYS, found) for row in batch.to_pylist()]
    expected = sorted((row["event_id"], row["subscription_id"]) for row in flat)
    assert sorted((key, id_) for key, ids in grouped(found) for id_ in ids) == expected


@given(parts)
def test_an_event_is_one_group_whatever_parts_it_is_in(found: list[Part]):
    keys = [key for key, _ in grouped(found)]
    assert len(keys) == len(set(keys))
    assert all(ids for _, ids in grouped(found))


def test_a_group_lists_the_ids_of_earlier_parts_first():
    assert grouped([part([1, 3], [10, 11]), part([1], [12])]) == [
        ("event 1", [10, 12]),
        ("event 3", [11]),
    ]


@pytest.mark.parametrize("most", [1, 3, 100])
def test_groups_are_handed_over_in_batches_of_bounded_size(
    monkeypatch: pytest.MonkeyPatch, most: int
):
    monkeypatch.setattr(grouping, "MATCHES_AT_A_TIME", most)
    rows = [0, 1, 1, 2, 2, 2, 2, 2, 3, 9]
    batches = list(groups("event_id", KEYS, [part(rows, range(10))]))
    sizes = [len(batch.column("subscription_ids").flatten()) for batch in batches]
    assert sum(sizes) == 10
    assert all(
        size <= most or batch.num_rows == 1 for size, batch in zip(sizes, batches, strict=True)
    )


def test_nothing_found_is_no_group():
    assert grouped([]) == grouped([part([], [])]) == []
