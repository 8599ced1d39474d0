"""`column operator literal` → the set of the column's keys for which it is true.

Spark first brings both sides to a common type. Comparing in that type is always monotone in the
column's key, so every comparison is an interval of keys; where the common type is coarser than
the column (a BIGINT against a DOUBLE), the interval's ends are found by bisection.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction

import pyarrow as pa

from caddis.language import literals
from caddis.language.columns import (
    exact_limits,
    float_key,
    is_exact,
    is_floating,
    is_instant,
    is_text,
    scale_of,
    sql_type,
)
from caddis.language.literals import Literal
from caddis.language.predicates import HIGHEST, LOWEST, Cut, ValueSet, after, before


class TypeMismatch(TypeError):
    """The column and the literal have no common type; names both."""

    def __init__(self, column_type: pa.DataType, literal: Literal, hint: str = "") -> None:
        message = f"type mismatch: the column is {sql_type(column_type)}, the literal "
        super().__init__(f"{message}{sql_type(literal.type)}{hint and '; '}{hint}")


def interval(operator: str, low: Cut, high: Cut) -> ValueSet:
    """The values of which a comparison is true, if the literal equals the keys between two cuts."""
    if operator in ("=", "<=>"):
        return ValueSet.interval(low, high)
    if operator in ("<", "<="):
        return ValueSet.interval(LOWEST, low if operator == "<" else high)
    return ValueSet.interval(high if operator == ">" else low, HIGHEST)


def compare(type_: pa.DataType, operator: str, literal: Literal, timezone: str) -> ValueSet:
    """The keys of a column of this type for which the comparison is true.

    >>> price_below = compare(pa.int32(), "<", literals.number("d", "1.5", negative=False), "UTC")
    >>> 1 in price_below, 2 in price_below
    (True, False)
    """
    return interval(operator, *equal_range(type_, literal, timezone))


def equal_range(type_: pa.DataType, literal: Literal, timezone: str) -> tuple[Cut, Cut]:
    """The cuts around the keys that equal the literal; the same cut twice if no key does."""
    if is_exact(type_):
        return _exact(type_, literal)
    if is_floating(type_):
        return _floating(type_, literal)
    if is_text(type_) and is_text(literal.type):
        return _point(str(literal.value).encode())
    if pa.types.is_boolean(type_) and pa.types.is_boolean(literal.type):
        return _point(int(literal.value))
    if pa.types.is_date32(type_):
        return _date(literal, timezone)
    if pa.types.is_timestamp(type_):
        return _timestamp(type_, literal, timezone)
    raise TypeMismatch(type_, literal)


def _point(key: int | bytes) -> tuple[Cut, Cut]:
    return before(key), after(key)


def _exact(type_: pa.DataType, literal: Literal) -> tuple[Cut, Cut]:
    if is_floating(literal.type):
        return _exact_as_floating(type_, literal)
    if not is_exact(literal.type):
        raise TypeMismatch(type_, literal)
    check_digits(type_, [literal])
    assert isinstance(literal.value, int | Decimal)
    if pa.types.is_integer(type_) and not -(1 << 63) <= literal.value < 1 << 63:
        raise TypeMismatch(type_, literal, "it is beyond the range of BIGINT")
    scaled = Fraction(literal.value) * 10 ** scale_of(type_)
    floor = scaled.numerator // scaled.denominator
    low, high = (before(floor), after(floor)) if floor == scaled else (after(floor),) * 2
    return _clamped(low, type_), _clamped(high, type_)


def check_digits(type_: pa.DataType, items: Sequence[Literal], *, listed: bool = False) -> None:
    """Refuse what overflows Spark's widest decimal, 38 digits, in the common type.

    In a list (IN, array_contains) Spark gives whole numbers their type's full width.
    """
    shapes = [_digits(type_)]
    for item in items:
        narrow = pa.types.is_integer(item.type) and not listed
        shapes.append((len(str(abs(int(item.value)))), 0) if narrow else _digits(item.type))
    decimals = any(pa.types.is_decimal(t) for t in (type_, *(item.type for item in items)))
    if decimals and max(whole for whole, _ in shapes) + max(scale for _, scale in shapes) > 38:
        raise TypeMismatch(type_, items[0], "together they need more than DECIMAL's 38 digits")


_WHOLE_DIGITS = {8: 3, 16: 5, 32: 10, 64: 20}
"""The digits that Spark gives to a whole number of so many bits when it becomes a DECIMAL."""


def _digits(type_: pa.DataType) -> tuple[int, int]:
    """Digits before and behind the point that Spark gives to an exact type."""
    if pa.types.is_decimal(type_):
        return type_.precision - type_.scale, type_.scale
    return _WHOLE_DIGITS[type_.bit_width], 0


def _refuse_in_array(type_: pa.DataType, element: Literal) -> None:
    if is_text(element.type) and not is_text(type_):
        raise TypeMismatch(type_, element)
    floats = pa.types.is_float32(type_), pa.types.is_float32(element.type)
    if any(floats) and (pa.types.is_integer(type_) or pa.types.is_integer(element.type)):
        raise TypeMismatch(type_, element, "give it the elements' type, as in 5F or 5D")


def listed_together(
    type_: pa.DataType, items: Sequence[Literal], *, in_array: bool
) -> list[Literal]:
    """The literals of an IN list or array_contains, in the one type that Spark gives them all.

    array_contains (`in_array`) does not cast strings, and compares FLOAT with whole numbers as
    FLOAT, which is refused.
    """
    if in_array:
        _refuse_in_array(type_, items[0])
    if is_exact(type_) and all(is_exact(item.type) for item in items):
        check_digits(type_, items, listed=True)
    elif is_exact(type_) and all(is_exact(i.type) or is_floating(i.type) for i in items):
        return [Literal(pa.float64(), float(item.value)) for item in items]
    stamps = [item for item in items if pa.types.is_timestamp(item.type)]
    if pa.types.is_date32(type_) and stamps and len(stamps) < len(items):
        raise TypeMismatch(type_, stamps[0], "do not mix it with other types in one list")
    return list(items)


def _clamped(cut: Cut, type_: pa.DataType) -> Cut:
    low, high = exact_limits(type_)
    if cut <= before(low):
        return LOWEST
    return HIGHEST if cut >= after(high) else cut


def _exact_as_floating(type_: pa.DataType, literal: Literal) -> tuple[Cut, Cut]:
    """Spark rounds the column's value to the floating type and compares there."""
    divisor = 10 ** scale_of(type_)
    target = Fraction(float(literal.value))

    def rounded(key: int) -> Fraction:
        return Fraction(key / divisor)

    lowest, highest = exact_limits(type_)
    low = _bisect(lowest, highest + 1, lambda key: rounded(key) >= target)
    high = _bisect(low, highest + 1, lambda key: rounded(key) > target)
    return _clamped(before(low), type_), _clamped(before(high), type_)


