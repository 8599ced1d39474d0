"""TODO."""

from caddis.lab.bloom_prefiltering.counts import measure_tests
from caddis.lab.bloom_prefiltering.figures import SHEETS, figures_named
from caddis.lab.bloom_prefiltering.kinds import Experiment, is_timed, plan
from caddis.lab.bloom_prefiltering.times import (
    SealedStream,
    batch_of,
    measure_aspe,
    measure_times,
    measure_tokens,
)
from caddis.lab.bloom_prefiltering.workload import TABLE, Case, Conditions, Draw, Scale, Setup

__all__ = [
    "SHEETS",
    "TABLE",
    "Case",
    "Conditions",
    "Draw",
    "Experiment",
    "Scale",
    "SealedStream",
    "Setup",
    "batch_of",
    "figures_named",
    "is_timed",
    "measure_aspe",
    "measure_tests",
    "measure_times",
    "measure_tokens",
    "plan",
]
