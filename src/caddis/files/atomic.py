"""Files that are replaced as a whole, and locks on them.

A file is written under a hidden name beside its own, synced, and renamed; then its folder is
synced. A kill or a power cut leaves the old file or the new one, never a mix. What a killed
process left behind is removed by the next write of the same file. Errors are the system's own:
callers say in their users' words what could not be written.
"""

from __future__ import annotations

import fcntl
import glob
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

UNFINISHED = ".new"
OWNER_ONLY = 0o600


def replace_file(path: Path, content: bytes | str, *, mode: int | None = None) -> None:
    """Put content where `path` leads to, in place of what was there.

    A link stays a link: the file that it leads to is replaced.

    mode: the file's permissions from its first moment on; by default those of the umask.
    """
    target = Path(os.path.realpath(path))
    with _beside(target) as beside:
        _create(beside, content, mode)
        beside.replace(target)


def create_file(path: Path, content: bytes | str, *, mode: int | None = None) -> None:
    """Put content into a new file; FileExistsError if there is one, which then stays as it is."""
    with _beside(path) as beside:
        _create(beside, content, mode)
        os.link(beside, path)


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """A hidden name to write under; when all is written, the file replaces the one at `path`.

    For what is too large to be handed over at once. Missing folders are made.
    """
    target = Path(os.path.realpath(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    with _beside(target) as beside:
        yield beside
        with beside.open("rb") as written:
            os.fsync(written.fileno())
        beside.replace(target)


@contextmanager
def locked(path: Path, *, wait: bool = True) -> Iterator[None]:
    """Be the only process that changes a file or folder, by a lock file beside it.

    wait: for another one to be done; otherwise BlockingIOError is raised while one has the lock.
    """
    real = Path(os.path.realpath(path))
    lock = real.with_name(f".{real.name}.lock")
    number = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, OWNER_ONLY)
    try:
        fcntl.flock(number, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(number)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder survive a power cut."""
    number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


@contextmanager
def _beside(target: Path) -> Iterator[Path]:
    """A name in the target's folder that no other writer has; what is left under it goes."""
    _remove_leftovers(target)
    beside = target.with_name(f".{target.name}.{os.getpid()}.{threading.get_ident()}{UNFINISHED}")
    beside.unlink(missing_ok=True)
    try:
        yield beside
    finally:
        beside.unlink(missing_ok=True)
    sync_folder(target.parent)


def _create(path: Path, content: bytes | str, mode: int | None) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    number = os.open(path, flags, 0o666 if mode is None else mode)
    with os.fdopen(number, "wb") as out:
        if mode is not None:
            os.fchmod(number, mode)  # os.open lets the umask take rights away
        out.write(content.encode() if isinstance(content, str) else content)
        out.flush()
        os.fsync(number)


def _remove_leftovers(path: Path) -> None:
    for left in path.parent.glob(f".{glob.escape(path.name)}.*{UNFINISHED}"):
        process = left.name.removeprefix(f".{path.name}.").split(".")[0]
        if process.isascii() and process.isdigit() and not _is_alive(int(process)):
            left.unlink(missing_ok=True)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):  # no process has so large a number
        return False
    except OSError:  # it is alive, and another user's
        return True
    return True
