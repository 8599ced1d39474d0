"""The lab: workloads, baselines, and what redraws the papers' figures.

`simulate(topology, workload, policy)` runs an overlay of brokers in virtual time. Names are
imported when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from caddis.lab.overlay_workloads import draw_workload
    from caddis.lab.simulator import Crash, simulate

__all__ = ["Crash", "draw_workload", "simulate"]

_HOMES = {
    "Crash": "caddis.lab.simulator",
    "draw_workload": "caddis.lab.overlay_workloads",
    "simulate": "caddis.lab.simulator",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'caddis.lab' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
