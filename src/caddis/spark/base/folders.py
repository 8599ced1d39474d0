"""Folders that a driver and its workers share.

`VersionFolder` keeps versions of a set of subscriptions, with one pointer to the current one:

    store/
      store.json            format, time zone
      events.schema         the Arrow schema of the events
      FOUNDED               empty; its time tells the store from a later one in the same place
      CURRENT               the name of the current version: one line, replaced atomically
      versions/00000012/    manifest.json: segments, oldest first; *.removed.npy: their dead links
      segments/00000007/    a compiled Matcher, and subscriptions.arrow: its ids and WHERE texts

Nothing is ever changed in place: a reader sees the old version or the new one, never a mix. What
no kept version mentions is deleted; a reader that has mapped it can go on reading.

The functions at the end are for small files that several workers add to.
"""

from __future__ import annotations

import atexit
import json
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Protocol

import numpy as np

from caddis.arrays import Int32s
from caddis.errors import IndexFolderError
from caddis.files import locked, replace_file

TEXTS = "subscriptions.arrow"
"""The ids and WHERE texts of a segment, which only a change of the store needs."""
FOUNDED = "FOUNDED"
KEPT_VERSIONS = 32
"""A batch job reads the version that it was planned with, until this many newer ones exist."""


@dataclass(frozen=True, slots=True)
class Version:
    """The names of segments, oldest first, and the numbers of their dead links."""

    name: str
    segments: tuple[str, ...]
    removed: dict[str, Int32s]


class Overtaken(Exception):
    """Somebody else has published a version since the one that a change began with."""


class Versions(Protocol):
    """A place that versions live in."""

    @property
    def address(self) -> str:
        """The path or URI by which workers find it."""

    @property
    def exists(self) -> bool:
        """Whether there is a store."""

    @property
    def founded(self) -> int | None:
        """When the store was founded, in any unit; None if that takes long to find out."""

    @property
    def current_name(self) -> str:
        """The name of the current version."""

    @property
    def followed_name(self) -> str:
        """The name of the version that a worker which follows the place should use."""

    def current(self) -> Version:
        """The current version."""

    def version(self, name: str) -> Version:
        """A version by its name."""

    def read(self, name: str) -> bytes:
        """A small file of the store; raises OSError if there is none."""

    def found(self, files: Mapping[str, bytes]) -> None:
        """Begin a store with these small files and no segments."""

    def replace(self, base: Version, files: Mapping[str, bytes]) -> None:
        """Replace some of the small files; raises Overtaken."""

    def publish(
        self, segments: tuple[str, ...], removed: dict[str, Int32s], base: Version
    ) -> Version:
        """Publish a version that was made from `base`; raises Overtaken."""

    def add_segment(self, write: Callable[[Path], None]) -> str:
        """Add what `write` writes into a new folder as a segment; returns its name."""

    def discard(self, segment: str) -> None:
        """Delete a segment that was added and will not be published."""

    def segment(self, name: str) -> Path:
        """The folder of a segment's matcher, on this machine."""

    def texts(self, name: str) -> Path:
        """The file of a segment's ids and WHERE texts, on this machine."""

    def writing(self) -> AbstractContextManager[None]:
        """Let this process change the store."""


