"""The figures on Bloom prefiltering, and the experiments behind their lines.

The paper reports one result, about an order of magnitude fewer costly operations, and describes no
workload. So the figures are ours, and the experiments run on the synthetic workload of the
benchmarks (`caddis.lab.workloads.zipf`): how many encrypted tests are left, how long prefiltering
takes, how often filters err, and what all of it depends on.
"""

from __future__ import annotations

from dataclasses import replace

from caddis.lab.bloom_prefiltering.counts import (
    BEST,
    measure_bits,
    measure_equalities,
    measure_targets,
    measure_tests,
    measure_wire,
)
from caddis.lab.bloom_prefiltering.times import (
    measure_aspe,
    measure_batches,
    measure_times,
    measure_tokens,
)
from caddis.lab.bloom_prefiltering.workload import Conditions, Scale, Setup
from caddis.lab.figures import Experiment, Figure, Line, Study
from caddis.lab.figures import figures_named as named

EXPERIMENTS = {
    "tests": Experiment(measure_tests, "subscriptions", "few", grows=True),
    "equalities": Experiment(measure_equalities, "equalities", "few"),
    "targets": Experiment(measure_targets, "rates", "few"),
    "bits": Experiment(measure_bits, "bits"),
    "wire": Experiment(measure_wire, "wire"),
    "aspe": Experiment(measure_aspe, "aspe", "once", timed=True, grows=True),
    "tokens": Experiment(measure_tokens, "tokens", "once", timed=True, grows=True),
    "times": Experiment(measure_times, "subscriptions", "few", timed=True, grows=True),
    "batches": Experiment(measure_batches, "batches", "few", timed=True),
}
CLOCKS = "Times are those of this machine as it was; what is compared ran in turn in one process."

SUBSCRIPTIONS, TESTS, MICROSECONDS = "subscriptions", "encrypted tests an event", "µs an event"
COMPARED = "filters compared an event"
NONE, PAPER, OURS = "no prefilter", "the paper's filters", "ours, with presence"
FOUND = "subscriptions that match"
SHEETS = {
    "prefiltering": ("tests", "times", "sealed"),
    "sizes": ("rates", "wire", "same-size"),
    "workload": ("equalities", "targets", "batches"),
}
"""Figures that are also drawn side by side."""


def study(figures: tuple[Figure, ...], scale: Scale, setup: Setup) -> Study:
    """What runs and draws these figures."""
    made = Study.of(figures, EXPERIMENTS, scale, setup, SHEETS)
    timed = any(EXPERIMENTS[line.experiment].timed for one in figures for line in one.lines)
    return replace(made, notes=(CLOCKS,)) if timed else made


def all_figures(conditions: Conditions) -> tuple[Figure, ...]:
    """All figures, in the order in which they are shown."""
    size = f"{conditions.subscriptions:,} subscriptions"
    return (
        Figure("tests", "encrypted tests left", SUBSCRIPTIONS, TESTS, _tests("tests"), log_y=True),
        *_times(),
        *_sizes(),
        Figure(
            "equalities",
            f"share of equalities, {size}",
            "share of predicates that are equalities",
            TESTS,
            _tests("equalities"),
            log_x=False,
            log_y=True,
            headroom=30,
        ),
        *_targets(size),
    )


def figures_named(wanted: tuple[str, ...], conditions: Conditions) -> tuple[Figure, ...]:
    """The figures of these names; all of them if no name is given."""
    return named(all_figures(conditions), wanted)


def _tests(experiment: str) -> tuple[Line, ...]:
    ways = ((NONE, "none"), (PAPER, "paper"), (OURS, "ours"), (FOUND, "matches"))
    return tuple(Line(label, experiment, "", name) for label, name in ways)


def _times() -> tuple[Figure, ...]:
    ways = (
        ("all filters in turn", "scan"),
        ("the paper's lists, its filters", "paper"),
        ("the paper's lists, 2 hashes", "sparse"),
        ("ours", "ours"),
    )
    lines = tuple(Line(label, "times", "", name) for label, name in ways)
    sealed = (
        Line("aspe, no prefilter", "aspe", "", "none"),
        Line("aspe, the paper's lists", "aspe", "", "paper"),
        Line("aspe, ours", "aspe", "", "ours"),
        Line("tokens, ours", "tokens", "", "ours"),
        Line("plain events, Matcher", "tokens", "", "plain"),
    )
    compared = tuple(
        Line(label, "times", "", f"{name}_compared") for label, name in ways if name != "scan"
    )
    return (
        Figure("times", "prefiltering, one core", SUBSCRIPTIONS, MICROSECONDS, lines, log_y=True),
        Figure("compared", "filters compared", SUBSCRIPTIONS, COMPARED, compared, log_y=True),
        Figure(
            "sealed",
            "matching, one core",
            SUBSCRIPTIONS,
            MICROSECONDS,
            sealed,
            log_y=True,
            headroom=30,
        ),
    )


def _sizes() -> tuple[Figure, ...]:
    rate = "false-positive rate"
    hashes = ((BEST, "best number of hashes"), ("2", "2 hashes"))
    rates = tuple(
        Line(f"{label}, {kind}", "bits", setting, measure)
        for setting, label in hashes
        for kind, measure in (("counted", "rate"), ("formula", "formula"))
    )
    wire = (
        Line("plain", "bits", BEST, "plain"),
        *(Line(f"compressed, {label}", "bits", setting, "compressed") for setting, label in hashes),
        Line("compressed, 1 hash", "bits", "1", "compressed"),
    )
    same = (
        Line("plain", "wire", "", "plain"),
        Line("plain, formula", "wire", "", "plain_formula"),
        Line("compressed, up to 4 × the bits", "wire", "", "moderate"),
        Line("compressed, up to 32 × the bits", "wire", "", "compressed"),
    )
    bits, title = "bits of the filter", "filters of the same size on the wire"
    return (
        Figure("rates", "values that seem to be there", bits, rate, rates, False, True),
        Figure("wire", "an event's filter on the wire", bits, "bytes", wire, False),
        Figure("same-size", title, "bytes on the wire", rate, same, False, True),
    )


def _targets(size: str) -> tuple[Figure, ...]:
    ways = ((PAPER, "paper"), (OURS, "ours"), (FOUND, "matches"))
    lines = tuple(Line(label, "targets", "", name) for label, name in ways)
    batches = (
        Line("the paper's lists, our filters", "batches", "", "paper_ours"),
        Line("ours", "batches", "", "ours"),
    )
    target = "false-positive rate that filters are made for"
    return (
        Figure("targets", f"rate, {size}", target, TESTS, lines, log_y=True, headroom=5),
        Figure("batches", f"events at a time, {size}", "events", MICROSECONDS, batches, log_y=True),
    )
