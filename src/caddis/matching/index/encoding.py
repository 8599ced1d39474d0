"""A batch of events → codes (see `packing`): the only step that looks at values.

Whole numbers, floats and times are found among a column's boundaries by bisection. Strings are
hashed, and only if they are no boundary themselves and the column's order matters are they
bisected too. Everything is read from Arrow's buffers in place.

Patterns in texts are what codes cannot decide: `BatchTexts` searches a pattern in the distinct
values only, and only in those whose other predicates hold.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from caddis.arrays import Anys, Bools, Bytes, Int32s, Int64s, offsets_of
from caddis.errors import EventError
from caddis.language import (
    Column,
    MatchesText,
    has_byte_keys,
    is_array,
    is_comparable,
    is_floating,
    is_instant,
    sql_type,
)
from caddis.matching.index.packing import Boundaries
from caddis.matching.kernels import (
    BatchArrays,
    code_bytes,
    code_numbers,
    hash_table,
)

NO_VALIDITY = np.zeros(0, np.uint8)
NO_VALIDITY.flags.writeable = False


@dataclass(frozen=True, slots=True)
class ColumnCoder:
    """Turns the values of one column into codes."""

    column: Column
    ordered: bool
    keys: Int64s
    """Sorted keys; for bytes, where each begins in `data`, and the end."""
    data: Bytes
    slots: Int32s
    """Hash table of byte keys: key number + 1, or 0."""

    @staticmethod
    def of(column: Column, boundaries: Boundaries) -> ColumnCoder:
        """The coder of a column with these boundaries."""
        keys, data, slots = boundaries.keys, np.zeros(0, np.uint8), np.zeros(0, np.int32)
        if not isinstance(keys, np.ndarray):
            starts, data = _byte_buffers(keys)
            keys = starts.astype(np.int64)
            slots = hash_table(keys, data)
        for array in (keys, data, slots):
            array.flags.writeable = False
        return ColumnCoder(column, boundaries.ordered, keys, data, slots)

    def codes(self, array: pa.Array) -> Int32s:
        """The code of each value."""
        if pa.types.is_dictionary(array.type):
            return self._dictionary_codes(array)
        if self.column.repeated or not is_comparable(self.column.type):
            # Only IS NULL tests these: null is 0, and anything else is 1.
            present: Int32s = array.is_valid().to_numpy(zero_copy_only=False).astype(np.int32)
            return present
        out = np.zeros(len(array), np.int32)
        if has_byte_keys(self.column):
            array = _as_bytes(array)
            code_bytes(
                *_byte_buffers(array),
                _validity(array),
                array.offset,
                self.keys,
                self.data,
                self.slots,
                self.ordered,
                out,
            )
        else:
            array, floating = as_numbers(array), is_floating(self.column.type)
            if pa.types.is_integer(array.type):
                array = array.cast(pa.int64())
            code_numbers(_words(array), floating, _validity(array), array.offset, self.keys, out)
        return out

    def element_codes(self, array: pa.Array) -> tuple[Int64s, Int32s]:
        """The codes of an array column's elements, with where each row's begin, and the end."""
        scalar = Column(self.column.path, self.column.type)
        inner = ColumnCoder(scalar, self.ordered, self.keys, self.data, self.slots)
        lists = array.cast(pa.large_list(self.column.type))
        codes = inner.codes(lists.flatten())
        lengths = pc.list_value_length(lists).fill_null(0).to_numpy(zero_copy_only=False)
        return offsets_of(lengths), codes

    def _dictionary_codes(self, array: pa.DictionaryArray) -> Int32s:
        codes = np.append(self.codes(array.dictionary), np.int32(0))
        places = array.indices.fill_null(len(array.dictionary)).to_numpy(zero_copy_only=False)
        found: Int32s = codes[places]
        return found


class BatchEncoder:
    """Codes a whole batch, column by column."""

    def __init__(self, coders: list[ColumnCoder]) -> None:
        self.coders = coders

    def encode(self, batch: pa.RecordBatch) -> BatchArrays:
        """The codes of a batch; a column that the batch lacks is null."""
        # Kernels look at a column even where they test none, so there is always one.
        codes = np.zeros((max(1, len(self.coders)), batch.num_rows), np.int32)
        base = np.full(len(self.coders), -1, np.int64)
        starts: list[Int64s] = []
        elements: list[Int32s] = []
        for at, coder in enumerate(self.coders):
            array = values_of(batch, coder.column)
            if array is None:
                array = pa.nulls(batch.num_rows, coder.column.whole_type)
            codes[at] = coder.codes(array)
            if coder.column.repeated:
                begin, mine = coder.element_codes(array)
                base[at] = sum(map(len, starts))
                starts.append(begin + sum(map(len, elements)))
                elements.append(mine)
        return BatchArrays(
            codes,
            base,
            np.concatenate([np.empty(0, np.int64), *starts]),
            np.concatenate([np.empty(0, np.int32), *elements]),
            np.zeros(1, np.int64),
            np.empty(0, np.int32),
        )


def values_of(batch: pa.RecordBatch, column: Column) -> pa.Array | None:
    """A column's values in a batch, in its own type; None if the batch lacks it."""
    places = batch.schema.get_all_field_indices(column.path[0])
    if len(places) > 1:
        raise EventError(f"these events have {len(places)} columns named {column.path[0]!r}")
    if not places:
        return None
    array = batch.column(places[0])
    for name in column.path[1:]:
        if not pa.types.is_struct(array.type):
            raise _unfit(array.type, column)
        if array.type.get_field_index(name) < 0:
            return None
        array = pc.struct_field(array, name)
    return _in_type(array, column)


def _unfit(found: pa.DataType, column: Column) -> EventError:
    return EventError(
        f"column {column.name!r} is {sql_type(found)} in these events; the subscriptions were "
        f"compiled for {column.sql_type}"
    )


