"""How subscriptions are indexed, in words: what `caddis explain` shows.

Tokens and codes are turned back into values, and clauses that every event has to be tried on are
listed with the reason, so that a user sees what slows a match down.
"""

from __future__ import annotations

import datetime as dt
import struct
from dataclasses import dataclass
from decimal import Context, Decimal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from caddis.arrays import Int32s, Int64s
from caddis.errors import SubscriptionError
from caddis.language import (
    WIDE_DECIMAL_BIAS,
    Column,
    Vocabulary,
    is_floating,
    is_text,
    parse_all,
    scale_of,
)
from caddis.matching import tables
from caddis.matching.index import (
    NOTHING,
    Needs,
    PackedClauses,
    Postings,
    likelihood_by_clauses,
    pack,
    post,
    split_needs,
)
from caddis.matching.kernels import EVERY_EVENT
from caddis.matching.links import named_errors, subscription_ids_of
from caddis.matching.matcher import NO_CONCEPTS, Matcher

EQUALITY, RANGE, ELEMENT, PATTERN, EVERYTHING = (
    "equality",
    "range or prefix",
    "array element",
    "pattern",
    "every event",
)


@dataclass(frozen=True, slots=True)
class AccessUse:
    """How many clauses are found in one way."""

    kind: str
    clauses: int
    tokens: int
    """How many tokens they stand under."""
    most_shared: int
    """How many stand under the fullest of these."""


@dataclass(frozen=True, slots=True)
class SharedToken:
    """An access token and how many clauses stand under it.

    token: the values that it stands for, in words.
    """

    column: str
    token: str
    clauses: int


@dataclass(frozen=True, slots=True)
class Scanned:
    """A subscription with a clause that every event has to be tried on, and why."""

    subscription_id: object
    where: str
    why: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """How a table of subscriptions is indexed."""

    subscriptions: int
    clauses: int
    access: tuple[AccessUse, ...]
    shared: tuple[SharedToken, ...]
    """The tokens that most clauses stand under, the fullest first."""
    scanned: tuple[Scanned, ...]
    scanned_count: int
    """How many there are, of which `scanned` lists some."""
    invalid: tuple[SubscriptionError, ...]
    nbytes: int
    """Bytes of the compiled matcher."""


def explain(
    subscriptions: pa.Table,
    schema: pa.Schema,
    *,
    timezone: str = "UTC",
    limit: int = 10,
    concepts: Vocabulary = NO_CONCEPTS,
) -> Explanation:
    """Compile a table of subscriptions and say how they are indexed.

    limit: how many tokens and scanned subscriptions are listed at most.
    """
    ids = subscription_ids_of(subscriptions)
    wheres = subscriptions["where"].to_pylist()
    clauses = parse_all(wheres, schema, timezone=timezone, concepts=concepts)
    cheap, needed = split_needs(clauses)
    packed = pack(cheap)
    postings = post(packed, likelihood_by_clauses(packed))
    kinds = _kinds(packed, postings)
    scanned = np.flatnonzero(np.isin(kinds, (PATTERN, EVERYTHING)))
    first = _first_clauses(packed, needed, postings.rows[scanned[::-1], 0])
    return Explanation(
        subscriptions=len(ids),
        clauses=len(packed.owner),
        access=_access_uses(packed, postings, kinds),
        shared=_shared_tokens(packed, postings, limit),
        scanned=tuple(
            Scanned(ids[link].as_py(), wheres[link], _why(packed, postings, needed, first[link]))
            for link in sorted(first)[:limit]
        ),
        scanned_count=len(first),
        invalid=named_errors(clauses.errors, ids),
        nbytes=Matcher.from_clauses(clauses, ids).nbytes,
    )


def _first_clauses(packed: PackedClauses, needed: Needs | None, clauses: Int32s) -> dict[int, int]:
    """Each link that these clauses lead to, with the last clause that does."""
    if needed is None:
        return {int(packed.owner[clause]): int(clause) for clause in clauses}
    starts, links = needed.link_starts, needed.links
    return {
        int(link): int(clause)
        for clause in clauses
        for link in links[starts[clause] : starts[clause + 1]]
    }


def _kinds(packed: PackedClauses, postings: Postings) -> npt.NDArray[np.str_]:
    """How each posting is found."""
    access = postings.access[postings.rows[:, 0]]
    kinds = np.full(len(access), RANGE, dtype="<U16")
    kinds[postings.rows[:, 1] == postings.rows[:, 2]] = EQUALITY
    has_token = np.flatnonzero(access != EVERY_EVENT)
    access_kind = packed.predicates.table[access[has_token], tables.KIND]
    kinds[has_token[access_kind == tables.CONTAINS]] = ELEMENT
    kinds[has_token[access_kind == tables.TEXT]] = PATTERN
    kinds[access == EVERY_EVENT] = EVERYTHING
    return kinds


