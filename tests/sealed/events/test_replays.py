"""What was seen stays seen: intervals against a plain set."""

import json
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caddis.errors import KeyFileError
from caddis.sealed.events.replays import ReplayMemory, SeenNumbers
from tests.runs import times

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


LANE = ("pat", "homes", 1)


def test_runs_are_apart_and_bounded():
    memory = ReplayMemory(most_runs=2)
    verdicts = [memory.add(LANE, run, 0) for run in (5, 6, 7, 5)]
    assert verdicts == ["new", "new", "full", "seen"]
    assert memory.add(("pat", "homes", 2), 7, 0) == "new"


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 40)), max_size=80), st.integers(1, 6))
def test_intervals_of_all_runs_are_bounded_and_nothing_seen_is_new_again(events, most):
    memory, added = ReplayMemory(most_gaps=3, most_intervals=most), set[tuple[int, int]]()
    for event in events:
        verdict = memory.verdict(LANE, *event)
        assert memory.add(LANE, *event) == verdict
        assert not (verdict == "new" and event in added)
        assert not (verdict == "full" and event[0] in {run for run, _ in added})
        if verdict == "new":
            added.add(event)
        assert memory.intervals <= most
        assert memory.intervals == len(written(memory)) // 2
    assert all(memory.verdict(LANE, *event) == "seen" for event in added)


def written(memory: ReplayMemory) -> list[int]:
    plain: Any = memory.as_json()
    return [end for run in plain["content"]["runs"] for end in run["seen"]]


def test_runs_full_of_gaps_take_no_more_than_is_said():
    """Further runs are refused; without the bound, 100,000 runs of 10,000 gaps took over 40 GB."""
    gaps = times(2_500, 10_000)
    tracemalloc.start()
    memory = ReplayMemory(most_intervals=5 * gaps)
    for run in range(20):
        for number in range(0, 2 * gaps, 2):
            memory.add(LANE, 2**40 + run, 2**40 + number)
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert memory.intervals == 5 * gaps
    assert taken < 5 * gaps * 100 + 20 * 500
    assert memory.verdict(LANE, 7, 0) == "full"


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 2), st.integers(0, 30))))
def test_a_memory_that_was_written_down_refuses_the_same(events):
    memory = ReplayMemory()
    for name, run, number in events:
        memory.add((name, "homes", 1), run, number)
    again = ReplayMemory.from_json(json.loads(json.dumps(memory.as_json())))
    assert again == memory
    assert all(again.add((name, "homes", 1), *event) == "seen" for name, *event in events)


def test_a_memory_can_be_kept_in_a_file(tmp_path):
    memory = ReplayMemory()
    for _ in range(2):
        memory.add(LANE, 5, 0)
        memory.write(tmp_path / "seen.json")
    assert ReplayMemory.read(tmp_path / "seen.json") == memory


RUN = {"publisher": "pat", "stream": "homes", "epoch": 1, "run": 5, "seen": [1, 2]}


@pytest.mark.parametrize(
    ("runs", "message"),
    [
        ({}, "'runs' should be a list"),
        ([1], "is not a JSON object"),
        ([{**RUN, "epoch": "1"}], "'epoch' should be a whole number"),
        ([{**RUN, "seen": [3, 2]}], "ascend"),
        ([{**RUN, "seen": [1, 2, 3, 4]}], "do not touch"),
        ([{**RUN, "seen": [1]}], "without an end"),
        ([{**RUN, "seen": [1, True]}], "'seen' should be a list of whole numbers"),
        ([{**RUN, "seen": [-2, -1]}], "'seen' should be a list of whole numbers"),
        ([RUN, RUN], "a run twice"),
    ],
)
def test_a_damaged_memory_is_refused(runs, message):
    with pytest.raises(KeyFileError, match=message):
        ReplayMemory.from_json({"caddis": "replay memory", "format": 1, "content": {"runs": runs}})
