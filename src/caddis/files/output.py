"""Folders of results, which hold all of them or do not exist.

A batch writes into a hidden folder beside its output, which takes the output's name when everything
is there; until then what it replaces stays. Only a folder that holds nothing but output is ever
replaced.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from caddis.errors import CaddisError
from caddis.files.formats import data_files
from caddis.files.tables import write_lines

INVALID = "_invalid.jsonl"
CHECKPOINT = "_checkpoint"


def check_free(out: Path, *, overwrite: bool, ours: Collection[str] = ()) -> None:
    """Raise unless a folder of results can be written there.

    overwrite: whether the user allowed a folder of earlier results to be replaced.
    ours: names of files, besides those of matches, that count as results.
    """
    if ":/" in str(out):
        raise CaddisError(f"{out}: the command writes to this machine's files")
    _check_new(out, overwrite)
    if not out.exists():
        return
    if not out.is_dir() or any(
        not _is_output(entry.name) and entry.name not in ours for entry in out.iterdir()
    ):
        kept = "output" if ours else "matches"
        raise CaddisError(f"{out} holds other things than {kept}, so --overwrite leaves it alone")


def check_free_file(out: Path, *, overwrite: bool) -> None:
    """Raise unless a file can be written there.

    overwrite: whether the user allowed a file to be replaced.
    """
    if out.is_dir():
        raise CaddisError(f"{out} is a folder; --out names a file")
    _check_new(out, overwrite)


def _check_new(out: Path, overwrite: bool) -> None:
    if out.exists() and not overwrite:
        raise CaddisError(
            f"{out} exists already; choose another --out, or replace it with --overwrite"
        )


@contextmanager
def staging_folder(out: Path) -> Iterator[Path]:
    """The name of a hidden folder to write into; what is left there at the end is removed."""
    out.absolute().parent.mkdir(parents=True, exist_ok=True)
    staging = _beside(out, "writing")
    try:
        yield staging
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def publish(staging: Path, out: Path) -> None:
    """Give the written folder its name, and remove the folder that had it before."""
    if out.exists():
        old = _beside(out, "replaced")
        out.rename(old)
        staging.rename(out)
        shutil.rmtree(old, ignore_errors=True)
    else:
        staging.rename(out)


def write_invalid(folder: Path, errors: Iterable[tuple[object, str]]) -> None:
    """List the subscriptions that could not be used, with one JSON object on each line.

    errors: ids of subscriptions, and what is wrong with each.
    """
    folder.mkdir(parents=True, exist_ok=True)
    rows = ({"subscription_id": one, "error": error} for one, error in errors)
    write_lines(folder / INVALID, rows)


def forget_checkpoint(checkpoint: Path) -> None:
    """Remove the checkpoint of a stream; a folder that holds anything else is refused."""
    if not checkpoint.exists():
        return
    strangers = [entry.name for entry in checkpoint.iterdir() if not _is_checkpoint(entry.name)]
    if strangers:
        raise CaddisError(
            f"{checkpoint} is no stream's checkpoint, as it holds {strangers[0]!r}; --overwrite "
            "leaves it alone"
        )
    shutil.rmtree(checkpoint)


def file_count(folder: Path) -> int:
    """How many files of matches a folder holds; none if it is not there yet."""
    return len(data_files(folder)) if folder.is_dir() else 0


def _is_output(name: str) -> bool:
    return name.startswith(("part-", "_", "."))


def _is_checkpoint(name: str) -> bool:
    return name.startswith(".") or name in ("commits", "metadata", "offsets", "sources", "state")


def _beside(out: Path, what: str) -> Path:
    return out.absolute().parent / f".{out.name}.{what}-{os.getpid()}"
