"""A matcher as a folder of arrays that are mapped into memory.

    format.json       the version of this layout, and the few numbers
    *.npy             one array each, uncompressed
    columns.arrow     the columns' paths and types, as an Arrow schema
    texts.json        the patterns
    ids.arrow         the subscriptions' ids by link number
    concepts.arrow    the concepts that clauses call, if any do; needs_*.npy what they ask

What other saved matchers share is in `caddis.files`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from caddis.arrays import Bools, offsets_of
from caddis.errors import IndexFolderError
from caddis.files import mapped, mapped_ids, read_numbers, write_array, write_ids, write_numbers
from caddis.language import Column, Concept, MatchesText, TextPattern
from caddis.matching.index.building import AccessIndex
from caddis.matching.index.encoding import ColumnCoder
from caddis.matching.index.packing import Needs
from caddis.matching.kernels import IndexArrays

FORMAT = 2
_CODER_ARRAYS = ("keys", "data", "slots")
CONCEPTS = "concepts.arrow"
_NEEDS_ARRAYS = ("of_clause", "link_starts", "links", "starts", "literals")


@dataclass(frozen=True, slots=True)
class MatcherParts:
    """What a matcher is made of; its arrays are read-only."""

    index: AccessIndex
    coders: list[ColumnCoder]
    texts: list[MatchesText]
    several: Bools
    """Whether each link has more than one clause; empty if none has."""
    subscription_ids: pa.Array
    """The id of each link's subscription."""
    needs: Needs | None


def write_parts(folder: Path, parts: MatcherParts) -> None:
    """Write all parts of a matcher to a folder."""
    index = parts.index
    folder.mkdir(parents=True, exist_ok=True)
    for name, array in index.arrays._asdict().items():
        write_array(folder, name, array)
    write_array(folder, "several", parts.several)
    write_array(folder, "patterns", index.patterns)
    _write_coders(folder, parts.coders)
    _write_texts(folder, parts.coders, parts.texts)
    if parts.needs is not None:
        _write_needs(folder, parts.needs)
    write_ids(folder, parts.subscription_ids)
    numbers = {
        "most_codes": int(index.most_codes),
        "first_pattern": int(index.first_pattern),
        "everything": int(index.everything),
    }
    write_numbers(folder, FORMAT, numbers)


def read_parts(folder: Path) -> MatcherParts:
    """Map the parts of a matcher from a folder."""
    numbers = read_numbers(folder, FORMAT)
    try:
        arrays = IndexArrays(*(mapped(folder, name) for name in IndexArrays._fields))
        index = AccessIndex(
            arrays,
            numbers["most_codes"],
            mapped(folder, "patterns"),
            numbers["first_pattern"],
            numbers["everything"],
        )
        coders = _read_coders(folder)
        return MatcherParts(
            index,
            coders,
            _read_texts(folder, coders),
            mapped(folder, "several"),
            mapped_ids(folder),
            _read_needs(folder),
        )
    except (OSError, EOFError, ValueError, KeyError, TypeError, pa.ArrowException) as problem:
        raise IndexFolderError(f"{folder} is damaged: {problem}; compile it again") from None


def _write_coders(folder: Path, coders: list[ColumnCoder]) -> None:
    fields = [
        pa.field(
            json.dumps(coder.column.path),
            coder.column.whole_type,
            metadata={"ordered": str(int(coder.ordered))},
        )
        for coder in coders
    ]
    (folder / "columns.arrow").write_bytes(pa.schema(fields).serialize().to_pybytes())
    for name in _CODER_ARRAYS:
        arrays = [getattr(coder, name) for coder in coders]
        empty = np.zeros(0, {"keys": np.int64, "data": np.uint8, "slots": np.int32}[name])
        write_array(folder, f"coder_{name}", np.concatenate([empty, *arrays]))
        write_array(folder, f"coder_{name}_start", offsets_of(list(map(len, arrays))))


def _read_coders(folder: Path) -> list[ColumnCoder]:
    schema = pa.ipc.read_schema(pa.py_buffer((folder / "columns.arrow").read_bytes()))
    arrays = {name: mapped(folder, f"coder_{name}") for name in _CODER_ARRAYS}
    starts = {name: mapped(folder, f"coder_{name}_start") for name in _CODER_ARRAYS}
    coders = []
    for at, field in enumerate(schema):
        column = _column(json.loads(field.name), field.type)
        parts = [arrays[name][starts[name][at] : starts[name][at + 1]] for name in _CODER_ARRAYS]
        coders.append(ColumnCoder(column, field.metadata[b"ordered"] == b"1", *parts))
    return coders


def _column(path: list[str], type_: pa.DataType) -> Column:
    repeated = pa.types.is_list(type_)
    return Column(tuple(path), type_.value_type if repeated else type_, repeated)


def _write_texts(folder: Path, coders: list[ColumnCoder], texts: list[MatchesText]) -> None:
    places = {coder.column: at for at, coder in enumerate(coders)}
    rows = [[places[t.column], t.pattern.regex, t.pattern.fold, t.negated] for t in texts]
    (folder / "texts.json").write_text(json.dumps(rows))


def _read_texts(folder: Path, coders: list[ColumnCoder]) -> list[MatchesText]:
    rows = json.loads((folder / "texts.json").read_text())
    return [
        MatchesText(coders[place].column, TextPattern(regex, fold), negated)
        for place, regex, fold, negated in rows
    ]


def _write_needs(folder: Path, needs: Needs) -> None:
    fields = [
        pa.field(json.dumps([concept.name, *concept.column.path]), concept.column.whole_type)
        for concept in needs.concepts
    ]
    (folder / CONCEPTS).write_bytes(pa.schema(fields).serialize().to_pybytes())
    for name, array in zip(_NEEDS_ARRAYS, needs.arrays, strict=True):
        write_array(folder, f"needs_{name}", array)


def _read_needs(folder: Path) -> Needs | None:
    if not (folder / CONCEPTS).exists():
        return None
    schema = pa.ipc.read_schema(pa.py_buffer((folder / CONCEPTS).read_bytes()))
    concepts = []
    for field in schema:
        name, *path = json.loads(field.name)
        concepts.append(Concept(name, _column(path, field.type)))
    return Needs(concepts, *(mapped(folder, f"needs_{name}") for name in _NEEDS_ARRAYS))
