from .simulators import Crash, simulate
from .workloads import draw_workload

__all__ = ["Crash", "draw_workload", "simulate"]
