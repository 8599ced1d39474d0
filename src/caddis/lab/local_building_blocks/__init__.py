"""TODO."""

from caddis.lab.local_building_blocks.clusterings import (
    adopt_all,
    agglomerative,
    random_channels,
    settled,
    wishes,
)
from caddis.lab.local_building_blocks.figures import SHEETS, figures_named
from caddis.lab.local_building_blocks.kinds import Experiment, plan
from caddis.lab.local_building_blocks.runs import DRAWN, TABLE, Conditions, Scale, Setup

__all__ = [
    "DRAWN",
    "SHEETS",
    "TABLE",
    "Conditions",
    "Experiment",
    "Scale",
    "Setup",
    "adopt_all",
    "agglomerative",
    "figures_named",
    "plan",
    "random_channels",
    "settled",
    "wishes",
]
