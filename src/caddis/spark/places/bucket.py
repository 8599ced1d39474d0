"""Versions of a set of subscriptions as objects, where nothing can be renamed or locked.

    versions/00000012.json    segments with the digests of their archives, dead links, small files
    segments/<name>.zip       a compiled matcher
    texts/<name>.zip          its subscriptions' ids and WHERE texts, for those who change the store

A version is complete when its manifest is there, and the highest is the current one. A manifest is
created, never replaced: of two writers that both made version 13, one succeeds, and the other is
`Overtaken` and starts again from what the first has written. A segment's name is never used twice.
"""

from __future__ import annotations

import base64
import json
import logging
import tempfile
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import numpy as np

from caddis.arrays import Int32s
from caddis.errors import IndexFolderError
from caddis.files import without_secrets
from caddis.spark.base import KEPT_VERSIONS, TEXTS, Overtaken, Version
from caddis.spark.places.cache import this_machines_cache
from caddis.spark.places.objects import Objects
from caddis.spark.places.packing import pack

logger = logging.getLogger(__name__)

VERSIONS, SEGMENTS, TEXT_ARCHIVES = "versions", "segments", "texts"
POLL_SECONDS = 1.0
"""How long a worker that follows the store trusts that it knows the current version: looking costs
a request, and a stream may begin hundreds of tasks a second.
"""
REMEMBERED = 4096
"""Segments whose digests a process remembers, many more than the kept versions have together."""
ABANDONED = timedelta(days=1)
"""A segment older than this that no version mentions was left behind by a writer that died."""


@dataclass(frozen=True, slots=True)
class _Manifest:
    """What a version's object holds.

    digests: of each segment, oldest first, the digests of its matcher's and its texts' archives.
    files: small files, such as the store's settings.
    """

    digests: dict[str, tuple[str, str]]
    removed: dict[str, Int32s]
    files: dict[str, bytes]

    @classmethod
    def of(cls, content: bytes) -> _Manifest:
        plain = json.loads(content)
        digests = {name: (str(one), str(other)) for name, (one, other) in plain["segments"].items()}
        removed = {
            name: np.frombuffer(zlib.decompress(base64.b64decode(links)), np.int32)
            for name, links in plain["removed"].items()
        }
        files = {name: base64.b64decode(file) for name, file in plain["files"].items()}
        return cls(digests, removed, files)

    def content(self) -> bytes:
        """What is written; no two writers write the same."""
        removed = {
            name: _text(zlib.compress(links.astype(np.int32).tobytes()))
            for name, links in self.removed.items()
        }
        files = {name: _text(file) for name, file in self.files.items()}
        plain = {"segments": self.digests, "removed": removed, "files": files, "by": uuid4().hex}
        return json.dumps(plain).encode()


