"""What `caddis lab local-building-blocks` does: run what is missing on Spark, tell and draw it."""

from __future__ import annotations

from functools import partial

from caddis.cli.lab.figures import Redrawn, Study
from caddis.cli.lab.figures import redraw as redraw_figures
from caddis.cli.lab.local_building_blocks_order import BlocksOrder
from caddis.cli.shell import Job
from caddis.lab.local_building_blocks import DRAWN, SHEETS, TABLE, Experiment, plan

MADE_UP = "Interests are drawn; --interests names a file of real ones instead."


def redraw(order: BlocksOrder, job: Job) -> Redrawn:
    """Run what is missing, and draw the figures."""
    figures, scale, setup = order.wanted(), order.scale(), order.setup()
    study = Study(
        figures=figures,
        conditions=setup.conditions,
        table=TABLE,
        plan=partial(plan, figures, scale, setup.conditions),
        experiment=Experiment(setup),
        sheets=SHEETS,
        notes=(MADE_UP,) if setup.conditions.interests == DRAWN else (),
    )
    return redraw_figures(study, order.out, order.master, job)
