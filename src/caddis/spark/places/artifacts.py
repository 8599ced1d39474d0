"""Finished folders as artifacts of a Spark session, for clusters that share no folder.

The driver adds an archive to its session; Spark copies it to every executor and unpacks it there
before the executor's next task. That needs neither a shared folder nor a store of objects, and
works the same through Spark Connect. Spark keeps an artifact until the application or the Connect
session ends, and fetches it from the driver's file for executors that start later. So an archive is
named by its content: what was added once is not added again.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from pyspark.sql import SparkSession

from caddis.errors import IndexFolderError
from caddis.spark.base import artifact_owner, new_folder
from caddis.spark.places.packing import pack

ARTIFACT = "artifact:"
"""How the address of a folder that travels as an artifact begins."""


_added: set[tuple[str, str]] = set()
"""The archives that each application, or Connect session, has been sent."""


def add_artifact(session: SparkSession, folder: Path, without: tuple[str, ...]) -> str:
    """Send a finished folder to all executors; returns its address."""
    parent = new_folder(None)
    digest = pack(folder, parent / "unnamed", without=without)
    archive = (parent / "unnamed").rename(parent / f"caddis-{digest}.zip")
    owner = artifact_owner(session)
    if (owner, archive.name) in _added:
        shutil.rmtree(parent)
    else:
        session.addArtifact(str(archive), archive=True)
        _added.add((owner, archive.name))
    return ARTIFACT + archive.name


def artifact_folder(address: str) -> Path:
    """The folder of an artifact, in the executor whose task asks for it."""
    from pyspark import SparkFiles

    # Executors name their folder relative to where they run.
    folder = Path(SparkFiles.getRootDirectory()).absolute() / address.removeprefix(ARTIFACT)
    if not folder.is_dir():
        raise IndexFolderError(
            f"Spark did not bring {folder.name} to this executor; an artifact lives as long as the "
            "session that added it"
        )
    return folder
