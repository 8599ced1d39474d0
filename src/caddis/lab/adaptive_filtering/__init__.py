"""TODO."""

from caddis.lab.adaptive_filtering.figures import (
    BASELINE,
    SYNTHETIC,
    Conditions,
    Experiment,
    Figure,
    Measure,
    Run,
    Scale,
    Task,
    draw_topologies,
    figure,
    plan,
    policy_named,
)
from caddis.lab.adaptive_filtering.plots import draw
from caddis.lab.adaptive_filtering.results import (
    MEANS,
    TABLE,
    Cell,
    cells,
    percent_less,
    savings,
    write_figures,
)

__all__ = [
    "BASELINE",
    "MEANS",
    "SYNTHETIC",
    "TABLE",
    "Cell",
    "Conditions",
    "Experiment",
    "Figure",
    "Measure",
    "Run",
    "Scale",
    "Task",
    "cells",
    "draw",
    "draw_topologies",
    "figure",
    "percent_less",
    "plan",
    "policy_named",
    "savings",
    "write_figures",
]
