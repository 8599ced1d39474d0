"""What the verbs of `caddis overlay` do: their options in, a summary out."""

from __future__ import annotations

import logging
import os
import re
import time
from collections.abc import Sequence
from contextlib import ExitStack

from caddis.cli.overlay.command import (
    BrokerOptions,
    RunOptions,
    SubscribeOptions,
    UnsubscribeOptions,
)
from caddis.cli.overlay.preparing import PreparedOverlay, prepare_overlay
from caddis.cli.overlay.summary import ClientSummary, OverlaySummary
from caddis.cli.shell import Job, count, debugging, require_java, start_spark
from caddis.errors import OverlayError
from caddis.files import FileFormat, naming_bad_lines
from caddis.overlay import Subscribe, Unsubscribe
from caddis.spark.base import spark_failures
from caddis.spark.overlay import (
    EVERYTHING,
    BrokerSettings,
    EventSettings,
    Log,
    OverlayFolder,
    RunningOverlay,
    subscribed,
    to_record,
)

LISTED = 10
"""How many subscriptions an error lists."""


def subscribe(options: SubscribeOptions) -> ClientSummary:
    """Ask a broker for events: a record in its clients' log."""
    prepared = prepare_overlay(options)
    log = _clients(prepared, options.broker)
    prepared.check({options.subscription_id: options.where})
    log.append([to_record(Subscribe(options.subscription_id, options.where))])
    return ClientSummary(options.broker, options.subscription_id, options.where)


def unsubscribe(options: UnsubscribeOptions) -> ClientSummary:
    """Cancel a subscription: another record in the clients' log."""
    log = _clients(prepare_overlay(options), options.broker)
    ids = list(subscribed(log))
    if options.subscription_id not in ids:
        names = ", ".join(map(repr, ids[:LISTED])) or "none"
        more = ", ..." if len(ids) > LISTED else ""
        raise OverlayError(
            f"broker {options.broker!r} has no subscription {options.subscription_id!r}; "
            f"there are: {names}{more}"
        )
    log.append([to_record(Unsubscribe(options.subscription_id))])
    return ClientSummary(options.broker, options.subscription_id, None)


def _clients(prepared: PreparedOverlay, broker: str) -> Log:
    prepared.entry(broker)
    options = prepared.options
    folder = OverlayFolder(options.folder)
    folder.prepare(prepared.schema, options.event_key, options.timezone, prepared.policy)
    return folder.clients(broker)


def run_all(options: RunOptions, job: Job) -> OverlaySummary:
    """Run all brokers of a file."""
    prepared = read_overlay(options, job)
    return run_brokers(prepared, prepared.names, options, job)


def run_one(options: BrokerOptions, job: Job) -> OverlaySummary:
    """Run one broker of a file."""
    return run_brokers(read_overlay(options, job), [options.broker], options, job)


def read_overlay(options: RunOptions, job: Job) -> PreparedOverlay:
    """Read the overlay file, and show that it is being read."""
    with job.screen.step("Reading the overlay") as step:
        prepared = prepare_overlay(options, options.policy)
        subscriptions = sum(map(len, prepared.subscriptions.values()))
        brokers = count(len(prepared.names), "broker")
        step.done = f"{brokers} and {count(subscriptions, 'subscription')} read"
    return prepared


def run_brokers(
    prepared: PreparedOverlay, names: Sequence[str], options: RunOptions, job: Job
) -> OverlaySummary:
    """Run some brokers until they are stopped or, with --once, until no event is left."""
    formats = prepared.formats(options.format)
    brokers = [_broker_settings(prepared, name, formats) for name in names]
    require_java()
    overlay = RunningOverlay(
        brokers, _event_settings(prepared, options), OverlayFolder(options.folder)
    )
    with job.screen.step("Passing on who publishes and who subscribes") as step:
        job.resources.enter_context(overlay)
        settled = overlay.settle()
        step.done = "All brokers know who wants what" if settled else "Waiting for other brokers"
    summary = OverlaySummary(options.folder, prepared.policy, time.monotonic())
    summary.update(overlay.reports())
    job.so_far = lambda: summary
    with ExitStack() as naming:
        for broker in brokers:
            if broker.publishes is not None:
                naming.enter_context(naming_bad_lines(broker.publishes, broker.format))
        _route(overlay, options, summary, job)
    return summary


def _route(overlay: RunningOverlay, options: RunOptions, summary: OverlaySummary, job: Job) -> None:
    spark = start_spark(options.master, options.timezone, job)
    job.resources.callback(overlay.stop)
    if not options.once:
        job.screen.say("Ctrl-C stops the brokers.")
    if not debugging():
        # py4j would log a traceback for an error that the command states in one sentence.
        logging.getLogger("py4j").setLevel(logging.CRITICAL)
    shown: dict[str, int] = {}
    with spark_failures(), job.screen.step("Routing events") as step:
        for reports in overlay.until_quiet(spark) if options.once else overlay.watch(spark):
            summary.update(reports)
            step.update(summary.in_words())
            show_refusals(summary, shown, job)
        step.done = f"{count(summary.total('notified'), 'notification')} made"


def show_refusals(summary: OverlaySummary, shown: dict[str, int], job: Job) -> None:
    """Show every control message that could not be used, once.

    shown: how many of each broker have been shown; it is updated.
    """
    for report in summary.reports:
        for one in report.refusals[shown.get(report.name, 0) :]:
            sender = repr(one.sender) if one.sender else "a client"
            job.screen.say(f"broker {report.name!r} skipped a message from {sender}: {one.reason}")
        shown[report.name] = len(report.refusals)


def _broker_settings(
    prepared: PreparedOverlay, name: str, formats: dict[str, FileFormat]
) -> BrokerSettings:
    broker = prepared.entry(name)
    return BrokerSettings(
        name,
        prepared.overlay.topology.neighbours(name),
        prepared.subscriptions[name],
        broker.publishes,
        formats.get(name, "parquet"),
        broker.advertises or EVERYTHING,
    )


def _event_settings(prepared: PreparedOverlay, options: RunOptions) -> EventSettings:
    return EventSettings(
        prepared.schema,
        prepared.models,
        event_key=options.event_key,
        timezone=options.timezone,
        policy=prepared.policy,
        on_error=options.on_error,
        tasks=options.tasks or cores(options.master),
    )


def cores(master: str) -> int:
    """How many tasks run at once, as far as the master's URL tells.

    >>> cores("local[3]"), cores("local")
    (3, 1)
    """
    local = re.fullmatch(r"local(?:\[(\d+)(?:,\d+)?\])?", master)
    if local:
        return int(local[1] or 1)
    return os.cpu_count() or 1
