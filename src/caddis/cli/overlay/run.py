"""Brokers at work, from the overlay file to the closing table."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from caddis.cli.overlay.order import OverlayOrder, PreparedOverlay, prepare_overlay
from caddis.cli.overlay.summary import OverlaySummary
from caddis.cli.shell import Job, count, debugging, require_java, start_spark
from caddis.files import naming_bad_lines

if TYPE_CHECKING:
    from caddis.spark.overlay import RunningOverlay


def read_overlay(order: OverlayOrder, job: Job) -> PreparedOverlay:
    """The overlay file and all that it names."""
    with job.screen.step("Reading the overlay") as step:
        prepared = prepare_overlay(order)
        people = sum(map(len, prepared.subscriptions.values()))
        brokers = count(len(prepared.overlay.brokers), "broker")
        step.done = f"{brokers} and {count(people, 'subscription')} read"
    return prepared


def run_brokers(
    prepared: PreparedOverlay, names: Sequence[str], once: bool, job: Job
) -> OverlaySummary:
    """Run some brokers until they are stopped; or, if `once`, until nothing is left to do."""
    order = prepared.order
    brokers = [prepared.broker_settings(name) for name in names]
    require_java()
    from caddis.spark.overlay import OverlayFolder, RunningOverlay

    overlay = RunningOverlay(brokers, prepared.event_settings(), OverlayFolder(order.folder))
    with job.screen.step("Passing on who publishes and who subscribes") as step:
        job.resources.enter_context(overlay)
        settled = overlay.settle()
        step.done = "All brokers know who wants what" if settled else "Waiting for other brokers"
    summary = OverlaySummary(order.folder, prepared.policy, time.monotonic())
    summary.update(overlay.reports())
    job.so_far = lambda: summary
    _run(prepared, names, overlay, once, summary, job)
    return summary


def _run(
    prepared: PreparedOverlay,
    names: Sequence[str],
    overlay: RunningOverlay,
    once: bool,
    summary: OverlaySummary,
    job: Job,
) -> None:
    order = prepared.order
    spark = start_spark(order.master, order.timezone, job)
    job.resources.callback(overlay.stop)
    if not once:
        job.screen.say("Ctrl-C ends it.")
    if not debugging():
        # It would show a traceback of its own for an error that is told in one sentence.
        logging.getLogger("py4j").setLevel(logging.CRITICAL)
    from caddis.spark.base import spark_failures

    with ExitStack() as naming:
        for broker in map(prepared.entry, names):
            if broker.publishes is not None:
                format_ = prepared.formats[broker.name]
                naming.enter_context(naming_bad_lines(broker.publishes, format_))
        naming.enter_context(spark_failures())
        told: dict[str, int] = {}
        with job.screen.step("Routing events") as step:
            for reports in overlay.until_quiet(spark) if once else overlay.watch(spark):
                summary.update(reports)
                step.update(summary.in_words())
                _say_refusals(summary, told, job)
            step.done = f"{count(summary.total('notified'), 'notification')} made"


def _say_refusals(summary: OverlaySummary, told: dict[str, int], job: Job) -> None:
    """Tell of control messages that could not be used, each once.

    told: of how many, by broker.
    """
    for report in summary.reports:
        for one in report.refusals[told.get(report.name, 0) :]:
            sender = repr(one.sender) if one.sender else "a client"
            job.screen.say(f"broker {report.name!r} passed over what {sender} said: {one.reason}")
        told[report.name] = len(report.refusals)