def _in_type(array: pa.Array, column: Column) -> pa.Array:
    wanted, found = column.whole_type, array.type
    if found == wanted or (column.repeated and is_array(found) and found.value_type == column.type):
        return array
    if pa.types.is_dictionary(found) and found.value_type == wanted:
        return array
    if is_instant(found) != is_instant(wanted):
        raise _unfit(found, column)
    try:
        return array.cast(wanted, safe=not pa.types.is_timestamp(wanted))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise _unfit(found, column) from None


def _validity(array: pa.Array) -> Bytes:
    """The validity bitmap, empty if nothing is null."""
    bitmap = array.buffers()[0] if array.null_count else None
    return NO_VALIDITY if bitmap is None else _view(bitmap, np.uint8)


def as_numbers(array: pa.Array) -> pa.Array:
    """The same values as doubles, integers, or decimals of 128 bits."""
    type_ = array.type
    if is_floating(type_):
        return array.cast(pa.float64())
    if pa.types.is_boolean(type_):
        return array.cast(pa.int8())
    if pa.types.is_decimal(type_):
        return array.cast(pa.decimal128(type_.precision, type_.scale))
    if pa.types.is_date32(type_):
        return array.view(pa.int32())
    if pa.types.is_timestamp(type_):
        return array.cast(pa.timestamp("us", type_.tz), safe=False).view(pa.int64())
    return array


def _words(array: pa.Array) -> Int64s:
    """64 bits of each value, from before the array's offset: for decimals the low ones."""
    words = _view(array.buffers()[1], np.int64)
    if not pa.types.is_decimal(array.type):
        return words
    # Every other word in an array of its own: to numba, one with gaps is of another type.
    low = words[::2].copy()
    low.flags.writeable = False
    return low


def _as_bytes(array: pa.Array) -> pa.Array:
    """The same values as byte strings whose order is theirs."""
    if pa.types.is_decimal(array.type):
        return _decimal_bytes(array)
    if pa.types.is_string_view(array.type):
        return array.cast(pa.large_string())
    return array


def _decimal_bytes(array: pa.Array) -> pa.Array:
    """Decimals as 16 bytes each, most significant first, with the sign bit turned over."""
    words = np.frombuffer(array.buffers()[1], np.uint64).reshape(-1, 2)
    words = words[array.offset : array.offset + len(array), ::-1].copy()
    words[:, 0] ^= np.uint64(1 << 63)
    data = pa.py_buffer(words.byteswap().tobytes())
    starts = pa.py_buffer(np.arange(0, 16 * len(array) + 1, 16, dtype=np.int64).tobytes())
    valid = pc.is_valid(array)
    whole = pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(array), [None, starts, data])
    return pc.if_else(valid, whole, None)


def _byte_buffers(array: pa.Array) -> tuple[Anys, Bytes]:
    """Where each byte string begins, and all bytes; both from before the array's offset."""
    wide = pa.types.is_large_string(array.type) or pa.types.is_large_binary(array.type)
    offset_type = np.int64 if wide else np.int32
    if len(array) == 0:
        return np.zeros(1, offset_type), np.zeros(0, np.uint8)
    _, starts, data = array.buffers()
    return _view(starts, offset_type), _view(data, np.uint8)


def _view(buffer: pa.Buffer | None, dtype: npt.DTypeLike) -> Anys:
    """An Arrow buffer as an array; an empty one may be missing.

    It is read-only even where Arrow's memory is not: to numba, an array that may be written is of
    another type, for which every kernel would be compiled once more.
    """
    array = np.frombuffer(b"" if buffer is None else buffer, dtype)
    array.flags.writeable = False
    return array


class BatchTexts:
    """The texts of one batch, and the answers about them that are already known."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self.batch = batch
        self.searches = 0
        self._columns: dict[Column, tuple[list[str | None], Int64s]] = {}
        self._answers: dict[MatchesText, npt.NDArray[np.int8]] = {}

    def holds(self, test: MatchesText, rows: Int32s) -> Bools:
        """Whether the test is true of each of these rows."""
        values, places = self._texts(test.column)
        answers = self._answers.setdefault(test, np.full(len(values), -1, np.int8))
        needed = places[rows]
        unknown = np.unique(needed[answers[needed] < 0])
        search = _searcher(test)
        for place in unknown:
            answers[place] = search(values[place])
        self.searches += len(unknown)
        found: Bools = answers[needed] == 1
        return found

    def all_rows(self, test: MatchesText) -> Int32s:
        """The rows of which the test is true."""
        rows = np.arange(self.batch.num_rows, dtype=np.int32)
        return rows[self.holds(test, rows)]

    def _texts(self, column: Column) -> tuple[list[str | None], Int64s]:
        """The column's distinct values, null last, and each row's place among them."""
        if column not in self._columns:
            array = values_of(self.batch, column)
            if array is None:
                array = pa.nulls(self.batch.num_rows, pa.string())
            coded = array if pa.types.is_dictionary(array.type) else pc.dictionary_encode(array)
            values = [*coded.dictionary.to_pylist(), None]
            places = coded.indices.fill_null(len(values) - 1).to_numpy(zero_copy_only=False)
            self._columns[column] = values, places.astype(np.int64)
        return self._columns[column]


def _searcher(test: MatchesText) -> Callable[[str | None], bool]:
    search, fold, wanted = (
        re.compile(test.pattern.regex, re.ASCII).search,
        test.pattern.fold,
        not test.negated,
    )

    def holds(text: str | None) -> bool:
        """Unknown satisfies neither a pattern nor its negation."""
        if text is None:
            return False
        found = search(text.lower() if fold else text) is not None
        return found is wanted

    return holds
