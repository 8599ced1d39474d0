"""A SealedMatcher as a folder of arrays that are mapped into memory.

    format.json              the version of this layout, and each group's stream, epoch and sizes
    group0_*.npy             the arrays of a group and of its prefilter, one each, uncompressed
    everything.npy           links that every event satisfies
    ids.arrow                the subscriptions' ids by link number

There is no key in it, and nothing that a broker is not told anyway.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from caddis.arrays import Int32s
from caddis.errors import IndexFolderError, SealedError
from caddis.files import mapped, mapped_ids, read_numbers, write_array, write_ids, write_numbers
from caddis.sealed.matcher.groups import ClauseGroup
from caddis.sealed.prefilter import Prefilter, PrefilterArrays

FORMAT = "sealed 1"
GROUP_ARRAYS = ("links", "token_starts", "tokens", "vector_starts", "vectors", "vector_norms")

Parts = tuple[tuple[ClauseGroup, ...], Int32s, pa.Array]


def save(folder: Path, groups: tuple[ClauseGroup, ...], everything: Int32s, ids: pa.Array) -> None:
    """Write all parts of a matcher to a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    write_array(folder, "everything", everything)
    write_ids(folder, ids)
    described = [_save_group(folder, number, group) for number, group in enumerate(groups)]
    write_numbers(folder, FORMAT, {"groups": described})


def load(folder: Path) -> Parts:
    """Map the parts of a matcher from a folder."""
    numbers = read_numbers(folder, FORMAT)
    try:
        groups = [_load_group(folder, at, one) for at, one in enumerate(numbers["groups"])]
        return tuple(groups), mapped(folder, "everything"), mapped_ids(folder)
    except (OSError, EOFError, ValueError, KeyError, TypeError, pa.ArrowException) as problem:
        raise IndexFolderError(f"{folder} is damaged: {problem}; compile it anew") from None


def _save_group(folder: Path, number: int, group: ClauseGroup) -> dict[str, Any]:
    for name in GROUP_ARRAYS:
        write_array(folder, f"group{number}_{name}", getattr(group, name))
    sifted = group.unsifted < len(group.links)
    if isinstance(group.sieve, Prefilter):
        for name, array in group.sieve.arrays._asdict().items():
            write_array(folder, f"group{number}_sieve_{name}", array)
    elif group.sieve is not None or group.late is not None:
        raise SealedError("only matchers with the prefilter 'rarest-bit' are saved")
    return {
        "stream": group.stream,
        "epoch": group.epoch,
        "bits": group.bits,
        "unsifted": group.unsifted,
        "sifted": sifted,
    }


def _load_group(folder: Path, number: int, described: dict[str, Any]) -> ClauseGroup:
    sieve = None
    if described["sifted"]:
        names = (f"group{number}_sieve_{name}" for name in PrefilterArrays._fields)
        sieve = Prefilter(PrefilterArrays(*(mapped(folder, name) for name in names)))
    arrays = {name: mapped(folder, f"group{number}_{name}") for name in GROUP_ARRAYS}
    return ClauseGroup(
        stream=described["stream"],
        epoch=described["epoch"],
        bits=described["bits"],
        unsifted=described["unsifted"],
        sieve=sieve,
        **arrays,
    )
