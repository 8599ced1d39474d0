"""Compiles the kernels of sealed matching before worker processes start."""

from __future__ import annotations

from functools import cache
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa

from caddis.sealed.clauses.subscriptions import ClauseBlock, pack
from caddis.sealed.matcher.matcher import SealedMatcher
from caddis.sealed.prefilter.wire import encode

DIMENSIONS = 3


@cache
def warm_up() -> None:
    """Compile the kernels, if this machine has not yet: some seconds once, then milliseconds.

    Workers then find them on disk, instead of each compiling their own.
    """
    starts = np.arange(4)
    tokens = np.array([1, 1, 2], np.uint64)
    block = ClauseBlock(
        topic="any",
        epoch=1,
        owner=np.array([0, 0, 1], np.int32),
        filters=np.array([[1], [3], [0]], np.uint64),
        token_starts=starts,
        tokens=tokens,
        vector_starts=starts,
        vectors=np.ones((3, DIMENSIONS)),
    )
    table = pa.table({"subscription_id": [0, 1], "where": pa.array(pack(block, 2), pa.binary())})
    with TemporaryDirectory() as folder:
        SealedMatcher.compile(table).save(folder)
        SealedMatcher.load(folder).match(_events())


def _events() -> pa.RecordBatch:
    filters = encode(np.array([[3], [1]], np.uint64), compressed=False)
    tokens = np.array([1, 2], "<u8").tobytes()
    point = np.ones(DIMENSIONS, "<f8").tobytes()
    data = pa.binary()
    return pa.record_batch(
        {
            "topic": ["any", "any"],
            "epoch": [1, 1],
            "filter": pa.array(filters, data),
            "tokens": pa.array([tokens, tokens], data),
            "point": pa.array([point, point], data),
        }
    )
