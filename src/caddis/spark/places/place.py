"""Where the driver leaves finished folders, such as a compiled index, and workers find them.

    SharedFolder   a folder that the driver and all workers see: nothing is copied
    Artifacts      Spark copies the folder to every executor; nothing is shared

The driver hands a folder over and gets an address, a short text that travels with every task; a
worker turns the address into a folder of its own machine with `local_folder`.
"""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Protocol

from pyspark.sql import SparkSession

from caddis.spark.base import is_remote, new_folder
from caddis.spark.places.artifacts import ARTIFACT, add_artifact, artifact_folder

TEXTS = "subscriptions.arrow"
"""The ids and WHERE texts of a segment, which only those who change a store need."""


class Place(Protocol):
    """Where a driver leaves folders for the workers of one match."""

    @property
    def shared(self) -> bool:
        """Whether workers can write into a folder that was handed over, and the driver sees it."""

    def new_folder(self) -> Path:
        """A new folder, in which the driver makes what it will hand over."""

    def hand_over(self, folder: Path) -> str:
        """Let workers have a finished folder; returns its address."""


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


def place_for(session: SparkSession, index_dir: str | PathLike[str] | None, *, keep: bool) -> Place:
    """The place for a match's compiled subscriptions and models.

    Without `index_dir`, the workers of a local master share this machine's temporary folder; those
    of any other master, or behind a Spark Connect server, get artifacts.
    """
    if index_dir is not None:
        return SharedFolder(Path(index_dir).absolute(), keep)
    if runs_here(session):
        return SharedFolder(None, keep)
    return Artifacts(session)


def runs_here(session: SparkSession) -> bool:
    """Whether the workers are processes of this machine, started by this process."""
    master = session.conf.get("spark.master", "") or ""
    in_this_process = master == "local" or master.startswith("local[")
    return in_this_process and not is_remote(session)


def local_folder(address: str) -> Path:
    """The folder on this machine that an address stands for, in a worker or in the driver."""
    return artifact_folder(address) if address.startswith(ARTIFACT) else Path(address)
