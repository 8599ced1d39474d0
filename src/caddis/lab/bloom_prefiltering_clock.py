"""The clock of experiments that tell times: by the wall, the best of several passes.

Other work on the machine only ever adds to a time, so the best pass tells most of what is measured.
"""

from __future__ import annotations

import time
from collections.abc import Callable

FEWEST, MOST_AT_A_STEP, PASSES = 4, 50, 3
MICRO = 1e6


def per_event(
    function: Callable[[int], object], most: int, seconds: float, *, fewest: int = FEWEST
) -> float:
    """µs that an event takes, measured on as many events as take about so many seconds.

    function: does its work on so many events; kernels are warm before the clock starts.
    """
    count = min(fewest, most)
    function(count)
    while (spent := _seconds(function, count)) < seconds / PASSES and count < most:
        growth = min(max(seconds / PASSES / max(spent, 1e-9), 2), MOST_AT_A_STEP)
        count = min(most, int(count * growth))
    others = [_seconds(function, count) for _ in range(PASSES - 1)]
    return min(spent, *others) / count * MICRO


def _seconds(function: Callable[[int], object], count: int) -> float:
    started = time.perf_counter()
    function(count)
    return time.perf_counter() - started
