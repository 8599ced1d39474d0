"""The text of a literal → its typed value, by Spark SQL's rules.

`5` is INT, `5000000000` BIGINT, `5.0` DECIMAL(2,1), `5e0` DOUBLE; the suffixes L S Y D F BD name
the type. Strings have Spark's escapes. A string that is compared with a date or a timestamp is read
as one.
"""

from __future__ import annotations

import datetime as dt
import math
import re
import struct
import sys
from dataclasses import dataclass
from decimal import Decimal
from zoneinfo import ZoneInfo

import pyarrow as pa

from caddis.errors import EnvironmentProblem
from caddis.language.shapes import PREFIX, RAW, STRING


class LiteralProblem(ValueError):
    """A literal that Spark would refuse; the message says why."""


@dataclass(frozen=True, slots=True)
class Literal:
    """A typed value: int, Decimal, float, str or bool; days for dates, µs for timestamps."""

    type: pa.DataType
    value: int | Decimal | float | str


_INTEGER_SUFFIXES = {"Y": pa.int8(), "S": pa.int16(), "L": pa.int64()}
_MAX_PRECISION = 38


def number(kind: str, text: str, *, negative: bool) -> Literal:
    """A numeric literal, with the sign that stands before it.

    >>> number("d", "1.50", negative=True)
    Literal(type=Decimal128Type(decimal128(3, 2)), value=Decimal('-1.50'))
    """
    sign = "-" if negative else ""
    digits = text[:-2] if kind == "B" else text[:-1] if kind in "LSYDF" else text
    if not re.fullmatch(r"(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", digits):
        raise LiteralProblem(
            f"{text!r} is not a number; a column name that starts with a digit "
            "is written in backquotes"
        )
    if kind in "DFe":
        return _floating(kind, sign + digits)
    if kind in "dB":
        return _decimal(Decimal(sign + digits))
    if not digits.isdigit():
        raise LiteralProblem(f"{text!r} has a suffix for whole numbers but is not one")
    return _whole(kind, int(sign + digits), text)


def _floating(kind: str, text: str) -> Literal:
    value = float(text)
    if math.isinf(value):
        raise LiteralProblem(f"{text} is too large for a DOUBLE")
    if kind != "F":
        return Literal(pa.float64(), value)
    try:
        return Literal(pa.float32(), struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        raise LiteralProblem(f"{text} is too large for a FLOAT") from None


def _decimal(value: Decimal) -> Literal:
    _, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    scale = max(0, -exponent)
    precision = max(len(digits) + max(0, exponent), scale)
    if precision > _MAX_PRECISION:
        raise LiteralProblem(f"{value} has {precision} digits; a DECIMAL holds {_MAX_PRECISION}")
    return Literal(pa.decimal128(precision, scale), value)


def _whole(kind: str, value: int, text: str) -> Literal:
    if kind in _INTEGER_SUFFIXES:
        type_ = _INTEGER_SUFFIXES[kind]
        if not _fits(value, type_):
            raise LiteralProblem(f"{text} is out of range for its suffix")
        return Literal(type_, value)
    for type_ in (pa.int32(), pa.int64()):
        if _fits(value, type_):
            return Literal(type_, value)
    return _decimal(Decimal(value))


def _fits(value: int, type_: pa.DataType) -> bool:
    bound = 1 << int(type_.bit_width - 1)
    return -bound <= value < bound


_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([01][0-7]{2})|(.))", re.DOTALL)
_CONTROL = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a"}


def string(kind: str, text: str) -> str:
    r"""The value of a quoted string.

    >>> string("w", r"'50\% of it''s \u00e9'")
    "50\\% of it's é"
    """
    if "${" in text:
        raise LiteralProblem("Spark replaces ${...} in SQL texts, so it cannot stand in a string")
    if kind == RAW:
        return text[2:-1]
    quote, body = text[0], text[1:-1]
    if kind in (STRING, PREFIX):
        return body if body.isascii() else _whole_characters(body)
    # Each escape leaves its four groups between two plain pieces, of which one group is set.
    pieces = _ESCAPE.split(body)
    for at in range(0, len(pieces), 5):
        pieces[at] = pieces[at].replace(quote * 2, quote)
        if at:
            pieces[at - 4 : at] = [_unescaped(*pieces[at - 4 : at]), None, None, None]
    return _whole_characters("".join(piece for piece in pieces if piece is not None))


def _whole_characters(text: str) -> str:
    """Pairs of surrogates, which Java's escapes may spell, as the characters they stand for."""
    try:
        return text.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        raise LiteralProblem("there is half a character in it") from None


