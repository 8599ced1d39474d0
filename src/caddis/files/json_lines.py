"""Which line of a JSON lines file is not JSON. Spark says only that one is not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from caddis.errors import EventError
from caddis.files.paths import COMPRESSED, FileFormat, data_files


@contextmanager
def naming_bad_lines(path: Path, format_: FileFormat) -> Iterator[None]:
    """If reading the events fails, and it is because of a line, name it."""
    try:
        yield
    except EventError as error:
        bad = first_bad_line(path) if format_ == "jsonl" else None
        if bad is None:
            raise
        raise EventError(bad) from error


def first_bad_line(path: Path) -> str | None:
    """What is wrong with the first line that is not JSON, if there is one."""
    for file in data_files(path):
        if file.suffix in COMPRESSED:
            continue
        with file.open(errors="replace") as lines:
            for number, line in enumerate(lines, 1):
                try:
                    json.loads(line.strip() or "null")
                except json.JSONDecodeError as error:
                    return f"{file}, line {number} is not JSON: {error.msg}, column {error.colno}"
    return None
