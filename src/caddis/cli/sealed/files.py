"""What the verbs of `caddis sealed` read: sealed events, a broker's matches, a party's keys."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from caddis.errors import AccessError, EventError, KeyFileError
from caddis.files import data_files, existing, format_of, named_format, read_columns
from caddis.sealed.keys import KeyRing, Role

ROWS_AT_A_TIME = 8_192
"""Sealed events that are read and opened together."""

REASONS = {
    "TruncatedEvent": "cut short or damaged",
    "UnknownPublisher": "publisher not allowed",
    "WrongEpoch": "not of an accepted epoch",
    "TamperedEvent": "changed on its way",
    "ReplayedEvent": "seen before",
    "NotEntitled": "no key for it",
}


def refusal_rows(refused: dict[str, int]) -> list[tuple[str, str, str]]:
    """A summary's row for every reason to refuse events.

    refused: how many events were refused, by the name of the error.
    """
    return [(f"  {reason_of(kind)}", f"{number:,}", "") for kind, number in refused.items()]


def reason_of(kind: str) -> str:
    """Why events are refused, in words.

    kind: the name of the error that they are refused with.
    """
    return REASONS.get(kind, kind)


def sealed_event_files(path: Path) -> list[Path]:
    """The Parquet file, or all Parquet files in a folder."""
    files = data_files(existing(path, EventError))
    if not files:
        raise EventError(f"{path} is empty; there are no sealed events in it")
    other = next((file for file in files if named_format(file) != "parquet"), None)
    if other is not None:
        raise EventError(f"{other}: sealed events are Parquet files, and end in .parquet")
    return files


def check_id_types(files: list[Path]) -> None:
    """Raise if events have numbers for ids in some files and texts in others."""
    first: dict[str, Path] = {}
    for file in files:
        with _naming(file):
            schema = pq.read_schema(file)
        if "event_id" in schema.names:
            whole = pa.types.is_integer(schema.field("event_id").type)
            first.setdefault("numbers" if whole else "texts", file)
    if len(first) > 1:
        places = " and ".join(f"{kind} in {file}" for kind, file in first.items())
        raise EventError(f"ids of events are {places}; match these files in two runs")


def sealed_batches(path: Path) -> Iterator[pa.RecordBatch]:
    """The sealed events of a file or folder; an empty file gives a batch without rows."""
    for file in sealed_event_files(path):
        with _naming(file), pq.ParquetFile(file) as source:
            if not source.metadata.num_rows:
                yield pa.RecordBatch.from_pylist([], schema=source.schema_arrow)
            yield from source.iter_batches(batch_size=ROWS_AT_A_TIME)


@contextmanager
def _naming(file: Path) -> Iterator[None]:
    """Name the file that Arrow cannot read."""
    try:
        yield
    except pa.ArrowException as error:
        raise EventError(f"{file} cannot be read: {str(error).partition(chr(10))[0]}") from None


def matched_events(matches: Path, subscriptions: pa.Table) -> pa.Array:
    """The ids of the events that a broker found for some of these subscriptions.

    All ids are compared as texts: a broker that saw only the ids '7' and '8' writes numbers, while
    a subscriber whose other id is '007' has texts.
    """
    files = [file for file in data_files(existing(matches, EventError)) if file.stat().st_size]
    if not files:
        return pa.array([], pa.string())
    format_ = format_of(matches, EventError, option=None)
    found = read_columns(files, format_, ("event_id", "subscription_id"), EventError)
    events, owners = (column.cast(pa.string()) for column in found.columns)
    mine = pc.is_in(owners, subscriptions["subscription_id"].cast(pa.string()))
    return events.filter(mine).unique()


def read_ring(folder: Path, name: str, trusted: str | None) -> KeyRing:
    """The keys of a party, from the files that `caddis keys` wrote for it.

    trusted: the fingerprint of the only authority to trust; None for whoever signed the keys.
    """
    identity, issued = folder / f"{name}.identity.json", folder / f"{name}.keys.json"
    for file, verb in ((identity, "identity"), (issued, "issue")):
        if not file.exists():
            raise KeyFileError(
                f"{file}: there is no such file; caddis keys {verb} {name} writes it, and --keys "
                "names its folder"
            )
    return KeyRing.read(identity, issued, trusted)


def one_stream(ring: KeyRing, role: Role, named: str | None) -> str:
    """The stream that is named, or else the only one that the party has keys for."""
    streams = [stream for stream in ring.streams if ring.epochs(stream, role)]
    if named is not None or len(streams) == 1:
        return named or streams[0]
    if not streams:
        raise AccessError(
            f"{ring.name!r} is no {role} of any stream; ask the authority for a grant"
        )
    raise AccessError(
        f"{ring.name!r} has keys for several streams; choose one with --stream: "
        f"{', '.join(streams)}"
    )
