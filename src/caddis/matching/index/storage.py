"""A matcher as a folder of arrays that are mapped into memory.

    format.json       the version of this layout, and the few numbers
    *.npy             one array each, uncompressed
    columns.arrow     the columns' paths and types, as an Arrow schema
    texts.json        the patterns
    ids.arrow         the subscriptions' ids by link number
    concepts.arrow    the concepts that clauses call, if any do; needs_*.npy what they ask

What can be shared with other saved matchers is in `mapped_files`.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa

from caddis.arrays import Bools
from caddis.errors import IndexFolderError
from caddis.files import mapped, mapped_ids, read_numbers, write_array, write_ids, write_numbers
from caddis.language import Column, Concept, MatchesText, TextPattern
from caddis.matching.index.building import AccessIndex
from caddis.matching.index.encoding import ColumnCoder
from caddis.matching.index.needs import Needs
from caddis.matching.kernels import IndexArrays

FORMAT = 2
_CODER_ARRAYS = ("keys", "data", "slots")
CONCEPTS = "concepts.arrow"
_NEEDS_ARRAYS = ("of_clause", "link_starts", "links", "starts", "literals")

Parts = tuple[AccessIndex, list[ColumnCoder], list[MatchesText], Bools, pa.Array, Needs | None]


def save(
    folder: Path,
    index: AccessIndex,
    coders: list[ColumnCoder],
    texts: list[MatchesText],
    several: Bools,
    ids: pa.Array,
    needs: Needs | None,
) -> None:
    """Write all parts of a matcher to a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, array in index.arrays._asdict().items():
        write_array(folder, name, array)
    write_array(folder, "several", several)
    write_array(folder, "patterns", index.patterns)
    _save_coders(folder, coders)
    _save_texts(folder, coders, texts)
    if needs is not None:
        _save_needs(folder, needs)
    write_ids(folder, ids)
    numbers = {
        "most_codes": int(index.most_codes),
        "first_pattern": int(index.first_pattern),
        "everything": int(index.everything),
    }
    write_numbers(folder, FORMAT, numbers)


def load(folder: Path) -> Parts:
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
        coders = _load_coders(folder)
        return (
            index,
            coders,
            _load_texts(folder, coders),
            mapped(folder, "several"),
            mapped_ids(folder),
            _load_needs(folder),
        )
    except (OSError, EOFError, ValueError, KeyError, TypeError, pa.ArrowException) as problem:
        raise IndexFolderError(f"{folder} is damaged: {problem}; compile it anew") from None


def _save_coders(folder: Path, coders: list[ColumnCoder]) -> None:
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
        ends = np.cumsum([0, *map(len, arrays)])
        write_array(folder, f"coder_{name}_start", ends.astype(np.int64))


def _load_coders(folder: Path) -> list[ColumnCoder]:
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


def _save_texts(folder: Path, coders: list[ColumnCoder], texts: list[MatchesText]) -> None:
    places = {coder.column: at for at, coder in enumerate(coders)}
    rows = [[places[t.column], t.pattern.regex, t.pattern.fold, t.negated] for t in texts]
    (folder / "texts.json").write_text(json.dumps(rows))


def _load_texts(folder: Path, coders: list[ColumnCoder]) -> list[MatchesText]:
    rows = json.loads((folder / "texts.json").read_text())
    return [
        MatchesText(coders[place].column, TextPattern(regex, fold), negated)
        for place, regex, fold, negated in rows
    ]


def _save_needs(folder: Path, needs: Needs) -> None:
    fields = [
        pa.field(json.dumps([concept.name, *concept.column.path]), concept.column.whole_type)
        for concept in needs.concepts
    ]
    (folder / CONCEPTS).write_bytes(pa.schema(fields).serialize().to_pybytes())
    for name in _NEEDS_ARRAYS:
        write_array(folder, f"needs_{name}", getattr(needs, name))


def _load_needs(folder: Path) -> Needs | None:
    if not (folder / CONCEPTS).exists():
        return None
    schema = pa.ipc.read_schema(pa.py_buffer((folder / CONCEPTS).read_bytes()))
    concepts = []
    for field in schema:
        name, *path = json.loads(field.name)
        concepts.append(Concept(name, _column(path, field.type)))
    return Needs(concepts, *(mapped(folder, f"needs_{name}") for name in _NEEDS_ARRAYS))