def _tokens(packed: PackedClauses, postings: Postings) -> Int64s:
    """Each posting's column, level and token in one number; the predicate if it is a pattern."""
    rows = postings.rows.astype(np.int64)
    access = postings.access[rows[:, 0]]
    column = np.full(len(rows), -1, np.int64)
    has_token = access != EVERY_EVENT
    column[has_token] = packed.predicates.table[access[has_token], tables.COLUMN]
    # A token has fewer than 2^34 values and a level fewer than 2^6, so the three do not overlap.
    tokens: Int64s = ((column + 1) << 40) + ((rows[:, 3] + 1) << 34) + rows[:, 4] + 1
    return tokens


def _access_uses(
    packed: PackedClauses, postings: Postings, kinds: npt.NDArray[np.str_]
) -> tuple[AccessUse, ...]:
    tokens = _tokens(packed, postings)
    uses = []
    for kind in (EQUALITY, RANGE, ELEMENT, PATTERN, EVERYTHING):
        mine = kinds == kind
        if mine.any():
            _, counts = np.unique(tokens[mine], return_counts=True)
            clauses = len(np.unique(postings.rows[mine, 0]))
            uses.append(AccessUse(kind, clauses, len(counts), int(counts.max())))
    return tuple(uses)


def _shared_tokens(
    packed: PackedClauses, postings: Postings, limit: int
) -> tuple[SharedToken, ...]:
    tokens = _tokens(packed, postings)
    _, first, counts = np.unique(tokens, return_index=True, return_counts=True)
    fullest = np.argsort(-counts, kind="stable")[:limit]
    return tuple(
        SharedToken(*_token_in_words(packed, postings, int(first[at])), int(counts[at]))
        for at in fullest
    )


def _token_in_words(packed: PackedClauses, postings: Postings, posting: int) -> tuple[str, str]:
    clause, _, _, level, token = map(int, postings.rows[posting])
    predicate = int(postings.access[clause])
    if predicate == EVERY_EVENT:
        return "", EVERYTHING
    row = packed.predicates.table[predicate]
    column = packed.columns[row[tables.COLUMN]]
    if row[tables.KIND] == tables.TEXT:
        return column.name, f"matches {packed.predicates.texts[row[tables.FIRST]].pattern.regex}"
    return column.name, _codes_in_words(packed, int(row[tables.COLUMN]), token << level, level)


def _codes_in_words(packed: PackedClauses, column: int, low: int, level: int) -> str:
    """The 2^level codes from `low` on, or as many as there are."""
    last = _last_code(packed, column)
    high = min(low + (1 << level) - 1, last)
    if low <= 1 and high == last:
        return "any value"
    if low == high and low % 2 == 0:
        return f"= {_code_in_words(packed, column, low)}"
    if low == high == 1:
        return f"below {_code_in_words(packed, column, 2)}"
    if low == high == last:
        return f"above {_code_in_words(packed, column, last - 1)}"
    if low == high:
        ends = [_code_in_words(packed, column, code) for code in (low - 1, high + 1)]
        return f"between {ends[0]} and {ends[1]}"
    if low <= 1:
        return f"up to {_code_in_words(packed, column, high)}"
    if high == last:
        return f"from {_code_in_words(packed, column, low)} on"
    ends = [_code_in_words(packed, column, code) for code in (low, high)]
    return f"from {ends[0]} to {ends[1]}"


def _last_code(packed: PackedClauses, column: int) -> int:
    return packed.boundaries[column].codes - 1


def _code_in_words(packed: PackedClauses, column: int, code: int) -> str:
    """The value of a code, or the nearest boundary if it lies between two."""
    if code == 0:
        return "NULL"
    keys = packed.boundaries[column].keys
    place = min((code - 1) // 2, len(keys) - 1)
    if len(keys) == 0 or (code == 1) or (code == _last_code(packed, column)):
        return "any"
    key = keys[place] if isinstance(keys, np.ndarray) else keys[place].as_py()
    return _key_in_words(packed.columns[column], key)


def _key_in_words(column: Column, key: int | bytes) -> str:
    type_ = column.type
    if is_text(type_):
        assert isinstance(key, bytes)
        return repr(key.decode(errors="replace"))
    if isinstance(key, bytes):
        key = int.from_bytes(key, "big") - WIDE_DECIMAL_BIAS
    if is_floating(type_):
        bits = int(key) if key >= 0 else -int(key) | (1 << 63)
        return repr(struct.unpack("<d", struct.pack("<Q", bits & ((1 << 64) - 1)))[0])
    if pa.types.is_boolean(type_):
        return str(bool(key)).upper()
    if pa.types.is_date32(type_):
        return str(dt.date(1970, 1, 1) + dt.timedelta(days=int(key)))
    if pa.types.is_timestamp(type_):
        return str(dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=int(key)))
    return str(Decimal(int(key)).scaleb(-scale_of(type_), Context(prec=40)))


def _why(packed: PackedClauses, postings: Postings, needed: Needs | None, clause: int) -> str:
    predicate = postings.access[clause]
    if predicate != EVERY_EVENT:
        text = packed.predicates.texts[packed.predicates.table[predicate, tables.FIRST]]
        return f"only a pattern on {text.column.name!r}, which is searched in all its values"
    if packed.starts[clause] == packed.starts[clause + 1]:
        if needed is not None and needed.of_clause[clause] != NOTHING:
            return "it asks models alone"
        return "it is true of every event"
    return "it only says what an array lacks, or whether it is null"
