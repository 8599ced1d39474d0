"""The options of `caddis match`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from caddis.cli.shell import (
    AsJson,
    EventKey,
    EventsFormat,
    IndexDir,
    Job,
    Master,
    MatchesFolder,
    MatchesFormat,
    Models,
    OnError,
    OnInvalid,
    Overwrite,
    Policy,
    Result,
    Schema,
    Statistics,
    Timezone,
    examples,
    fills,
    flag,
    option,
    run,
)
from caddis.files import FileFormat, named_format

EXAMPLES = examples(
    "match --events offers.parquet --subscriptions subs.csv --out out",
    "match --events offers/ --subscriptions subs.jsonl --out out.csv",
    "match --stream --events inbox/ --subscriptions store/ --out out",
    "match --events e.csv --subscriptions s.csv --out out --models m.py",
)
app = typer.Typer()


@dataclass(frozen=True, slots=True)
class MatchOptions:
    """What to match, where to write the matches, and how.

    Without `stream` the files that are there are matched once, and `once` and `checkpoint` are
    refused.
    """

    events: Annotated[Path, option("PATH", "A file of events, or a folder of such files.")]
    subscriptions: Annotated[
        Path,
        option(
            "PATH",
            "A file with the columns subscription_id and where; or a subscription store, whose "
            "changes a stream follows.",
        ),
    ]
    out: MatchesFolder
    format: EventsFormat = None
    out_format: MatchesFormat = None
    schema: Schema = None
    event_key: EventKey = "event_id"
    on_invalid: OnInvalid = "raise"
    overwrite: Overwrite = False
    timezone: Timezone = "UTC"
    as_json: AsJson = False
    models: Models = None
    policy: Policy = None
    on_error: OnError = "unknown"
    statistics: Statistics = None
    stream: Annotated[
        bool,
        flag(
            "--stream",
            "Keep watching the folder of events for new files, until Ctrl-C. Started again with "
            "the same --out, the stream goes on where it ended.",
            panel="Streams",
        ),
    ] = False
    once: Annotated[
        bool,
        flag(
            "--once",
            "With --stream: end when the files that are there have been matched.",
            panel="Streams",
        ),
    ] = False
    checkpoint: Annotated[
        Path | None,
        option(
            "FOLDER",
            "With --stream: where to keep how far the stream is. By default, below --out.",
            panel="Streams",
        ),
    ] = None
    master: Master = "local[*]"
    index_dir: IndexDir = None

    @property
    def matches_format(self) -> FileFormat:
        """The format to write: as asked for, else as --out is named, else Parquet."""
        return self.out_format or named_format(self.out) or "parquet"


@app.command(name="match", epilog=EXAMPLES)
@fills(MatchOptions)
def command(options: MatchOptions) -> None:
    """Find, for every event, the subscriptions that it satisfies.

    Reads events from Parquet, JSON lines or CSV files, and writes a folder of
    rows (event_id, subscription_id), one for each match.
    """
    if not options.stream and (options.once or options.checkpoint):
        name = "--once" if options.once else "--checkpoint"
        raise typer.BadParameter("it is only for --stream", param_hint=name)

    def work(job: Job) -> Result:
        from caddis.cli.match.matching import match_batch, match_stream

        return match_stream(options, job) if options.stream else match_batch(options, job)

    run(work, as_json=options.as_json)
