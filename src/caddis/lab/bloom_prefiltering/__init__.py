"""The paper on Bloom prefiltering (Linghate and Ingole): encrypted tests that need not be made.

`workload` makes the filters of the synthetic workload; `counts` has the experiments that count
(tests that are left, filters that err), `times` those with a clock (prefiltering, and the whole
sealed match); `figures` draws them. `study` puts them together for `caddis lab
bloom-prefiltering`.
"""

from caddis.lab.bloom_prefiltering.counts import measure_tests
from caddis.lab.bloom_prefiltering.figures import figures_named, study
from caddis.lab.bloom_prefiltering.times import (
    SealedStream,
    batch_of,
    measure_aspe,
    measure_times,
    measure_tokens,
)
from caddis.lab.bloom_prefiltering.workload import (
    QUICK,
    QUICK_BATCH,
    QUICK_CONDITIONS,
    Conditions,
    Scale,
    Setup,
)
