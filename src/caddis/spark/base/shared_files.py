"""Folders and small files that several workers add to: one at a time, and replaced as a whole."""

from __future__ import annotations

import atexit
import fcntl
import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path


def new_folder(parent: str | PathLike[str] | None) -> Path:
    """A folder of our own; below the system's temporary folder it goes with the process."""
    if parent is not None:
        Path(parent).mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="caddis-", dir=parent))
    if parent is None:
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


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