class VersionFolder:
    """Reads and publishes versions; knows nothing of what a segment holds."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def __repr__(self) -> str:
        return str(self.root)

    @property
    def address(self) -> str:
        """The path by which workers find it."""
        return str(self.root)

    @property
    def exists(self) -> bool:
        """Whether there is a store."""
        return (self.root / "CURRENT").exists()

    @property
    def founded(self) -> int | None:
        """When the store was founded, in nanoseconds; None if it is gone."""
        try:
            return (self.root / FOUNDED).stat().st_mtime_ns
        except FileNotFoundError:
            return None

    @property
    def followed_name(self) -> str:
        """The name of the current version: looking costs nothing."""
        return self.current_name

    def read(self, name: str) -> bytes:
        """A small file of the store."""
        return (self.root / name).read_bytes()

    def found(self, files: Mapping[str, bytes]) -> None:
        """Begin a store with these small files and no segments."""
        with _naming(self.root):
            (self.root / "segments").mkdir(parents=True)
        for name, content in files.items():
            (self.root / name).write_bytes(content)
        (self.root / FOUNDED).touch()
        self.publish((), {})

    def replace(self, base: Version, files: Mapping[str, bytes]) -> None:  # noqa: ARG002
        """Replace some of the small files."""
        for name, content in files.items():
            replace_file(self.root / name, content)

    def add_segment(self, write: Callable[[Path], None]) -> str:
        """Let `write` write a new segment; returns its name."""
        name = self.new_segment()
        write(self.segment(name))
        return name

    def discard(self, segment: str) -> None:
        """Delete a segment that will not be published."""
        shutil.rmtree(self.segment(segment))

    def texts(self, name: str) -> Path:
        """The file of a segment's ids and WHERE texts."""
        return self.segment(name) / TEXTS

    @property
    def current_name(self) -> str:
        """The name of the current version."""
        try:
            return (self.root / "CURRENT").read_text().strip()
        except FileNotFoundError:
            raise IndexFolderError(
                f"{self.root} is not a subscription store, or this machine cannot see it: the "
                "driver and every worker must be able to read it"
            ) from None

    def current(self) -> Version:
        """The current version; if it is replaced and deleted meanwhile, the next one."""
        name = self.current_name
        try:
            return self.version(name)
        except IndexFolderError:
            if self.current_name == name:
                raise
            return self.current()

    def version(self, name: str) -> Version:
        """A version by its name."""
        try:
            return self._read(name)
        except FileNotFoundError:
            gone = f"is gone; only the last {KEPT_VERSIONS} are kept"
            if self.current_name == name:
                gone = "is damaged: it is the current one, and a part of it is missing"
            raise IndexFolderError(f"{self.root}: version {name} {gone}") from None
        except (ValueError, KeyError, TypeError) as problem:
            raise IndexFolderError(f"{self.root}: version {name} is damaged: {problem}") from None

    def publish(
        self,
        segments: tuple[str, ...],
        removed: dict[str, Int32s],
        base: Version | None = None,  # noqa: ARG002
    ) -> Version:
        """Write a new version and point to it; nobody is overtaken under the lock of `writing`."""
        version = Version(f"{self._last_number('versions') + 1:08}", segments, removed)
        draft = self.root / "versions" / "draft"
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(parents=True)
        for segment, links in removed.items():
            np.save(draft / f"{segment}.removed.npy", links)
        manifest = {"segments": segments, "removed": list(removed)}
        (draft / "manifest.json").write_text(json.dumps(manifest))
        draft.rename(draft.with_name(version.name))
        replace_file(self.root / "CURRENT", f"{version.name}\n")
        self._delete_unused()
        return version

    def segment(self, name: str) -> Path:
        """The folder of a segment."""
        return self.root / "segments" / name

    def new_segment(self) -> str:
        """A name that no segment has had."""
        return f"{self._last_number('segments') + 1:08}"

    def writing(self) -> AbstractContextManager[None]:
        """Let only one process write at a time; the others wait."""
        return locked(self.root / "CURRENT")

    def _read(self, name: str) -> Version:
        folder = self.root / "versions" / name
        manifest = json.loads((folder / "manifest.json").read_text())
        removed = {one: np.load(folder / f"{one}.removed.npy") for one in manifest["removed"]}
        return Version(name, tuple(manifest["segments"]), removed)

    def _numbered(self, kind: str) -> list[Path]:
        folder = self.root / kind
        return (
            sorted(one for one in folder.iterdir() if one.name.isdigit()) if folder.exists() else []
        )

    def _last_number(self, kind: str) -> int:
        return max((int(one.name) for one in self._numbered(kind)), default=0)

    def _delete_unused(self) -> None:
        versions = self._numbered("versions")
        whole = [version for version in versions if (version / "manifest.json").exists()]
        kept = whole[-KEPT_VERSIONS:]
        for version in versions:
            if version not in kept:
                shutil.rmtree(version)
        used = {segment for version in kept for segment in self._read(version.name).segments}
        for segment in self._numbered("segments"):
            if segment.name not in used:
                shutil.rmtree(segment)


def new_folder(parent: str | PathLike[str] | None, *, keep: bool = False) -> Path:
    """A new folder below a parent, or below the system's temporary folder.

    keep: do not remove it when this process ends, since somebody may still read it.
    """
    with _naming(parent or "the temporary folder"):
        if parent is not None:
            Path(parent).mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix="caddis-", dir=parent))
    if not keep:
        removed_at_exit(folder)
    return folder


@contextmanager
def _naming(place: str | PathLike[str]) -> Iterator[None]:
    """Name the place that a folder could not be made in."""
    try:
        yield
    except OSError as problem:
        raise IndexFolderError(f"{place} cannot be written to: {problem.strerror}") from None


def removed_at_exit(folder: Path) -> Path:
    """Remove a folder when this process ends; returns the folder."""
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def replace_json(path: Path, plain: object) -> None:
    """Replace a file, or create it, with plain values as JSON."""
    replace_file(path, json.dumps(plain))


def lines_of(path: Path) -> list[str]:
    """The lines of a file; none if it is not there yet."""
    return path.read_text().splitlines() if path.exists() else []


def append_lines(path: Path, plain: Iterable[object], most: int) -> None:
    """Add plain values as lines of JSON, until the file has `most` lines."""
    lines = [json.dumps(one, default=str) + "\n" for one in plain]
    if lines:
        room = max(0, most - len(lines_of(path)))
        with path.open("a") as out:
            out.writelines(lines[:room])