def _unescaped(four: str | None, eight: str | None, octal: str | None, other: str) -> str:
    if four or eight:
        number = int(four or eight or "", 16)
        if number > sys.maxunicode:
            raise LiteralProblem(f"\\U{eight} is beyond Unicode's last character")
        return chr(number)
    if octal:
        return chr(int(octal, 8))
    return f"\\{other}" if other in "%_" else _CONTROL.get(other, other)


_DAY = r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2})"
_DATE = re.compile(rf"{_DAY}(?:[ T].*)?)?)?", re.ASCII | re.DOTALL)
_STAMP = re.compile(
    rf"{_DAY}(?:[ T](\d{{1,2}})(?::(\d{{1,2}})(?::(\d{{1,2}})(?:\.(\d*))?(.*))?)?)?)?)?",
    re.ASCII | re.DOTALL,
)
_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::(\d{1,2}))?", re.ASCII)
_BLANKS = "".join(map(chr, range(0x21)))
"""What Spark trims from dates and timestamps: control characters as well as the blank."""
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MICROSECOND = dt.timedelta(microseconds=1)
FIRST_DAY = (dt.date.min - _EPOCH.date()).days
LAST_DAY = (dt.date.max - _EPOCH.date()).days
MICROSECONDS_A_DAY = 86_400_000_000


def date(text: str) -> Literal:
    """A string as a DATE.

    >>> date("2024-1-31").value
    19753
    """
    found = _DATE.fullmatch(text.strip(_BLANKS))
    try:
        if found:
            year, month, day = (int(part or 1) for part in found.groups())
            return Literal(pa.date32(), (dt.date(year, month, day) - _EPOCH.date()).days)
    except ValueError:
        pass
    raise LiteralProblem(f"{text!r} is not a date; write it as 'YYYY-MM-DD'")


def timestamp(text: str, timezone: str) -> Literal:
    """A string as a TIMESTAMP, in the session's time zone unless it names its own.

    >>> timestamp("1970-01-01 01:00:00.5", "Europe/Paris").value
    500000
    """
    local, zone = _local_time(text)
    return Literal(pa.timestamp("us", "UTC"), _instant(local, zone or _zone(timezone)))


def timestamp_ntz(text: str) -> Literal:
    """A string as a TIMESTAMP_NTZ: the wall clock's time; Spark ignores a zone in it."""
    local, _ = _local_time(text)
    return Literal(pa.timestamp("us"), _instant(local, dt.UTC))


def check_timezone(name: str) -> None:
    """Refuse a session's time zone that is not known here."""
    try:
        _zone(name)
    except (ValueError, KeyError, OSError):
        raise EnvironmentProblem(f"unknown time zone {name!r}") from None


def midnight(days: int, timezone: str) -> int:
    """The instant (µs) at which a date begins in a time zone."""
    local = dt.datetime.combine(_EPOCH.date() + dt.timedelta(days=days), dt.time())
    return _instant(local, _zone(timezone))


def _instant(local: dt.datetime, zone: dt.tzinfo) -> int:
    """µs since the epoch; a time that a zone skips moves forward, one it has twice is the first."""
    return (local.replace(tzinfo=zone) - _EPOCH) // _MICROSECOND


def _local_time(text: str) -> tuple[dt.datetime, dt.tzinfo | None]:
    found = _STAMP.fullmatch(text.strip(_BLANKS))
    try:
        if found:
            *parts, fraction, zone = found.groups()
            year, month, day = (int(part or 1) for part in parts[:3])
            hour, minute, second = (int(part or 0) for part in parts[3:])
            micros = int((fraction or "").ljust(6, "0")[:6])
            named = (zone or "").lstrip(" ")
            return dt.datetime(year, month, day, hour, minute, second, micros), _zone(
                named
            ) if named else None
    except (ValueError, KeyError, OverflowError, OSError):
        pass
    raise LiteralProblem(
        f"{text!r} is not a timestamp; write it as 'YYYY-MM-DD HH:MM:SS', with a zone after it "
        "if it is not the session's"
    )


def _zone(name: str) -> dt.tzinfo:
    if name in ("Z", "UTC", "GMT", "UT"):
        return dt.UTC
    offset = _OFFSET.fullmatch(name)
    if not offset:
        return ZoneInfo(name)
    hours, minutes = int(offset[2]), int(offset[3] or 0)
    if 60 * hours + minutes > 18 * 60 or minutes > 59:
        raise ValueError("a zone is at most 18 hours from UTC")
    sign = -1 if offset[1] == "-" else 1
    return dt.timezone(sign * dt.timedelta(hours=hours, minutes=minutes))
