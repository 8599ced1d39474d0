"""The two modes of `caddis match`: batch and stream.

A batch matches the files that exist, and its folder of matches appears only when it is complete. A
stream also matches files that arrive later. Ctrl-C stops it; started again with the same command,
it continues after the last micro-batch that was written completely.
"""

from __future__ import annotations

import logging
import shutil
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from caddis.cli.match.command import MatchOptions
from caddis.cli.match.preparing import MatchInputs, compile_match, look_at_events, read_inputs
from caddis.cli.match.summary import MatchSummary
from caddis.cli.shell import Job, ProblemList, needed_kernels, start_spark
from caddis.errors import EventError
from caddis.files import (
    CHECKPOINT,
    check_free,
    forget_checkpoint,
    naming_bad_lines,
    publish,
    staging_folder,
    write_invalid,
)

logger = logging.getLogger(__name__)

if TYPE_CHECKING:
    from caddis.cli.match.preparing import MatchCall
    from caddis.spark import Report
    from caddis.spark.base import StreamingQuery


def match_batch(options: MatchOptions, job: Job) -> MatchSummary:
    """Match all events that exist now."""
    summary = MatchSummary.begin(options)
    check_free(options.out, overwrite=options.overwrite)
    inputs = read_inputs(options, job)
    summary.subscriptions = len(inputs.subscriptions)
    staging = job.resources.enter_context(staging_folder(options.out))
    _match_into(staging, options, inputs, summary, job)
    publish(staging, options.out)
    return summary


def _match_into(
    staging: Path, options: MatchOptions, inputs: MatchInputs, summary: MatchSummary, job: Job
) -> None:
    """Write matches into the staging folder, together with lists of what went wrong."""
    kernels = needed_kernels(models=bool(inputs.models), policy=inputs.policy)
    spark = start_spark(options.master, options.timezone, job, kernels)
    from caddis.spark import match, match_files
    from caddis.spark.base import (
        RowCount,
        read_events,
        spark_failures,
        watching_tasks,
        write_matches,
    )

    matching: MatchCall
    events_seen, matches_seen = RowCount(), RowCount()
    with naming_bad_lines(options.events, inputs.format), spark_failures():
        if inputs.columnar:
            matching = partial(
                match_files,
                spark,
                options.events,
                format=inputs.columnar,
                schema=inputs.schema,
            )
        else:
            events = look_at_events(options, inputs, spark, read_events, job)
            matching = partial(match, events_seen.of(events))
        compiled = compile_match(options, inputs, matching, job)
        with job.screen.step("Matching") as step, watching_tasks(spark, step.show_tasks):
            write_matches(matches_seen.of(compiled.matches), staging, options.matches_format)
            summary.events = compiled.report.events if inputs.columnar else events_seen.rows
            step.done = f"{summary.events:,} events matched"
            summary.matching_seconds = step.seconds
    if compiled.invalid:
        write_invalid(staging, compiled.invalid)
    summary.matches = matches_seen.rows
    summary.invalid = len(compiled.invalid)
    summary.models = ProblemList(staging).update(compiled.report)


def match_stream(options: MatchOptions, job: Job) -> MatchSummary:
    """Match existing files and those that arrive later, until the stream is stopped."""
    summary = MatchSummary.begin(options)
    checkpoint = options.checkpoint or options.out / CHECKPOINT
    if not options.events.is_dir() and options.events.exists():
        raise EventError(f"{options.events} is a file; --stream needs a folder to watch")
    goes_on = checkpoint.exists() and not options.overwrite
    if not goes_on:
        check_free(options.out, overwrite=options.overwrite)
    inputs = read_inputs(options, job)
    summary.subscriptions = len(inputs.subscriptions)
    if options.overwrite:
        forget_checkpoint(checkpoint)
        shutil.rmtree(options.out, ignore_errors=True)
    if goes_on:
        job.screen.say("Continuing after the last micro-batch that was written.")
    _run_stream(options, inputs, checkpoint, summary, job)
    return summary


def _run_stream(
    options: MatchOptions, inputs: MatchInputs, checkpoint: Path, summary: MatchSummary, job: Job
) -> None:
    kernels = needed_kernels(models=bool(inputs.models), policy=inputs.policy)
    spark = start_spark(options.master, options.timezone, job, kernels)
    from caddis.spark import match
    from caddis.spark.base import counted, read_event_stream, spark_failures, stream_matches

    with naming_bad_lines(options.events, inputs.format), spark_failures():
        events = look_at_events(options, inputs, spark, read_event_stream, job)
        compiled = compile_match(options, inputs, partial(match, counted(events, "events")), job)
        summary.invalid = len(compiled.invalid)
        if compiled.invalid:
            write_invalid(options.out, compiled.invalid)
        query = stream_matches(
            counted(compiled.matches, "matches"),
            options.out,
            options.matches_format,
            checkpoint,
            once=options.once,
        )
        job.resources.callback(query.stop)
        job.so_far = lambda: summary
        if not options.once:
            job.screen.say("Press Ctrl-C to stop.")
        _follow(query, f"Watching {options.events}", summary, compiled.report, job)


def _follow(
    query: StreamingQuery, doing: str, summary: MatchSummary, report: Report, job: Job
) -> None:
    """Add every micro-batch to the summary when it has been written."""
    from caddis.spark.base import follow

    problems = ProblemList(summary.out)
    with job.screen.step(doing) as step:
        for batch in follow(query):
            summary.batches += 1
            summary.events += batch.events
            summary.matches += batch.matches
            summary.matching_seconds += batch.seconds
            summary.models = problems.update(report)
            logger.debug(
                "micro-batch %d: %d events, %d matches",
                summary.batches,
                batch.events,
                batch.matches,
            )
            step.update(f"{summary.events:,} events, {summary.matches:,} matches")
        step.done = f"{summary.events:,} events matched"
