"""Calls of a function on Spark's workers."""

import os
import time
from dataclasses import dataclass

import pytest

from caddis.errors import OverlayError
from caddis.spark.base.spreading import spread


@dataclass(frozen=True, slots=True)
class Multiply:
    """A function with something to carry."""

    by: int

    def __call__(self, task: int) -> tuple[int, int]:
        return task * self.by, os.getpid()


def test_every_task_has_its_own_result_whatever_the_order(spark):
    found = dict(spread(spark, Multiply(3), range(8), at_once=3))
    assert {task: result for task, (result, _) in found.items()} == {n: 3 * n for n in range(8)}


def test_calls_run_in_workers(spark):
    [(_, (_, worker))] = spread(spark, Multiply(1), [0])
    assert worker != os.getpid()


def test_no_task_gives_no_result(spark):
    assert list(spread(spark, Multiply(1), [])) == []


def test_results_come_while_others_still_run(spark):
    def sleep(seconds: float) -> float:
        time.sleep(seconds)
        return time.time()

    list(spread(spark, sleep, [0.0, 0.0]))
    came = [(task, done, time.time()) for task, done in spread(spark, sleep, [3.0, 0.0])]
    assert [task for task, _, _ in came] == [0.0, 3.0]
    assert came[0][2] < came[1][1]


def test_what_a_call_raises_is_raised_here_as_it_was(spark):
    def fail(task: int) -> int:
        raise OverlayError(f"task {task} cannot be done")

    with pytest.raises(OverlayError, match="task 1 cannot be done"):
        list(spread(spark, fail, [1]))


def test_who_stops_listening_does_not_wait_for_the_rest(spark):
    def sleep(seconds: float) -> float:
        time.sleep(seconds)
        return seconds

    results = spread(spark, sleep, [0.0, *[0.4] * 40], at_once=4)
    next(results)
    began = time.monotonic()
    results.close()
    assert time.monotonic() - began < 5
