"""Values → literals of Spark SQL, in every way that one may write them.

A `Literal` is the text together with what the text then means, which is not always the value that
it was made from: `0.1F` is not 0.1. The meaning is a Python value whose type stands for Spark's:
int and Decimal are exact, float is approximate, str, date, aware and naive datetime.
"""

from __future__ import annotations

import datetime as dt
import math
import struct
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa

from tests.oracle.events import random_value

_LONGEST = 9
"""Decimal literals of this many digits after the point never exceed Spark's 38 with SCALARS."""


@dataclass(frozen=True, slots=True)
class Literal:
    text: str
    value: Any


NULL = Literal("NULL", None)


def random_literal(random: Random, type_: pa.DataType, seen: list[Any], zone: str) -> Literal:
    """A literal that fits a column, more often than not one that occurs in its data."""
    if random.random() < 0.04:
        return NULL
    value = random.choice(seen) if seen and random.random() < 0.7 else random_value(random, type_)
    if isinstance(value, bool):
        return Literal(random.choice(("TRUE", "true") if value else ("FALSE", "false")), value)
    if isinstance(value, str):
        return Literal(quoted(random, value), value)
    if isinstance(value, dt.datetime):
        return _moment(random, value, zone)
    if isinstance(value, dt.date):
        return _date(random, value)
    if isinstance(value, float):
        return _number_near_float(random, value)
    return _number(random, value)


# -- numbers


def _number(random: Random, value: int | Decimal) -> Literal:
    nudged = value + random.choice((0, 0, 0, 0, 1, -1))
    if isinstance(nudged, Decimal):
        return _decimal(random, nudged)
    if not _fits(nudged, 64):
        nudged = int(value)
    if random.random() < 0.25:
        return _decimal(random, Decimal(nudged))
    if random.random() < 0.2:
        return _approximate(random, str(nudged))
    suffixes = [s for s, bits in (("Y", 8), ("S", 16), ("L", 64)) if _fits(nudged, bits)]
    suffix = random.choice(["", "", "", "", *suffixes])
    return Literal(f"{_sign(random, nudged)}{abs(nudged)}{_case(random, suffix)}", nudged)


def _fits(value: int, bits: int) -> bool:
    return -(1 << (bits - 1)) <= value < 1 << (bits - 1)


def _sign(random: Random, value: int | Decimal | float) -> str:
    return random.choice(("-", "-", "- ")) if value < 0 else ""


def _case(random: Random, suffix: str) -> str:
    return suffix if random.random() < 0.7 else suffix.lower()


def _decimal(random: Random, value: Decimal) -> Literal:
    text = format(abs(value), "f")
    if "." not in text:
        half = ".5" if abs(value) < 1 << 62 else ".0"
        text += random.choice((".", ".0", half, "BD", ".000"))
    elif random.random() < 0.3:
        fraction = len(text) - text.index(".") - 1
        text += random.choice(("0", "5", "00", "BD")) if fraction < _LONGEST - 1 else ""
    elif random.random() < 0.2:
        return _approximate(random, format(value, "f"))
    meaning = Decimal(text.removesuffix("BD"))
    sign = _sign(random, value)
    return Literal(sign + text, -meaning if sign else meaning)


def _approximate(random: Random, digits: str) -> Literal:
    """A DOUBLE or FLOAT literal with these digits."""
    suffix = random.choice(("D", "D", "e0", "E+0", "e0D", "F"))
    value = float(digits)
    if suffix == "F":
        value = float32(value)
    return Literal(digits + suffix, value)


def float32(value: float) -> float:
    return float(struct.unpack("<f", struct.pack("<f", value))[0])


