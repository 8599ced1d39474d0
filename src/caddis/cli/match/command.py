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

    Without `stream`, the existing files are matched once, and `once` and `checkpoint` are refused.
    """

    events: Annotated[Path, option("PATH", "A file of events, or a folder of such files.")]
    subscriptions: Annotated[
        str,
        option(
            "PATH",
            "A file with the columns subscription_id and where; or the folder or URI of a "
            "subscription store, whose changes a stream follows.",
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
            "Keep watching the folder of events for new files until Ctrl-C. If it is started again "
            "with the same --out, the stream continues where it stopped.",
            panel="Streams",
        ),
    ] = False
    once: Annotated[
        bool,
        flag(
            "--once",
            "With --stream: stop when all files that exist now have been matched.",
            panel="Streams",
        ),
    ] = False
    checkpoint: Annotated[
        Path | None,
        option(
            "FOLDER",
            "With --stream: where to record the stream's progress. \\[default: _checkpoint below "
            "--out]",
            panel="Streams",
        ),
    ] = None
    master: Master = "local[*]"
    index_dir: IndexDir = None

    @property
    def matches_format(self) -> FileFormat:
        """The format to write: --out-format, else what the name of --out says, else Parquet."""
        return self.out_format or named_format(self.out) or "parquet"


@app.command(name="match", epilog=EXAMPLES)
@fills(MatchOptions)
def command(options: MatchOptions) -> None:
    """Find the subscriptions that each event satisfies.

    Reads events from Parquet, JSON lines, CSV or Arrow files, and writes a folder
    with one row (event_id, subscription_id) for each match.
    """
    if not options.stream and (options.once or options.checkpoint):
        name = "--once" if options.once else "--checkpoint"
        raise typer.BadParameter("it needs --stream", param_hint=name)

    def work(job: Job) -> Result:
        from caddis.cli.match.matching import match_batch, match_stream

        return match_stream(options, job) if options.stream else match_batch(options, job)

    run(work, as_json=options.as_json)
