"""Arrays and ids in files that are mapped into memory: what all saved matchers are made of.

Processes that load the same folder share its pages: the operating system keeps one copy.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from caddis.arrays import Anys
from caddis.errors import IndexFolderError

NUMBERS, IDS = "format.json", "ids.arrow"


def write_numbers(folder: Path, format_: int | str, numbers: Mapping[str, Any]) -> None:
    """Write the few numbers of a matcher, and the version of its layout."""
    (folder / NUMBERS).write_text(json.dumps({"format": format_, **numbers}))


def read_numbers(folder: Path, format_: int | str) -> dict[str, Any]:
    """Read what `write_numbers` wrote; raise IndexFolderError if the layout's version differs."""
    try:
        numbers: dict[str, Any] = json.loads((folder / NUMBERS).read_text())
        written = numbers["format"]
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise IndexFolderError(f"{folder} holds no matcher: {problem}") from None
    if written != format_:
        raise IndexFolderError(
            f"{folder} has format {written}, this version reads {format_}: compile it again"
        )
    return numbers


def write_array(folder: Path, name: str, array: Anys) -> None:
    """Write an array, uncompressed, so that it can be mapped."""
    np.save(folder / f"{name}.npy", array)


def mapped(folder: Path, name: str) -> Anys:
    """The array as a plain read-only view of the mapped file."""
    path = folder / f"{name}.npy"
    # A map costs a page and a file handle: more than reading an array of a few bytes.
    array = np.load(path) if path.stat().st_size <= 256 else np.load(path, mmap_mode="r")
    array.flags.writeable = False
    return np.asarray(array)


def write_ids(folder: Path, ids: pa.Array) -> None:
    """Write the subscriptions' ids, in the order of their links."""
    table = pa.table({"subscription_id": ids})
    with (
        pa.OSFile(str(folder / IDS), "wb") as sink,
        pa.ipc.new_file(sink, table.schema) as out,
    ):
        out.write_table(table)


def mapped_ids(folder: Path) -> pa.Array:
    """Map what `write_ids` wrote."""
    with pa.memory_map(str(folder / IDS)) as source:
        return pa.ipc.open_file(source).read_all()["subscription_id"].combine_chunks()
