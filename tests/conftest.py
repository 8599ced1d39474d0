"""Hypothesis profiles: `ci` repeats itself exactly; `explore` looks for what it has not seen.

`HYPOTHESIS_PROFILE=explore pytest ...` chooses the second. No profile has a deadline, as the
first call of a compiled kernel includes its compilation.

Coverage is measured by the tests of single cases. A property runs the same lines for each of its
examples, and would take twice as long if each of them were measured; of a test that is repeated
with other seeds, the first is measured.

Tests that press Ctrl-C send SIGINT to themselves and to what they start. Under nohup and in the
background of a shell it comes ignored, and would be so in all that is started from here.
"""

import os
import signal
import sys
from collections.abc import Generator

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if is_hypothesis_test(getattr(item, "obj", None)) or is_another_seed(item):
            item.add_marker(pytest.mark.no_cover)


def is_another_seed(item: pytest.Item) -> bool:
    """Whether a test with the same other parameters, but the first of the seeds, goes before."""
    case = getattr(item, "callspec", None)
    return case is not None and any(case.indices.get(name, 0) > 0 for name in ("seed", "seeds"))


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """In a worker of xdist pytest-cov measures twice, and `no_cover` pauses only one of the two."""
    measuring = sys.gettrace()
    if item.get_closest_marker("no_cover") and item.config.pluginmanager.has_plugin("_cov"):
        sys.settrace(None)
    try:
        return (yield)
    finally:
        sys.settrace(measuring)
