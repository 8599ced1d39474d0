"""One system for the figures of all papers: experiments, their runs, figures and plots.

A paper's room gives a `Study`: its figures, the experiments behind their lines, and how to run
them. Everything else is the same for all papers:

    Study.plan ──▶ tasks ──Study.worker──▶ runs ──by_measure──▶ values ──cells──▶ tables, CSV
                             on any machine                             └──draw──▶ PNG

`ratios` has the tables of the benchmarks, which compare figures with a baseline.
"""

from caddis.lab.figures.figures import (
    Cell,
    Figure,
    Line,
    Sheets,
    Spot,
    Study,
    Style,
    Table,
    Values,
    by_measure,
    cells,
    cells_of,
    figures_named,
    write_figures,
)
from caddis.lab.figures.plots import draw
from caddis.lab.figures.ratios import Record, Row, print_table, records
from caddis.lab.figures.runs import (
    Experiment,
    Key,
    Measured,
    Place,
    Run,
    Task,
    keys,
    read_runs,
    runs_at,
    whole,
    write_header,
    write_runs,
)
