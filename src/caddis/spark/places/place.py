"""Where the driver leaves finished folders, such as a compiled index, and workers find them.

    SharedFolder   a folder that the driver and all workers see: nothing is copied
    ObjectPlace    a store of objects, from which each machine downloads a folder once
    Artifacts      Spark copies the folder to every executor; nothing is shared

The driver hands a folder over and gets an address, a short text that travels with every task; a
worker turns the address into a folder of its own machine with `local_folder`.
"""

from __future__ import annotations

import atexit
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote, urlsplit
from uuid import uuid4

from pyspark.sql import SparkSession

from caddis.files import without_secrets
from caddis.spark.base import TEXTS, VersionFolder, Versions, is_remote, new_folder
from caddis.spark.places.artifacts import ARTIFACT, add_artifact, artifact_folder
from caddis.spark.places.bucket import VersionBucket
from caddis.spark.places.cache import this_machines_cache
from caddis.spark.places.objects import Objects, is_uri
from caddis.spark.places.packing import pack

ARCHIVE = ".zip"
"""The ending of an archive's URI, which distinguishes it from the URI of a store."""


class Place(Protocol):
    """Where a driver leaves folders for the workers of one match."""

    @property
    def shared(self) -> bool:
        """Whether workers can write into a folder that was handed over, and the driver sees it."""

    def new_folder(self) -> Path:
        """A new folder, in which the driver makes what it will hand over."""

    def hand_over(self, folder: Path) -> str:
        """Make a finished folder available to workers; returns its address."""


@dataclass(frozen=True, slots=True)
class SharedFolder:
    """A folder that the driver and all workers see.

    parent: where new folders are made; None for the system's temporary folder.
    keep: leave them behind when this process ends, since a stream may still read them.
    """

    parent: Path | None
    keep: bool = False
    shared = True

    def new_folder(self) -> Path:
        return new_folder(self.parent, keep=self.keep)

    def hand_over(self, folder: Path) -> str:
        return str(folder)


@dataclass(frozen=True, slots=True)
class Artifacts:
    """Spark brings folders to the executors of a session."""

    session: SparkSession
    shared = False

    def new_folder(self) -> Path:
        return new_folder(None)

    def hand_over(self, folder: Path) -> str:
        return add_artifact(self.session, folder, without=(TEXTS,))


@dataclass(frozen=True, slots=True)
class ObjectPlace:
    """Objects below a URI, each the archive of a folder, named by its digest.

    keep: leave them behind when this process ends, since a stream may still read them.
    """

    uri: str
    keep: bool = False
    shared = False

    def new_folder(self) -> Path:
        return new_folder(None)

    def hand_over(self, folder: Path) -> str:
        archive = new_folder(None) / "archive"
        digest = pack(folder, archive, without=(TEXTS,))
        objects, name = Objects(self.uri), f"caddis-{uuid4().hex}/{digest}{ARCHIVE}"
        objects.upload(archive, name)
        archive.unlink()
        if not self.keep:
            atexit.register(objects.delete, name)
        return objects.named(name)


def place_for(session: SparkSession, index_dir: str | PathLike[str] | None, *, keep: bool) -> Place:
    """The place for a match's compiled subscriptions and models.

    `index_dir` is a folder or a URI. Without one, the workers of a local master share this
    machine's temporary folder; those of any other master, or behind a Spark Connect server, get
    artifacts.
    """
    if index_dir is not None and is_uri(str(index_dir)):
        return ObjectPlace(str(index_dir), keep)
    if index_dir is not None:
        return SharedFolder(local_path(index_dir), keep)
    if runs_here(session):
        return SharedFolder(None, keep)
    return Artifacts(session)


def runs_here(session: SparkSession) -> bool:
    """Whether the workers are processes of this machine, started by this process."""
    master = session.conf.get("spark.master", "") or ""
    in_this_process = master == "local" or master.startswith("local[")
    return in_this_process and not is_remote(session)


def local_path(given: str | PathLike[str]) -> Path:
    """The path of a local file or folder, which may be given as a file:// URI."""
    text = str(given)
    if text.lower().startswith("file://"):
        text = unquote(urlsplit(text).path)
    return Path(text).absolute()


def local_folder(address: str) -> Path:
    """The folder on this machine that an address stands for, in a worker or in the driver."""
    if address.startswith(ARTIFACT):
        return artifact_folder(address)
    return _downloaded(address) if is_uri(address) else Path(address)


def versions_at(address: str | PathLike[str]) -> Versions:
    """The place that a store's versions live in."""
    text = str(address)
    if _is_store(text):
        return VersionBucket(text)
    return VersionFolder(local_folder(text) if _travels(text) else local_path(text))


def resident(address: str) -> str:
    """An address as seen on this machine: a folder's path, or the URI of a store."""
    return address if _is_store(address) else str(local_folder(address))


def is_gone(address: str) -> bool:
    """Whether a folder that was resident here has been deleted."""
    return not is_uri(address) and not Path(address).exists()


def _is_store(address: str) -> bool:
    """Whether an address is the URI of a store, and not of an archive."""
    return is_uri(address) and not urlsplit(address).path.endswith(ARCHIVE)


def _travels(address: str) -> bool:
    return address.startswith(ARTIFACT) or is_uri(address)


def _downloaded(uri: str) -> Path:
    parts = urlsplit(uri)
    folder, _, name = parts.path.rpartition("/")
    objects = Objects(parts._replace(path=folder).geturl())
    return this_machines_cache().fetch(
        name.removesuffix(ARCHIVE), without_secrets(uri), lambda file: objects.download(name, file)
    )
