from .simulators.overlay import Crash, simulate
from .workloads.overlay import draw_workload

__all__ = ["Crash", "draw_workload", "simulate"]
