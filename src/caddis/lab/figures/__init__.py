"""TODO."""

from caddis.lab.figures.figures import (
    Figure,
    Key,
    Line,
    Measured,
    Place,
    Run,
    Task,
    Values,
    by_measure,
    cells,
    keys,
    named,
    of_line,
    runs_of,
    whole,
    write_figures,
)
from caddis.lab.figures.plots import Sheets, draw
from caddis.lab.figures.ratios import Record, Row, print_table, records
from caddis.lab.figures.run_tables import RunTable
from caddis.lab.figures.topic_plots import CurvePoint, draw_curve, draw_filtering

__all__ = [
    "CurvePoint",
    "Figure",
    "Key",
    "Line",
    "Measured",
    "Place",
    "Record",
    "Row",
    "Run",
    "RunTable",
    "Sheets",
    "Task",
    "Values",
    "by_measure",
    "cells",
    "draw",
    "draw_curve",
    "draw_filtering",
    "keys",
    "named",
    "of_line",
    "print_table",
    "records",
    "runs_of",
    "whole",
    "write_figures",
]
