"""What the benchmark of matching compares Caddis with, except for what needs Spark.

`CountingMatcher` is the classic counting algorithm: every predicate of an event's attributes
adds one to its subscription, and a subscription matches when its count reaches its size.
`join_table` prepares the subscriptions for the join that a Spark user would write by hand: each
stands under its rarest token, with all of its predicates, which the join then verifies.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from caddis.arrays import offsets_of
from caddis.lab.workloads import (
    ATTRIBUTES,
    CATEGORICAL,
    SYLLABLES,
    WHOLE,
    WORDS,
    Ints,
    Operator,
    Predicates,
)

VALUES = len(WORDS)


@dataclass(frozen=True, slots=True)
class Intervals:
    """The range and prefix predicates of one attribute."""

    low: Ints
    high: Ints
    subscription: Ints


class CountingMatcher:
    """Count satisfied predicates per subscription, one event at a time.

    Equalities and IN lists are posting lists by (attribute, value): subscriptions
    postings[starts[t]:starts[t + 1]] for t = attribute * VALUES + value. Ranges and prefixes are
    compared one attribute at a time. No list holds a subscription twice, as its columns are
    distinct, so that counts can be added without a loop.
    """

    def __init__(self, predicates: Predicates) -> None:
        self._size = np.diff(predicates.offsets).astype(np.uint8)
        owner = predicates.subscription
        token, subscription = _tokens(predicates, owner)
        order = np.argsort(token, kind="stable")
        self._postings = subscription[order]
        self._starts = np.searchsorted(token[order], np.arange(len(ATTRIBUTES) * VALUES + 1))
        ranged = predicates.operator >= Operator.PREFIX
        self._intervals = []
        for attribute in range(len(ATTRIBUTES)):
            rows = np.flatnonzero(ranged & (predicates.column == attribute))
            bounds = predicates.low[rows], predicates.high[rows]
            self._intervals.append(Intervals(*bounds, owner[rows]))

    def match(self, codes: Ints) -> tuple[Ints, Ints]:
        """The pairs (event, subscription) of codes[attribute, event], in order."""
        found = [self._match_one(event) for event in codes.T]
        rows = np.repeat(np.arange(len(found)), [len(links) for links in found])
        return rows, np.concatenate([np.empty(0, np.int64), *found])

    def _match_one(self, event: Ints) -> Ints:
        count = np.zeros(len(self._size), np.uint8)
        for attribute in np.flatnonzero(event >= 0):
            value = event[attribute]
            if attribute < len(CATEGORICAL):
                token = attribute * VALUES + value
                count[self._postings[self._starts[token] : self._starts[token + 1]]] += 1
            near = self._intervals[attribute]
            count[near.subscription[(near.low <= value) & (near.high >= value)]] += 1
        return np.flatnonzero(count == self._size)


def join_table(predicates: Predicates, codes: Ints) -> pa.Table:
    """The subscriptions for the hand-written join: (subscription_id, token, predicates).

    A token is `column=value` of the equality that is rarest among the events `codes`; failing
    that, one row for each value of an IN list; failing that, the name of a column that the event
    must have. A predicate is (place, operator, low, high, words): its column's place among the
    string or the numeric attributes, and what to compare it with.
    """
    subscription, token = _access(predicates, codes)
    listed = pa.ListArray.from_arrays(
        pa.array(predicates.offsets.astype(np.int32)), _structs(predicates)
    )
    columns = {
        "subscription_id": pa.array(subscription),
        "token": token,
        "predicates": listed.take(pa.array(subscription)),
    }
    return pa.table(columns)


def _tokens(predicates: Predicates, owner: Ints) -> tuple[Ints, Ints]:
    """Every (attribute, value) that an equality or an IN list names, and the subscriptions."""
    equal = predicates.operator == Operator.EQUAL
    rows, place = np.nonzero(predicates.members >= 0)
    values = np.concatenate([predicates.low[equal], predicates.members[rows, place]])
    columns = np.concatenate([predicates.column[equal], predicates.column[rows]])
    return columns * VALUES + values, np.concatenate([owner[equal], owner[rows]])


def _access(predicates: Predicates, codes: Ints) -> tuple[Ints, pa.Array]:
    """The tokens under which each subscription is found, one row per subscription and token."""
    present = (codes >= 0).sum(axis=1)
    frequency = np.zeros((len(CATEGORICAL), VALUES), np.int64)
    for attribute in range(len(CATEGORICAL)):
        seen = codes[attribute][codes[attribute] >= 0]
        frequency[attribute] = np.bincount(seen, minlength=VALUES)
    column, operator = predicates.column, predicates.operator
    cost = present[column].astype(np.int64) + (2 << 40)
    cost[operator == Operator.IN] = 1 << 40
    equal = np.flatnonzero(operator == Operator.EQUAL)
    cost[equal] = frequency[column[equal], predicates.low[equal]]
    best = np.lexsort((cost, predicates.subscription))[predicates.offsets[:-1]]
    return _spelled(predicates, best)


def _spelled(predicates: Predicates, best: Ints) -> tuple[Ints, pa.Array]:
    """The tokens of the chosen predicates, one predicate a subscription."""
    operator = predicates.operator[best]
    values = np.where(operator == Operator.EQUAL, predicates.low[best], -1)[:, None]
    values = np.concatenate([values, predicates.members[best]], axis=1)
    named = (operator != Operator.EQUAL) & (operator != Operator.IN)
    rows, place = np.nonzero(values >= 0)
    names = np.array(ATTRIBUTES)[predicates.column[best]]
    words = np.array(WORDS)[values[rows, place]]
    spelled = np.char.add(np.char.add(names[rows], "="), words)
    subscription = np.concatenate([rows, np.flatnonzero(named)])
    return subscription, pa.array(np.concatenate([spelled, names[named]]))


def _structs(predicates: Predicates) -> pa.Array:
    column, operator = predicates.column, predicates.operator
    strings = column < len(CATEGORICAL)
    scale = np.where(column < len(CATEGORICAL) + len(WHOLE), 1.0, 100.0)
    place = np.where(strings, column, column - len(CATEGORICAL))
    fields = {
        "place": pa.array(place.astype(np.int32)),
        "operator": pa.array(np.where(strings, operator, Operator.BETWEEN).astype(np.int8)),
        "low": pa.array(predicates.low / scale),
        "high": pa.array(predicates.high / scale),
        "words": _words(predicates),
    }
    return pa.StructArray.from_arrays(list(fields.values()), list(fields))


def _words(predicates: Predicates) -> pa.Array:
    """The strings that a predicate compares with: a value, a list of them, or a prefix."""
    low, operator = predicates.low, predicates.operator
    spoken = predicates.members.copy()
    equal = operator == Operator.EQUAL
    spoken[equal, 0] = low[equal]
    prefix = operator == Operator.PREFIX
    short = predicates.high - low > 10
    begins = np.where(short, VALUES + low // 100, VALUES + len(SYLLABLES) + low // 10)
    spoken[prefix, 0] = begins[prefix]
    pairs = [a + b for a in SYLLABLES for b in SYLLABLES]
    vocabulary = pa.array([*WORDS, *SYLLABLES, *pairs])
    offsets = offsets_of((spoken >= 0).sum(axis=1), np.int32)
    chosen = vocabulary.take(pa.array(spoken[spoken >= 0]))
    return pa.ListArray.from_arrays(pa.array(offsets), chosen)
