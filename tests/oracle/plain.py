"""A WHERE clause over one event, evaluated as plainly as can be: the second oracle.

Three-valued logic, with None for unknown. Numbers are compared exactly unless one side is
approximate, then both are; NaN equals itself and is above all; texts are compared by their bytes;
a date that meets a timestamp is its midnight in UTC.
"""

from __future__ import annotations

import datetime as dt
import math
import operator
import re
from collections.abc import Iterable
from typing import Any

from tests.oracle.clauses import Atom, Constant, Node, Not
from tests.oracle.patterns import like

Truth = bool | None
ORDERED = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


def truth(node: Node, row: dict[str, Any]) -> Truth:
    """Whether the clause is true of the row, false or, as None, unknown."""
    if isinstance(node, Constant):
        return node.value
    if isinstance(node, Not):
        return negated(truth(node.part, row))
    if isinstance(node, Atom):
        return tested(node, node.leaf.value_in(row))
    answers = [truth(part, row) for part in node.parts]
    return any_of(answers) if node.joint == "OR" else all_of(answers)


def negated(answer: Truth) -> Truth:
    return None if answer is None else not answer


def any_of(answers: Iterable[Truth]) -> Truth:
    answers = list(answers)
    return True if True in answers else None if None in answers else False


def all_of(answers: Iterable[Truth]) -> Truth:
    return negated(any_of(negated(answer) for answer in answers))


def tested(atom: Atom, value: Any) -> Truth:
    test, operands = atom.test, atom.operands
    if test == "null":
        return value is None
    if test == "<=>" and (value is None or operands[0] is None):
        return value is operands[0]
    if test == "in":
        return found(value, operands)
    if test == "contains":
        return None if value is None else found(operands[0], value)
    signs = (">=", "<=") if test == "between" else (test,)
    return all_of(compared(sign, value, x) for sign, x in zip(signs, operands, strict=True))


def found(value: Any, candidates: Iterable[Any]) -> Truth:
    """Spark brings all candidates to one type: one approximate number makes all of them so."""
    numbers = [value, *candidates]
    if any(isinstance(number, float) for number in numbers):
        numbers = [None if number is None else float(number) for number in numbers]
    return any_of(compared("=", numbers[0], number) for number in numbers[1:])


def compared(test: str, value: Any, other: Any) -> Truth:
    if value is None or other is None:
        return None
    if test == "rlike":
        return re.search(other, value, re.ASCII) is not None
    if test == "like":
        return like(value, other)
    if test == "ilike":
        return like(value.lower(), other.lower())
    return bool(ORDERED.get(test, operator.eq)(*keys(value, other)))


def keys(value: Any, other: Any) -> tuple[Any, Any]:
    """Both values in a type in which Python orders them as Spark does."""
    if isinstance(value, str):
        return value.encode(), other.encode()
    if isinstance(value, float) or isinstance(other, float):
        return floating(value), floating(other)
    if isinstance(value, dt.datetime) or isinstance(other, dt.datetime):
        return instant(value), instant(other)
    return value, other


def floating(number: Any) -> tuple[bool, float]:
    return (True, 0.0) if math.isnan(number) else (False, float(number))


def instant(moment: dt.date) -> dt.datetime:
    if not isinstance(moment, dt.datetime):
        moment = dt.datetime(moment.year, moment.month, moment.day)
    return moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)
