"""Files that are replaced as a whole, and locks on them.

A file is written under a hidden name beside its own, synced, and renamed; then its folder is
synced. A kill or a power cut leaves the old file or the new one, never a mix. What a killed
process left behind is removed by the next write of the same file. Errors are the system's own:
callers explain to their users what could not be written.
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
    """Replace the file at `path`, or create it, with this content.

    A link stays a link: the file that it points to is replaced.

    mode: the file's permissions from the moment it exists; by default the umask decides.
    """
    target = Path(os.path.realpath(path))
    with _beside(target) as beside:
        _create(beside, content, mode)
        beside.replace(target)


def create_file(path: Path, content: bytes | str, *, mode: int | None = None) -> None:
    """Write a new file; if there is one already, leave it alone and raise FileExistsError."""
    with _beside(path) as beside:
        _create(beside, content, mode)
        os.link(beside, path)


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Yield a hidden name to write under; at the end, that file replaces the one at `path`.

    This is for content that is too large to be passed at once. Missing folders are created.
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
    """Let only one process at a time change a file or folder, with a lock file beside it.

    wait: whether to wait while another process has the lock; if not, raise BlockingIOError.
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
    """Yield a name in the target's folder that no other writer has; remove what is left there."""
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
