"""Sealed matching as its definition says it, event by event and clause by clause."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from caddis.sealed.clauses.subscriptions import ClauseBlock, unpack_all
from caddis.sealed.prefilter.wire import decode
from caddis.sealed.values.aspe import tolerance
from tests.sealed.homes import Pairs


def plain_pairs(events: pa.RecordBatch, subscriptions: pa.Table) -> Pairs:
    """Rows and links that may match, if all rows are well made."""
    found = set()
    for block in unpack_all(subscriptions["where"])[0]:
        for row, event in enumerate(events.to_pylist()):
            if (event["stream"], event["epoch"]) == (block.stream, block.epoch):
                found |= {(row, int(block.owner[clause])) for clause in passed(event, block)}
    return found


def passed(event: dict[str, object], block: ClauseBlock) -> list[int]:
    """The clauses of a block that an event passes."""
    bits = 64 * block.filters.shape[1]
    words = decode(pa.array([event["filter"]], pa.binary()), bits)[0][0]
    tokens = set(np.frombuffer(event["tokens"], "<u8").tolist())  # type: ignore[call-overload]
    point = np.frombuffer(event["point"], "<f8")  # type: ignore[call-overload]
    return [
        clause
        for clause in range(len(block))
        if not (block.filters[clause] & ~words).any()
        and set(slice_of(block.tokens, block.token_starts, clause).tolist()) <= tokens
        and all(fulfils(point, one) for one in slice_of(block.vectors, block.vector_starts, clause))
    ]


def slice_of(values: np.ndarray, starts: np.ndarray, place: int) -> np.ndarray:
    return values[starts[place] : starts[place + 1]]


def fulfils(point: np.ndarray, vector: np.ndarray) -> bool:
    least = -tolerance(len(point)) * np.linalg.norm(point) * np.linalg.norm(vector)
    return bool(vector @ point >= least)
