"""What was seen stays seen: intervals against a plain set."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caddis.confidential.replays import ReplayMemory, SeenNumbers
from caddis.errors import ConfidentialError

NUMBERS = st.lists(st.integers(0, 40) | st.integers(0, 2**63 - 1), max_size=80)


@given(NUMBERS)
def test_intervals_hold_what_a_set_holds(numbers):
    seen, plain = SeenNumbers(), set[int]()
    for number in numbers:
        assert (number in seen) == (number in plain)
        assert seen.add(number) == (number not in plain)
        plain.add(number)
    held = [number for first, last in seen.intervals for number in (first, last)]
    assert set(held) <= plain
    assert sum(last - first + 1 for first, last in seen.intervals) == len(plain)
    firsts, lasts = held[::2], held[1::2]
    assert all(last + 1 < first for last, first in zip(lasts, firsts[1:], strict=False))


@given(NUMBERS, st.integers(0, 5))
def test_with_few_gaps_nothing_seen_is_admitted_again_and_only_old_numbers_are_lost(numbers, gaps):
    seen, plain = SeenNumbers(), set[int]()
    for number in numbers:
        floor = seen.intervals[0][1] if seen.intervals and seen.intervals[0][0] == 0 else -1
        added = seen.add(number, gaps)
        assert added or number in plain or number <= floor
        assert not (added and number in plain)
        plain.add(number)
        assert len(seen.intervals) <= gaps + 1
    assert all(number in seen for number in plain)


def test_numbers_without_gaps_cost_one_interval_in_whatever_order():
    seen = SeenNumbers()
    for number in [*range(0, 1000, 2), *range(1, 1000, 2)]:
        assert seen.add(number)
    assert seen.intervals == [(0, 999)]


def test_runs_are_apart_and_bounded():
    memory = ReplayMemory(most_runs=2)
    stream = ("pat", "homes", 1)
    assert [memory.add(stream, run, 0) for run in (5, 6, 7, 5)] == [True, True, False, False]
    assert memory.add(("pat", "homes", 2), 7, 0)
    assert memory.is_full(stream, 7)
    assert not memory.is_full(stream, 6)


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 2), st.integers(0, 30))))
def test_a_memory_that_was_written_down_refuses_the_same(events):
    memory = ReplayMemory()
    for name, run, number in events:
        memory.add((name, "homes", 1), run, number)
    again = ReplayMemory.from_json(json.loads(json.dumps(memory.as_json())))
    assert again == memory
    assert not any(again.add((name, "homes", 1), run, number) for name, run, number in events)


@pytest.mark.parametrize(
    "plain", [{}, [1], [["a", "b", 1, 2, [[3, 2]]]], [["a", "b", 1, 2, [[1, 2], [3, 4]]]]]
)
def test_a_damaged_memory_is_refused(plain):
    with pytest.raises(ConfidentialError, match="no memory of events"):
        ReplayMemory.from_json(plain)
