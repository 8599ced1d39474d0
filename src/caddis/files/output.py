"""The folder that matches are written to: all of them, or nothing.

A batch writes into a hidden folder beside it, which takes the name when everything is there.
What is replaced stays until then. Only a folder that holds nothing but output is ever replaced.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from caddis.errors import CaddisError
from caddis.files.paths import data_files

INVALID = "_invalid.jsonl"
CHECKPOINT = "_checkpoint"


def check_free(out: Path, *, overwrite: bool, ours: Collection[str] = ()) -> None:
    """Raise unless the folder can be written, or replaced as the user wished.

    ours: names of files that the verb writes, besides matches.
    """
    if ":/" in str(out):
        raise CaddisError(f"{out}: the command writes to this machine's files")
    if not out.exists():
        return
    if not overwrite:
        raise CaddisError(
            f"{out} exists already; choose another --out, or replace it with --overwrite"
        )
    if not out.is_dir() or any(
        not _is_output(entry.name) and entry.name not in ours for entry in out.iterdir()
    ):
        kept = "output" if ours else "matches"
        raise CaddisError(f"{out} holds other things than {kept}, so --overwrite leaves it alone")


@contextmanager
def staging_folder(out: Path) -> Iterator[Path]:
    """A name for the folder to write into; what is left of it is removed at the end."""
    out.absolute().parent.mkdir(parents=True, exist_ok=True)
    staging = _beside(out, "writing")
    try:
        yield staging
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def publish(staging: Path, out: Path) -> None:
    """Give the written folder its name; what had the name before is removed."""
    if out.exists():
        old = _beside(out, "replaced")
        out.rename(old)
        staging.rename(out)
        shutil.rmtree(old, ignore_errors=True)
    else:
        staging.rename(out)


def write_invalid(folder: Path, errors: Iterable[tuple[object, str]]) -> None:
    """List the subscriptions that could not be used, a JSON object a line."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / INVALID).open("w") as lines:
        for subscription_id, error in errors:
            one = {"subscription_id": subscription_id, "error": error}
            lines.write(json.dumps(one, ensure_ascii=False) + "\n")


def forget_checkpoint(checkpoint: Path) -> None:
    """Remove how far a stream was, and nothing that is not that."""
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
    """How many files of matches there are."""
    return len(data_files(folder))


def _is_output(name: str) -> bool:
    return name.startswith(("part-", "_", "."))


def _is_checkpoint(name: str) -> bool:
    return name.startswith(".") or name in ("commits", "metadata", "offsets", "sources", "state")


def _beside(out: Path, what: str) -> Path:
    return out.absolute().parent / f".{out.name}.{what}-{os.getpid()}"
