"""What `caddis lab bloom-prefiltering` does: run what is missing on Spark, tell and draw it."""

from __future__ import annotations

from functools import partial

from caddis.cli.lab.bloom_prefiltering_order import PrefilteringOrder
from caddis.cli.lab.figures import Redrawn, Study
from caddis.cli.lab.figures import redraw as redraw_figures
from caddis.cli.shell import Job
from caddis.lab.bloom_prefiltering import SHEETS, TABLE, Experiment, is_timed, plan

CLOCKS = "Times are those of this machine as it was; what is compared ran in turn in one process."


def redraw(order: PrefilteringOrder, job: Job) -> Redrawn:
    """Run what is missing, and draw the figures."""
    figures, scale, setup = order.wanted(), order.scale(), order.setup()
    tasks = plan(figures, scale)
    study = Study(
        figures=figures,
        conditions=setup.conditions,
        table=TABLE,
        plan=partial(plan, figures, scale),
        experiment=Experiment(setup),
        sheets=SHEETS,
        notes=(CLOCKS,) if any(map(is_timed, tasks)) else (),
        alone=is_timed,
    )
    return redraw_figures(study, order.out, order.master, job)
