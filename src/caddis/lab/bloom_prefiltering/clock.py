"""The clock of experiments that tell times: the best of several passes.

Other work on the machine only ever adds to a time, so the best pass tells most of what is measured.
"""

from __future__ import annotations

import time
from collections.abc import Callable

FEWEST, MOST_AT_A_STEP, PASSES = 4, 50, 3
MICRO = 1e6

Clock = Callable[[], float]
"""Seconds since whenever."""


def per_event(
    function: Callable[[int], object],
    most: int,
    seconds: float,
    *,
    fewest: int = FEWEST,
    clock: Clock = time.perf_counter,
) -> float:
    """µs that an event takes, measured on as many events as take about so many seconds.

    function: does its work on so many events; kernels are warm before the clock starts.
    clock: by the wall, or time.process_time.
    """

    def spent_on(count: int) -> float:
        started = clock()
        function(count)
        return clock() - started

    count = min(fewest, most)
    function(count)
    while (spent := spent_on(count)) < seconds / PASSES and count < most:
        growth = min(max(seconds / PASSES / max(spent, 1e-9), 2), MOST_AT_A_STEP)
        count = min(most, int(count * growth))
    others = [spent_on(count) for _ in range(PASSES - 1)]
    return min(spent, *others) / count * MICRO