def _bisect(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """The first integer of [low, high) for which a monotone condition holds, or high."""
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low


def _floating(type_: pa.DataType, literal: Literal) -> tuple[Cut, Cut]:
    if not (is_exact(literal.type) or is_floating(literal.type)):
        raise TypeMismatch(type_, literal)
    return _point(float_key(float(literal.value)))


def _date(literal: Literal, timezone: str) -> tuple[Cut, Cut]:
    if is_text(literal.type):
        literal = literals.date(str(literal.value))
    if pa.types.is_date32(literal.type):
        return _point(int(literal.value))
    if not is_instant(literal.type):
        raise TypeMismatch(pa.date32(), literal)
    instant = int(literal.value)
    # Zones are at most 18 hours from UTC, so the day lies within two of that of UTC.
    guess = instant // literals.MICROSECONDS_A_DAY
    low = max(guess - 2, literals.FIRST_DAY)
    high = min(guess + 3, literals.LAST_DAY + 1)
    first = _bisect(low, high, lambda key: literals.midnight(key, timezone) >= instant)
    last = _bisect(first, high, lambda key: literals.midnight(key, timezone) > instant)
    return before(first), before(last)


def _timestamp(type_: pa.DataType, literal: Literal, timezone: str) -> tuple[Cut, Cut]:
    zoned = is_instant(type_)
    if is_text(literal.type):
        text = str(literal.value)
        literal = literals.timestamp(text, timezone) if zoned else literals.timestamp_ntz(text)
    if pa.types.is_date32(literal.type):
        days = int(literal.value)
        return _point(
            literals.midnight(days, timezone) if zoned else days * literals.MICROSECONDS_A_DAY
        )
    if not pa.types.is_timestamp(literal.type):
        raise TypeMismatch(type_, literal)
    if is_instant(literal.type) != zoned:
        keyword = "TIMESTAMP" if zoned else "TIMESTAMP_NTZ"
        raise TypeMismatch(type_, literal, f"write {keyword} '...'")
    return _point(int(literal.value))
