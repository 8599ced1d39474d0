"""Files cut into pieces: each group of rows is read once, and tasks are of about one size."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caddis.files.columnar.listing import DataFile
from caddis.files.columnar.splitting import LEAST_BYTES, MOST_BYTES, OPENING_BYTES, split


def files(*sizes: int) -> list[DataFile]:
    return [DataFile(None, f"/{at}.parquet", size, ()) for at, size in enumerate(sizes)]


@given(st.lists(st.tuples(st.integers(1, 1 << 34), st.integers(0, 50))))
def test_every_group_of_rows_is_in_one_piece(sizes: list[tuple[int, int]]):
    groups = {f"/{at}.parquet": count for at, (_, count) in enumerate(sizes)}
    tasks = split(files(*(size for size, _ in sizes)))
    read = Counter(
        (piece.file.path, group)
        for task in tasks
        for piece in task
        for group in piece.groups(groups[piece.file.path])
    )
    assert read == Counter((path, at) for path, count in groups.items() for at in range(count))


@pytest.mark.parametrize(
    ("sizes", "tasks"),
    [
        ([LEAST_BYTES], 1),
        ([64 * LEAST_BYTES], 32),
        ([1000] * 5, 1),
        ([1 << 34], (1 << 34) // MOST_BYTES),
        ([], 0),
    ],
)
def test_large_files_are_cut_and_small_ones_share_a_task(sizes: list[int], tasks: int):
    assert len(split(files(*sizes))) == tasks


def test_no_task_is_much_larger_than_the_others():
    costs = [
        sum(piece.end - piece.begin + OPENING_BYTES for piece in task)
        for task in split(files(*range(1, 10**8, 10**6)))
    ]
    assert costs == sorted(costs, reverse=True)
    assert costs[0] < 2 * sum(costs) / len(costs)
