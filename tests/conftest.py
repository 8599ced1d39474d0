"""Hypothesis profiles: `ci` repeats itself exactly; `explore` looks for what it has not seen.

`HYPOTHESIS_PROFILE=explore pytest ...` chooses the second. No profile has a deadline, as the
first call of a compiled kernel includes its compilation.
"""

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "ci",
    deadline=None,
    derandomize=True,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "explore", parent=settings.get_profile("ci"), derandomize=False, max_examples=2_000
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