class VersionBucket:
    """Reads and publishes versions at a URI; knows nothing of what a segment holds."""

    def __init__(self, uri: str) -> None:
        self.address = uri
        self._objects = Objects(uri)
        self._digests: dict[str, tuple[str, str]] = {}
        self._looked = (-POLL_SECONDS, "")
        self._segments_of: dict[int, frozenset[str]] = {}

    founded = None

    def __repr__(self) -> str:
        return without_secrets(self.address)

    @property
    def exists(self) -> bool:
        """Whether there is a store."""
        return bool(self._numbers())

    @property
    def current_name(self) -> str:
        """The name of the current version."""
        numbers = self._numbers()
        if not numbers:
            raise IndexFolderError(f"{self!r} is not a subscription store")
        return f"{numbers[-1]:08}"

    @property
    def followed_name(self) -> str:
        """The name of what was the current version at most `POLL_SECONDS` ago."""
        when, name = self._looked
        if time.monotonic() - when >= POLL_SECONDS:
            name = self.current_name
            self._looked = time.monotonic(), name
        return name

    def current(self) -> Version:
        """The current version; if it is deleted meanwhile, the next one."""
        name = self.current_name
        try:
            return self.version(name)
        except IndexFolderError:
            if self.current_name == name:
                raise
            return self.current()

    def version(self, name: str) -> Version:
        """A version by its name."""
        manifest = self._manifest(name)
        return Version(name, tuple(manifest.digests), manifest.removed)

    def read(self, name: str) -> bytes:
        """A small file of the store, as it is now."""
        return self._manifest(self.current_name).files[name]

    def found(self, files: Mapping[str, bytes]) -> None:
        """Begin a store with these small files and no segments."""
        self._objects.check_conditional()
        manifest = _Manifest({}, {}, dict(files))
        try:
            self._create(1, manifest)
        except Overtaken:
            raise IndexFolderError(
                f"{self!r} is a subscription store already; open it instead"
            ) from None
        try:
            self._create(1, manifest)
        except Overtaken:
            return
        self._objects.delete(_manifest_name(1))
        raise IndexFolderError(
            f"{self!r} ignores conditions on writing, so two writers could not be kept apart"
        )

    def replace(self, base: Version, files: Mapping[str, bytes]) -> None:
        """Replace some of the small files, in a version of its own."""
        manifest = self._base(base)
        changed = _Manifest(manifest.digests, manifest.removed, {**manifest.files, **files})
        self._create(int(base.name) + 1, changed)

    def publish(
        self, segments: tuple[str, ...], removed: dict[str, Int32s], base: Version
    ) -> Version:
        """Publish a version after `base`; raise Overtaken if somebody else has done so."""
        digests = {name: self._digests[name] for name in segments}
        number = int(base.name) + 1
        self._create(number, _Manifest(digests, removed, self._base(base).files))
        try:
            self._delete_unused()
        except IndexFolderError as problem:
            logger.warning("what is no longer used will be deleted later: %s", problem)
        return Version(f"{number:08}", segments, removed)

    def add_segment(self, write: Callable[[Path], None]) -> str:
        """Add what `write` writes into a folder; returns the segment's name."""
        name = uuid4().hex
        with tempfile.TemporaryDirectory(prefix="caddis-") as temporary:
            folder, texts = Path(temporary) / "segment", Path(temporary) / "texts"
            folder.mkdir()
            texts.mkdir()
            write(folder)
            (folder / TEXTS).rename(texts / TEXTS)
            matcher = self._add(folder, f"{SEGMENTS}/{name}.zip")
            self._remember({name: (matcher, self._add(texts, f"{TEXT_ARCHIVES}/{name}.zip"))})
        return name

    def discard(self, segment: str) -> None:
        """Delete a segment that was added and will not be published."""
        self._objects.delete(f"{SEGMENTS}/{segment}.zip")
        self._objects.delete(f"{TEXT_ARCHIVES}/{segment}.zip")

    def segment(self, name: str) -> Path:
        """The folder of a segment's matcher on this machine."""
        return self._fetched(self._digests[name][0], f"{SEGMENTS}/{name}.zip")

    def texts(self, name: str) -> Path:
        """The file of a segment's ids and texts on this machine."""
        return self._fetched(self._digests[name][1], f"{TEXT_ARCHIVES}/{name}.zip") / TEXTS

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Let this process write; others may write, too, and then one of them is overtaken."""
        self._objects.check_conditional()
        yield

    def _base(self, base: Version) -> _Manifest:
        """What a change was made from; if it is gone, many versions have been published since."""
        try:
            return self._manifest(base.name)
        except IndexFolderError:
            if int(base.name) in self._numbers():
                raise
            raise Overtaken from None

    def _fetched(self, digest: str, name: str) -> Path:
        return this_machines_cache().fetch(
            digest,
            without_secrets(self._objects.named(name)),
            lambda file: self._objects.download(name, file),
        )

    def _add(self, folder: Path, name: str) -> str:
        archive = folder.with_suffix(".zip")
        digest = pack(folder, archive)
        self._objects.upload(archive, name)
        return digest

    def _create(self, number: int, manifest: _Manifest) -> None:
        name = _manifest_name(number)
        content = manifest.content()
        try:
            self._objects.create(name, content)
        except FileExistsError:
            # A request whose answer got lost is sent again, and then it is we who were first.
            if not self._has(name, content):
                raise Overtaken from None
        if number <= self._numbers()[-1] - KEPT_VERSIONS:
            # The number was free only because so many others were published and it was deleted.
            self._objects.delete(name)
            raise Overtaken

    def _has(self, name: str, content: bytes) -> bool:
        with suppress(FileNotFoundError):
            return self._objects.read(name) == content
        return False

    def _manifest(self, name: str) -> _Manifest:
        try:
            manifest = self._read(name)
        except FileNotFoundError:
            raise IndexFolderError(
                f"{self!r}: version {name} is gone; only the last {KEPT_VERSIONS} are kept"
            ) from None
        self._remember(manifest.digests)
        return manifest

    def _read(self, name: str) -> _Manifest:
        """A version's manifest; raises FileNotFoundError if it has been deleted."""
        content = self._objects.read(f"{VERSIONS}/{name}.json")
        try:
            return _Manifest.of(content)
        except (ValueError, KeyError, TypeError, AttributeError, zlib.error) as problem:
            raise IndexFolderError(f"{self!r}: version {name} is damaged: {problem}") from None

    def _remember(self, digests: dict[str, tuple[str, str]]) -> None:
        """Remember the digests of segments, and forget those that were named longest ago."""
        for segment in digests:
            self._digests.pop(segment, None)
        self._digests |= digests
        for segment in list(self._digests)[:-REMEMBERED]:
            del self._digests[segment]

    def _numbers(self) -> list[int]:
        names = (name.removesuffix(".json") for name in self._objects.names(VERSIONS))
        return sorted(int(name) for name in names if name.isdigit())

    def _delete_unused(self) -> None:
        """Delete old versions, and the segments that only they mention, or none."""
        numbers = self._numbers()
        if len(numbers) <= KEPT_VERSIONS:
            return
        old, kept = numbers[:-KEPT_VERSIONS], numbers[-KEPT_VERSIONS:]
        used = self._mentioned(kept)
        unused = self._mentioned(old) - used
        now = datetime.now(UTC)
        for folder in (SEGMENTS, TEXT_ARCHIVES):
            for name, written in self._objects.names(folder).items():
                segment = name.removesuffix(".zip")
                if segment in unused or (segment not in used and now - written > ABANDONED):
                    self._objects.delete(f"{folder}/{name}")
        for number in old:
            self._objects.delete(_manifest_name(number))
        self._segments_of = {number: self._segments_of[number] for number in kept}

    def _mentioned(self, numbers: list[int]) -> set[str]:
        """The segments of versions; another writer may have deleted some of them just now."""
        for number in numbers:
            if number not in self._segments_of:
                segments: Iterable[str] = ()
                with suppress(FileNotFoundError):
                    segments = self._read(f"{number:08}").digests
                self._segments_of[number] = frozenset(segments)
        return {name for number in numbers for name in self._segments_of[number]}


def _manifest_name(number: int) -> str:
    return f"{VERSIONS}/{number:08}.json"


def _text(content: bytes) -> str:
    return base64.b64encode(content).decode()
