"""Small files that several workers add to: one at a time, and replaced as a whole."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """Only one process at a time has a file's contents to itself."""
    with file.with_name(f".{file.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def replace_json(path: Path, plain: object) -> None:
    """Write plain values in place of what was there."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    unfinished.write_text(json.dumps(plain))
    unfinished.replace(path)


def lines_of(path: Path) -> list[str]:
    """The lines of a file; none if it is not there yet."""
    return path.read_text().splitlines() if path.exists() else []


def append_lines(path: Path, plain: Iterable[object], most: int) -> None:
    """Add plain values, a line each, until the file has so many lines."""
    room = max(0, most - len(lines_of(path)))
    with path.open("a") as lines:
        for _, one in zip(range(room), plain, strict=False):
            lines.write(json.dumps(one, default=str) + "\n")
