"""What matching has compiled before it is used, in two shares that take about as long."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from caddis.arrays import Anys
from caddis.compiling import Need
from caddis.matching.index import BatchEncoder
from caddis.matching.kernels import IndexArrays, decide, in_row_order, match_batch, workspace
from caddis.matching.matcher import Matcher
from caddis.matching.tables import ENTRY_WIDTH

CODING, SEARCHING = "coding", "searching"
NEEDED = Need("caddis.matching", shares=(CODING, SEARCHING))


def warm_up(share: str) -> None:
    """Compile a share of the kernels, if this machine has not yet."""
    if share == SEARCHING:
        _search()
    else:
        _code()


def _code() -> None:
    """Index two subscriptions, code an event and sort no matches."""
    schema = pa.schema([("text", pa.string()), ("number", pa.int64()), ("real", pa.float64())])
    wheres = [
        "text = 'a' AND text LIKE '%a' AND number = 1 AND real < 0.5",
        "text = 'b' OR real > 0",
    ]
    table = pa.table({"subscription_id": [0, 1], "where": wheres})
    coded = Matcher.compile(table, schema).encode(pa.RecordBatch.from_pylist([{}], schema))
    found = np.empty((0, 3), np.int32)
    decide(_empty_index(), coded.arrays, found)
    in_row_order(found, 1, _read_only(np.ones(1, bool)))


def _search() -> None:
    """Search an empty index for a batch without rows."""
    match_batch(
        _empty_index(),
        BatchEncoder([]).encode(pa.record_batch({})),
        0,
        0,
        workspace(0, 0, 0),
        np.empty((0, 3), np.int32),
        np.zeros(2, np.int64),
    )


def _empty_index() -> IndexArrays:
    """An index without entries, in arrays of the same types as any other."""
    return IndexArrays(
        node_base=_read_only(np.zeros((0, 0), np.int64)),
        node_runs=_read_only(np.zeros(2, np.int32)),
        runs=_read_only(np.zeros((1, 3), np.int32)),
        groups=_read_only(np.zeros((1, 3), np.int32)),
        entries=_read_only(np.zeros((0, ENTRY_WIDTH), np.int32)),
        rest=_read_only(np.zeros(0, np.int32)),
        predicates=_read_only(np.zeros((0, 6), np.int32)),
        intervals=_read_only(np.zeros((0, 2), np.int32)),
    )


def _read_only(array: Anys) -> Anys:
    """A matcher's arrays are read-only whether it was compiled or mapped.

    To numba, an array that may be written is of another type.
    """
    array.flags.writeable = False
    return array
