"""Files with keys: those with secrets are open to their owner alone, from their first moment on.

A secret file is made with mode 0600, whatever the umask, and is not read while others may read it.
Every file is written under a hidden name beside it and gets its own when it is whole, so that a
kill leaves the old one or the new one; what a killed process left is removed by the next write. A
change of a file (read, change, write) holds its lock, so that two changes at once do not lose one.
A link stays a link: the file that it leads to is locked and replaced. Errors name the file, never
what is in it.
"""

from __future__ import annotations

import fcntl
import glob
import json
import os
import stat
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from caddis.errors import KeyFileError, SealedError

Thing = TypeVar("Thing")

OWNER_ONLY = 0o600
OTHERS = stat.S_IRWXG | stat.S_IRWXO
MOST_BYTES = 256 << 20
UNFINISHED = ".new"


def read_secret(path: Path, made: Callable[[object], Thing]) -> Thing:
    """What `made` makes of the JSON in a file that only its owner can read."""
    return _read(path, made, secret=True)


def read_public(path: Path, made: Callable[[object], Thing]) -> Thing:
    """What `made` makes of the JSON in a file."""
    return _read(path, made, secret=False)


def write_secret(path: Path, plain: Mapping[str, object], *, replace: bool = False) -> None:
    """Write JSON into a file that only its owner can read; a new one, unless it may be replaced."""
    _write(path, plain, OWNER_ONLY, replace)


def write_public(path: Path, plain: Mapping[str, object], *, replace: bool = False) -> None:
    """Write JSON into a file that everybody may read, as far as the umask lets them."""
    _write(path, plain, None, replace)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Be the only one who changes a file; another one waits until this is done."""
    path = real_path(path)
    lock = path.with_name(path.name + ".lock")
    try:
        number = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, OWNER_ONLY)
    except OSError as problem:
        raise KeyFileError(f"{lock}: {problem.strerror}") from None
    try:
        fcntl.flock(number, fcntl.LOCK_EX)
        yield
    finally:
        os.close(number)


def real_path(path: Path) -> Path:
    """Where links lead to in the end, whether there is a file or not."""
    return Path(os.path.realpath(path))


def _read(path: Path, made: Callable[[object], Thing], *, secret: bool) -> Thing:
    plain = _parsed(path, _content(path, secret))
    try:
        return made(plain)
    except SealedError as problem:
        raise KeyFileError(f"{path}: {problem}") from None


def _content(path: Path, secret: bool) -> bytes:
    try:
        number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise KeyFileError(f"{path}: there is no such file") from None
    except OSError as problem:
        raise KeyFileError(f"{path}: {problem.strerror}") from None
    try:
        _check_status(path, os.fstat(number), secret)
    except KeyFileError:
        os.close(number)
        raise
    with os.fdopen(number, "rb") as file:
        return file.read()


def _check_status(path: Path, status: os.stat_result, secret: bool) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise KeyFileError(f"{path} is no file")
    if secret and status.st_mode & OTHERS:
        raise KeyFileError(
            f"{path}: others than its owner can read or change it; if nobody did, close it "
            f"with: chmod 600 {path}"
        )
    if status.st_size > MOST_BYTES:
        raise KeyFileError(f"{path} is too large for a file with keys")


def _parsed(path: Path, content: bytes) -> object:
    """The JSON of a file. The parser's own error holds the text, so it is let go of."""
    with suppress(ValueError, RecursionError):
        plain: object = json.loads(content)
        return plain
    raise KeyFileError(f"{path} is damaged, or no file with keys: it is no JSON")


def _write(path: Path, plain: Mapping[str, object], mode: int | None, replace: bool) -> None:
    content = json.dumps(plain, indent=1).encode() + b"\n"
    target = real_path(path) if replace else path
    beside = target.with_name(f".{target.name}.{os.getpid()}.{threading.get_ident()}{UNFINISHED}")
    try:
        _remove_leftovers(target)
        beside.unlink(missing_ok=True)
        _create(beside, content, mode)
        try:
            if replace:
                beside.replace(target)
            else:
                os.link(beside, target)
        finally:
            beside.unlink(missing_ok=True)
        _sync_folder(target.parent)
    except FileExistsError:
        raise KeyFileError(f"{path} exists already; it is not replaced") from None
    except OSError as problem:
        raise KeyFileError(f"{path}: {problem.strerror}") from None


def _remove_leftovers(path: Path) -> None:
    """Unfinished files of this name whose writers are dead."""
    for left in path.parent.glob(f".{glob.escape(path.name)}.*{UNFINISHED}"):
        process = left.name.removeprefix(f".{path.name}.").split(".")[0]
        if process.isascii() and process.isdigit() and not _is_alive(int(process)):
            left.unlink(missing_ok=True)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    return True


def _create(path: Path, content: bytes, mode: int | None) -> None:
    """A new file that is closed to others before anything is in it; none, if that fails."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    number = os.open(path, flags, 0o666 if mode is None else mode)
    try:
        with os.fdopen(number, "wb") as file:
            if mode is not None:
                os.fchmod(number, mode)
            file.write(content)
            file.flush()
            os.fsync(number)
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def _sync_folder(folder: Path) -> None:
    number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
