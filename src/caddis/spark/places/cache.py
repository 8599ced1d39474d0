"""Archives from elsewhere, each downloaded once a machine and kept unpacked in a bounded folder.

    <digest>/          an unpacked archive, named by the SHA-256 of the archive: never changed
    <digest>.lock      held together by those who use it, and alone by who downloads or removes it
    <digest>.part-*    what is being downloaded or removed; of a process that was killed, a leftover

A folder appears under its name by one rename, when its archive has arrived whole and its digest was
right, and it disappears by one, so it is never there in part. Of several workers of a machine one
downloads, and the others wait. When the folders take more than the limit, those that nobody uses
are removed, beginning with the one that was asked for longest ago; a process holds on to the last
ones that it asked for. Whatever else is in the folder is left alone.

CADDIS_INDEX_CACHE names another folder than the default, and CADDIS_INDEX_CACHE_GB another limit
than 20 GB.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import tempfile
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from caddis.errors import EnvironmentProblem, IndexFolderError
from caddis.spark.places.packing import digest_of, unpack

FOLDER, LIMIT = "CADDIS_INDEX_CACHE", "CADDIS_INDEX_CACHE_GB"
DEFAULT_GB = 20.0
HELD = 64
"""A process holds on to this many: more than a store has segments."""
_OWNER_ONLY = 0o700
_PART = ".part-"
_DIGEST = re.compile(r"[0-9a-f]{64}")


class LocalCache:
    """A folder of unpacked archives.

    most_bytes: what they may take together, but for those in use.
    """

    def __init__(self, root: Path, most_bytes: int) -> None:
        self.root, self._most_bytes = root, most_bytes
        self._held: OrderedDict[str, int] = OrderedDict()
        try:
            root.mkdir(_OWNER_ONLY, parents=True, exist_ok=True)
        except OSError as problem:
            raise EnvironmentProblem(
                f"{root} cannot be made ({problem.strerror}); name another folder with {FOLDER}"
            ) from None
        # Of a link, too: another user could lead us by it into a folder of our own.
        if root.stat().st_uid != os.geteuid() or root.lstat().st_uid not in (0, os.geteuid()):
            raise EnvironmentProblem(f"{root} is another user's; name another folder with {FOLDER}")

    def fetch(self, digest: str, name: str, download: Callable[[Path], None]) -> Path:
        """The folder of an unpacked archive, downloaded if no worker of this machine has it.

        digest: the archive's SHA-256 in hexadecimal.
        name: what messages call the archive.
        download: writes the archive to a file.
        """
        folder = self.root / digest
        if digest in self._held:
            self._held.move_to_end(digest)
            return folder
        while True:
            lock = self._lock(digest, fcntl.LOCK_SH)
            if folder.is_dir():
                break
            os.close(lock)
            with self._alone(digest):
                if not folder.is_dir():
                    self._fill(folder, name, download)
        os.utime(folder)
        self._hold(digest, lock)
        self._evict()
        return folder

    def _fill(self, folder: Path, name: str, download: Callable[[Path], None]) -> None:
        draft = self._part_of(folder.name)
        try:
            download(draft / "archive")
            found = digest_of(draft / "archive")
            if found != folder.name:
                raise IndexFolderError(
                    f"{name} is damaged: its SHA-256 is {found}, and not {folder.name}"
                )
            unpack(draft / "archive", draft / "content")
            (draft / "content").rename(folder)
        except FileNotFoundError:
            raise IndexFolderError(
                f"{name} is gone: it was deleted since its address was read"
            ) from None
        except OSError as problem:
            raise IndexFolderError(
                f"{name} cannot be kept in {self.root}: {problem.strerror or problem}; {FOLDER} "
                "names another folder"
            ) from None
        finally:
            shutil.rmtree(draft)

    def _part_of(self, digest: str) -> Path:
        return Path(tempfile.mkdtemp(prefix=f"{digest}{_PART}", dir=self.root))

    def _hold(self, digest: str, lock: int) -> None:
        if digest in self._held:  # another thread was quicker
            os.close(self._held.pop(digest))
        self._held[digest] = lock
        while len(self._held) > HELD:
            os.close(self._held.popitem(last=False)[1])

    def release(self) -> None:
        """Let go of all archives; what has been mapped from them stays readable."""
        while self._held:
            os.close(self._held.popitem()[1])

    def _evict(self) -> None:
        self._remove_leftovers()
        folders = [one for one in self.root.iterdir() if _DIGEST.fullmatch(one.name)]
        sizes = {one: _size(one) for one in folders}
        excess = sum(sizes.values()) - self._most_bytes
        for folder in sorted(folders, key=_last_used):
            if excess <= 0:
                return
            with suppress(BlockingIOError), self._alone(folder.name, wait=False):
                if folder.is_dir():
                    part = folder.rename(self._part_of(folder.name))
                    shutil.rmtree(part, ignore_errors=True)
                (self.root / f"{folder.name}.lock").unlink()
                excess -= sizes[folder]

    def _remove_leftovers(self) -> None:
        """Remove what processes left behind that were killed; others hold a lock."""
        for part in self.root.glob(f"*{_PART}*"):
            digest = part.name.partition(_PART)[0]
            if not _DIGEST.fullmatch(digest):
                continue
            with suppress(BlockingIOError), self._alone(digest, wait=False):
                shutil.rmtree(part, ignore_errors=True)

    @contextmanager
    def _alone(self, digest: str, *, wait: bool = True) -> Iterator[None]:
        lock = self._lock(digest, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        try:
            yield
        finally:
            os.close(lock)

    def _lock(self, digest: str, how: int) -> int:
        """Lock an archive; a lock file that was removed meanwhile does not count."""
        path = self.root / f"{digest}.lock"
        while True:
            lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(lock, how)
            except BlockingIOError:
                os.close(lock)
                raise
            with suppress(FileNotFoundError):
                if os.path.samestat(path.stat(), os.fstat(lock)):
                    return lock
            os.close(lock)


@cache
def this_machines_cache() -> LocalCache:
    """The cache of this process's user on this machine."""
    named = os.environ.get(FOLDER)
    root = Path(named) if named else Path(tempfile.gettempdir()) / f"caddis-index-{os.geteuid()}"
    limit = os.environ.get(LIMIT, "")
    try:
        gigabytes = float(limit or DEFAULT_GB)
    except ValueError:
        raise EnvironmentProblem(f"{LIMIT} is {limit!r}; it is a number of gigabytes") from None
    return LocalCache(root.absolute(), int(gigabytes * 1e9))


def _size(folder: Path) -> int:
    size = 0
    with suppress(FileNotFoundError):  # another process is removing it
        for file in folder.rglob("*"):
            size += file.stat().st_size
    return size


def _last_used(folder: Path) -> float:
    try:
        return folder.stat().st_mtime
    except FileNotFoundError:  # another process has just removed it
        return 0.0
