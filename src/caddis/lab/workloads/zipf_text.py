"""The subscriptions of the synthetic workload, written as WHERE clauses.

A million of them take some seconds: predicates are written operator by operator, each time for
all subscriptions at once, and then put back in their order and joined by AND.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from caddis.lab.workloads.zipf import (
    ATTRIBUTES,
    CATEGORICAL,
    EQUALITY,
    SHAPES,
    WHOLE,
    WORDS,
    Ints,
    Operator,
    Predicates,
    zipf_predicates,
)


def zipf_subscriptions(
    n: int, seed: int, shapes: int | None = SHAPES, equality: float = EQUALITY
) -> pa.Table:
    """`n` subscriptions as a table (subscription_id, where).

    Their texts share `shapes` shapes, that is, differ in literals only. With None each predicate
    chooses its column freely: then a million subscriptions have some 700,000 shapes. `equality` is
    the share of predicates that are equalities; the others keep their proportions.

    >>> print(zipf_subscriptions(1, seed=3)["where"][0])
    c11 = 'nibani' AND c15 = 'gucefo' AND n6 < 473.28
    """
    predicates = zipf_predicates(n, seed, shapes, equality)
    ids = pa.array(np.arange(n, dtype=np.int64))
    return pa.table({"subscription_id": ids, "where": _texts(predicates)})


def _texts(predicates: Predicates) -> pa.Array:
    """Each subscription's predicates joined by AND."""
    parts = [np.flatnonzero(predicates.operator == operator) for operator in Operator]
    written = [_written(*part, predicates) for part in zip(Operator, parts, strict=True)]
    place = pa.array(np.argsort(np.concatenate(parts)))
    offsets = pa.array(predicates.offsets.astype(np.int32))
    lists = pa.ListArray.from_arrays(offsets, pa.concat_arrays(written).take(place))
    return pc.binary_join(lists, " AND ")


def _written(operator: Operator, rows: Ints, predicates: Predicates) -> pa.Array:
    """The text of those predicates, which all have this operator."""
    column, low, high = predicates.column[rows], predicates.low[rows], predicates.high[rows]
    name = pa.array(ATTRIBUTES).take(pa.array(column))
    match operator:
        case Operator.EQUAL:
            return _glued(name, " = '", _word(low), "'")
        case Operator.IN:
            return _glued(name, " IN (", _listed(predicates.members[rows]), ")")
        case Operator.PREFIX:
            return _glued(name, " LIKE '", _prefix(low, high), "%'")
        case Operator.BELOW:
            return _glued(name, " < ", _number(column, high + 1))
        case Operator.AT_MOST:
            return _glued(name, " <= ", _number(column, high))
        case Operator.ABOVE:
            return _glued(name, " > ", _number(column, low - 1))
        case Operator.AT_LEAST:
            return _glued(name, " >= ", _number(column, low))
        case _:
            return _glued(name, " BETWEEN ", _number(column, low), " AND ", _number(column, high))


def _glued(*parts: pa.Array | str) -> pa.Array:
    return pc.binary_join_element_wise(*parts, "")


def _word(code: Ints) -> pa.Array:
    return pa.array(WORDS).take(pa.array(code))


def _prefix(low: Ints, high: Ints) -> pa.Array:
    """What all words from low to high begin with: one syllable or two."""
    word = _word(low)
    one, two = (pc.utf8_slice_codeunits(word, 0, letters) for letters in (2, 4))
    return pc.if_else(pa.array(high - low > 10), one, two)


def _listed(members: Ints) -> pa.Array:
    """`'a', 'b'` of each row's members."""
    quoted = pa.array([f"'{word}'" for word in WORDS])
    columns = [quoted.take(pa.array(codes, mask=codes < 0)) for codes in members.T]
    return pc.binary_join_element_wise(*columns, ", ", null_handling="skip")


def _number(column: Ints, units: Ints) -> pa.Array:
    """Units as a literal: whole for bigint columns, with two decimals for double ones."""
    whole = pc.cast(pa.array(units), pa.string())
    euros, cents = np.divmod(np.abs(units), 100)
    tail = pc.utf8_lpad(pc.cast(pa.array(cents), pa.string()), 2, "0")
    sign = pc.if_else(pa.array(units < 0), "-", "")
    decimal = _glued(sign, pc.cast(pa.array(euros), pa.string()), ".", tail)
    return pc.if_else(pa.array(column >= len(CATEGORICAL) + len(WHOLE)), decimal, whole)