def _number_near_float(random: Random, value: float) -> Literal:
    if not math.isfinite(value):
        value = random.choice((1.5, 3.4e38, -3.4e38))
    if random.random() < 0.2:
        value = math.nextafter(value, random.choice((-math.inf, math.inf)))
    if random.random() < 0.3 and value.is_integer() and abs(value) < 1e15:
        return _number(random, int(value))
    plain = format(Decimal(repr(value)), "f")
    if random.random() < 0.4 and len(plain) < 30 and "." in plain:
        return Literal(plain, Decimal(plain))
    if "e" in repr(value):
        return Literal(repr(value) + random.choice(("", "D", "d")), value)
    return _approximate(random, repr(value))


# -- dates and timestamps


def _date(random: Random, value: dt.date) -> Literal:
    text = value.isoformat()
    if random.random() < 0.3:
        text = f"{value.year}-{value.month}-{value.day}"
    if random.random() < 0.4:
        return Literal(f"'{text}{random.choice(('', '', ' ', 'T', ' 10:30:00'))}'", value)
    return Literal(f"{random.choice(('DATE ', 'date', 'Date  '))}'{text}'", value)


def other_calendar_literal(random: Random, literal: Literal, zone: str) -> Literal:
    """The date of a timestamp, or the midnight of a date: Spark compares the two as timestamps."""
    value = literal.value
    if isinstance(value, dt.datetime):
        here = value if value.tzinfo is None else value.astimezone(ZoneInfo(zone))
        return Literal(f"DATE '{here.date()}'", here.date())
    hours = random.choice((0, 0, 1))
    midnight = dt.datetime(value.year, value.month, value.day, hours, tzinfo=ZoneInfo(zone))
    return Literal(f"TIMESTAMP '{value} {hours:02d}:00:00'", midnight)


def _moment(random: Random, value: dt.datetime, zone: str) -> Literal:
    if random.random() < 0.2:
        value += random.choice((-1, 1)) * dt.timedelta(microseconds=random.choice((1, 10**6)))
    if value.tzinfo is None:
        keyword, text = "TIMESTAMP_NTZ ", _clock(random, value)
        offset = ""
    else:
        keyword, (text, offset) = "TIMESTAMP ", _zoned_clock(random, value, zone)
    if random.random() < 0.4:
        keyword = ""
    return Literal(f"{keyword}'{text}{offset}'", value)


def _zoned_clock(random: Random, value: dt.datetime, zone: str) -> tuple[str, str]:
    if random.random() < 0.6:
        return _clock(random, value.astimezone(ZoneInfo(zone))), ""
    hours = random.choice((0, 0, 1, -5))
    there = value.astimezone(dt.timezone(dt.timedelta(hours=hours)))
    offset = random.choice(("Z", " UTC", "+00:00")) if not hours else f"{hours:+03d}:00"
    return there.strftime("%Y-%m-%d %H:%M:%S.%f"), offset


def _clock(random: Random, value: dt.datetime) -> str:
    text = value.replace(tzinfo=None).isoformat(sep=random.choice(" T"))
    if value.microsecond:
        return text if value.microsecond % 10 else text.rstrip("0")
    if value.second == 0 and random.random() < 0.3:
        text = text[:-3]
    return text


# -- strings


def quoted(random: Random, value: str) -> str:
    """A string literal in one of Spark's notations."""
    quote = random.choice("''''\"")
    if random.random() < 0.1 and quote not in value:
        return f"{random.choice('rR')}{quote}{value}{quote}"
    pieces = [_piece(random, char, quote) for char in value]
    for at, (piece, following) in enumerate(pairwise(value)):
        if piece == "\\" and following in "%_" and random.random() < 0.5:
            pieces[at : at + 2] = ["\\", following]
    return quote + "".join(pieces) + quote


_NAMED = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\\": "\\\\"}


def _piece(random: Random, char: str, quote: str) -> str:
    if char == quote:
        return random.choice((quote * 2, f"\\{quote}"))
    if char == "\\" or (char in _NAMED and random.random() < 0.7):
        return _NAMED[char]
    if char == "\0" or random.random() < 0.03:
        return f"\\u{ord(char):04x}" if ord(char) < 0x10000 else f"\\U{ord(char):08X}"
    return char
