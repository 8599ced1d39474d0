"""Reads a WHERE clause's shape into its tree: sqlglot parses, and this decides what is supported.

Whatever is refused is refused here, with its place in the text, so that later steps meet only what
they can do. All that is left to them is what depends on a literal's value.
"""

from __future__ import annotations

import re
from functools import lru_cache

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError

from caddis.language import tree
from caddis.language.columns import (
    UTF8_BINARY,
    Column,
    Columns,
    UnknownColumn,
    Vocabulary,
    is_comparable,
    is_text,
    sql_type,
)
from caddis.language.refusals import (
    PREAMBLE,
    TOO_DEEP,
    ShapeProblem,
    refuse_by_sight,
    syntax_problem,
    unclosed,
)
from caddis.language.shapes import CONCEPT_STAND_IN, TEXT_KINDS, Shape
from caddis.language.tree import Atom, Operand, Slot, Test

SUPPORTED = (
    "= <> < <= > >= <=>, BETWEEN, IN, LIKE, ILIKE, RLIKE, IS NULL, array_contains, "
    "Boolean columns, concepts, AND, OR, NOT"
)
_COMPARISONS: dict[type[exp.Expr], Test] = {
    exp.EQ: Test.EQUAL,
    exp.LT: Test.LESS,
    exp.LTE: Test.AT_MOST,
    exp.GT: Test.MORE,
    exp.GTE: Test.AT_LEAST,
    exp.NullSafeEQ: Test.SAME,
}
_MIRRORED = {
    Test.LESS: Test.MORE,
    Test.AT_MOST: Test.AT_LEAST,
    Test.MORE: Test.LESS,
    Test.AT_LEAST: Test.AT_MOST,
}
_TEXT_TESTS: dict[type[exp.Expr], Test] = {
    exp.Like: Test.LIKE,
    exp.ILike: Test.ILIKE,
    exp.RegexpLike: Test.RLIKE,
}
_CASTS = {
    exp.DType.DATE: "DATE",
    exp.DType.TIMESTAMPTZ: "TIMESTAMP",
    exp.DType.TIMESTAMPLTZ: "TIMESTAMP",
    exp.DType.TIMESTAMP: "TIMESTAMP",
    exp.DType.TIMESTAMPNTZ: "TIMESTAMP_NTZ",
}


def read(shape: Shape, columns: Columns, concepts: Vocabulary | None = None) -> tree.Node:
    """The tree of a shape, with its columns found and their types checked.

    concepts: the concepts that may be called; None allows any.
    """
    template = shape.template()
    refuse_by_sight(shape, template)
    try:
        return _Reader(shape, columns, concepts).whole(_parsed(template))
    except RecursionError:
        raise ShapeProblem(TOO_DEEP) from None


def _parsed(template: str) -> exp.Expr:
    try:
        return sqlglot.parse_one(f"{PREAMBLE}{template}", read="spark")
    except ParseError as error:
        raise syntax_problem(error, template) from None
    except SqlglotError:
        raise unclosed(template) from None
    except (LookupError, TypeError, ValueError):
        # sqlglot trips over calls of some of SQL's functions with too few arguments: map(price).
        raise ShapeProblem("a function is called here as SQL does not allow") from None


@lru_cache(maxsize=100_000)
def is_plain_name(name: str) -> bool:
    """Whether sqlglot reads calls of the name like those of any other, not as SQL's own."""
    return name.isidentifier() and _calls_of(name) == _calls_of(CONCEPT_STAND_IN)


def _calls_of(name: str) -> list[type[exp.Expr]]:
    """The kinds of nodes that calls of the name are read as, wherever a condition may stand."""
    calls = f"{PREAMBLE}{name}(x) AND NOT {name}(x) OR ({name}(x))"
    try:
        return [type(node) for node in sqlglot.parse_one(calls, read="spark").walk()]
    except (SqlglotError, IndexError):  # the latter of map(x)
        return []


class _Reader:
    """Turns sqlglot's nodes into ours, and keeps track of which literal is which."""

    def __init__(self, shape: Shape, columns: Columns, concepts: Vocabulary | None) -> None:
        self.shape = shape
        self.columns = columns
        self.concepts = concepts
        self.slots = shape.slot_starts()
        self.template = shape.template()

    def whole(self, select: exp.Expr) -> tree.Node:
        where = select.args.get("where")
        extra = [key for key, value in select.args.items() if value and key not in _SELECT_PARTS]
        if not isinstance(select, exp.Select) or where is None or extra:
            raise ShapeProblem("write the condition alone, without other parts of a query")
        return self.node(where.this)

    def node(self, at: exp.Expr) -> tree.Node:
        if isinstance(at, exp.Paren):
            return self.node(at.this)
        if isinstance(at, exp.And):
            return tree.And(tuple(self.node(part) for part in at.flatten()))
        if isinstance(at, exp.Or):
            return tree.Or(tuple(self.node(part) for part in at.flatten()))
        if isinstance(at, exp.Not):
            return tree.Not(self.node(at.this))
        if isinstance(at, exp.Boolean):
            return tree.Constant(bool(at.this))
        if isinstance(at, exp.Null):
            return tree.Constant(None)
        return self.atom(at)

    def atom(self, at: exp.Expr) -> tree.Node:
        if isinstance(at, exp.NEQ):
            return tree.Not(self.comparison(at, Test.EQUAL))
        if isinstance(at, exp.NullSafeNEQ):
            return tree.Not(self.comparison(at, Test.SAME))
        if type(at) in _COMPARISONS:
            return self.comparison(at, _COMPARISONS[type(at)])
        if isinstance(at, exp.Between):
            return self.between(at)
        if isinstance(at, exp.In):
            return self.membership(at)
        if isinstance(at, exp.Is):
            return self.is_test(at)
        if type(at) in _TEXT_TESTS or isinstance(at, exp.Escape):
            return self.text_test(at)
        if isinstance(at, exp.ArrayContains):
            return self.contains(at)
        if self.is_column(at):
            return Atom(self.boolean(at), Test.EQUAL, (True,))
        if isinstance(at, exp.Anonymous):
            return self.concept(at)
        raise self.unsupported(at)

    def comparison(self, at: exp.Expr, test: Test) -> tree.Node:
        left, right = at.this, at.expression
        if not self.is_column(left) and self.is_column(right):
            left, right, test = right, left, _MIRRORED.get(test, test)
        column = self.comparable(left)
        if self.is_column(right):
            raise self.problem("a column can be compared with a literal only", right)
        operand = self.operand(right)
        self.check_boolean(column, operand, at)
        if test is Test.SAME and operand is None:
            return Atom(column, Test.NULL)
        return Atom(column, test, (operand,))

    def between(self, at: exp.Between) -> tree.Node:
        if at.args.get("symmetric"):
            raise self.unsupported(at)
        column = self.comparable(at.this)
        low, high = self.operand(at.args["low"]), self.operand(at.args["high"])
        low_span, high_span = self.span(at.args["low"]), self.span(at.args["high"])
        between = self.template[low_span[1] : high_span[0]] if low_span and high_span else "and"
        if "and" not in between.lower():
            raise self.problem("syntax error: BETWEEN needs AND between its bounds", at)
        self.check_boolean(column, low, at)
        self.check_boolean(column, high, at)
        return tree.And((Atom(column, Test.AT_LEAST, (low,)), Atom(column, Test.AT_MOST, (high,))))

    def membership(self, at: exp.In) -> tree.Node:
        members = at.args.get("expressions") or []
        if not members or at.args.get("query") or at.args.get("unnest"):
            raise self.problem("IN needs a list of literals", at)
        column = self.comparable(at.this)
        operands = tuple(self.operand(member) for member in members)
        for operand in operands:
            self.check_boolean(column, operand, at)
        return Atom(column, Test.IN, operands)

    def is_test(self, at: exp.Is) -> tree.Node:
        if isinstance(at.expression, exp.Null):
            return Atom(self.column(at.this), Test.NULL)
        if isinstance(at.expression, exp.Boolean):
            return Atom(self.boolean(at.this), Test.SAME, (bool(at.expression.this),))
        raise self.unsupported(at)

    def text_test(self, at: exp.Expr, escape: tuple[Operand, ...] = ()) -> tree.Node:
        if isinstance(at, exp.Escape):
            escape, at = (self.text(at.expression),), at.this
        if type(at) not in _TEXT_TESTS or at.args.get("flag"):
            raise self.unsupported(at)
        if at.args.get("negate"):
            at.set("negate", None)
            return tree.Not(self.text_test(at, escape))
        test = _TEXT_TESTS[type(at)]
        column = self.comparable(at.this)
        if not is_text(column.type):
            raise self.problem(
                f"type mismatch: {test} tests a STRING, {column.name!r} is {column.sql_type}",
                at.this,
            )
        return Atom(column, test, (self.text(at.expression), *escape))

    def contains(self, at: exp.ArrayContains) -> tree.Node:
        if at.args.get("ensure_variant"):
            raise self.problem("array_contains takes a column and a literal, no more", at)
        column = self.column(at.this)
        if not column.repeated or not is_comparable(column.type):
            raise self.problem(
                f"type mismatch: array_contains tests an ARRAY of scalars, {column.name!r} is "
                f"{column.sql_type}",
                at.this,
            )
        self.check_collation(column, at.this)
        element = self.operand(at.expression)
        if element is None:
            raise self.problem("array_contains cannot look for NULL", at)
        self.check_boolean(column, element, at)
        return Atom(column, Test.CONTAINS, (element,))

    def concept(self, at: exp.Anonymous) -> tree.Node:
        arguments = at.expressions
        if len(arguments) != 1 or not self.is_column(arguments[0]):
            raise self.problem(
                f"the concept {at.name!r} takes one column, as in {at.name}(photo)", at
            )
        column, name = self.column(arguments[0]), at.name.lower()
        slot = self.slots.get(at.meta.get("start", -1) - len(PREAMBLE))
        if slot is not None:
            return Atom(column, Test.CONCEPT, (Slot(slot, self.shape.kinds[slot]),))
        problem = None if self.concepts is None else self.concepts.problem(name, column)
        if problem is not None:
            raise self.problem(problem, at)
        return Atom(column, Test.CONCEPT, concept=name)

    # -- operands

    def is_column(self, at: exp.Expr) -> bool:
        return isinstance(at.unnest(), exp.Column | exp.Dot)

    def column(self, at: exp.Expr) -> Column:
        if not self.is_column(at):
            raise self.unsupported(at, "where a column is needed")
        try:
            return self.columns.find(tuple(part.name for part in getattr(at.unnest(), "parts", ())))
        except UnknownColumn as problem:
            raise self.problem(str(problem), at) from None

    def comparable(self, at: exp.Expr) -> Column:
        column = self.column(at)
        if column.repeated:
            raise self.problem(
                f"{column.name!r} is {column.sql_type}: test it with array_contains", at
            )
        if not is_comparable(column.type):
            raise self.problem(
                f"{column.name!r} is {column.sql_type}: only IS NULL can test it", at
            )
        self.check_collation(column, at)
        return column

    def check_collation(self, column: Column, at: exp.Expr) -> None:
        if column.collation != UTF8_BINARY:
            raise self.problem(
                f"{column.name!r} has collation {column.collation}, and only {UTF8_BINARY} is "
                "supported",
                at,
            )

    def boolean(self, at: exp.Expr) -> Column:
        column = self.comparable(at)
        if str(column.type) != "bool":
            raise self.problem(
                f"type mismatch: a condition must be BOOLEAN, {column.name!r} is {column.sql_type}",
                at,
            )
        return column

    def check_boolean(self, column: Column, operand: Operand, at: exp.Expr) -> None:
        if isinstance(operand, bool) and str(column.type) != "bool":
            raise self.problem(
                f"type mismatch: the column is {sql_type(column.type)}, the literal BOOLEAN", at
            )

    def operand(self, at: exp.Expr) -> Operand:
        if isinstance(at, exp.Paren):
            return self.operand(at.this)
        if isinstance(at, exp.Null):
            return None
        if isinstance(at, exp.Boolean):
            return bool(at.this)
        if isinstance(at, exp.Neg):
            return self.negated(at)
        if isinstance(at, exp.Cast) and at.to.this in _CASTS:
            return self.cast(at)
        if isinstance(at, exp.Literal):
            return self.slot(at)
        raise self.unsupported(at, "where a literal is needed")

    def slot(self, at: exp.Literal) -> Slot:
        number = self.slots.get(at.meta.get("start", -1) - len(PREAMBLE))
        if number is None:
            raise self.problem("syntax error: a number needs a blank before it", at)
        return Slot(number, self.shape.kinds[number])

    def negated(self, at: exp.Neg) -> Slot:
        inner = self.operand(at.this)
        if not isinstance(inner, Slot) or inner.kind in TEXT_KINDS or inner.cast:
            raise self.unsupported(at)
        return Slot(inner.number, inner.kind, not inner.negative)

    def cast(self, at: exp.Cast) -> Slot:
        return Slot(*self._text_slot(at.this), cast=_CASTS[at.to.this])

    def text(self, at: exp.Expr) -> Slot | None:
        if isinstance(at, exp.Null):
            return None
        return Slot(*self._text_slot(at))

    def _text_slot(self, at: exp.Expr) -> tuple[int, str]:
        slot = self.operand(at)
        if not isinstance(slot, Slot) or slot.kind not in TEXT_KINDS or slot.cast:
            raise self.problem("a string is needed here", at)
        return slot.number, slot.kind

    # -- problems

    def problem(self, message: str, at: exp.Expr) -> ShapeProblem:
        return ShapeProblem(message, self.span(at))

    def unsupported(self, at: exp.Expr, where: str = "") -> ShapeProblem:
        what = _NAMES.get(at.key, at.key.upper())
        if isinstance(at, exp.Func) and at.key not in _NAMES:
            name = at.name if isinstance(at, exp.Anonymous) else at.sql_name()
            what = f"the function {name.lower()}()"
        return self.problem(
            f"unsupported: {f'{what} {where}'.strip()}; supported are {SUPPORTED}", at
        )

    def span(self, at: exp.Expr) -> tuple[int, int] | None:
        """The part of the template that a node covers, as far as sqlglot remembers it."""
        places = [node.meta for node in at.walk() if "start" in node.meta]
        if not places:
            return None
        start = min(place["start"] for place in places) - len(PREAMBLE)
        end = max(place["end"] for place in places) + 1 - len(PREAMBLE)
        closing = _CLOSING.match(self.template, end) if isinstance(at, exp.Func) else None
        return start, closing.end() if closing else end


_CLOSING = re.compile(r"\s*\(?\s*\)")
_NAMES = {
    "add": "+",
    "alias": "an alias",
    "all": "ALL",
    "any": "ANY",
    "bracket": "[...]",
    "case": "CASE",
    "cast": "CAST",
    "concat": "strings side by side",
    "div": "/",
    "dpipe": "||",
    "exists": "EXISTS",
    "interval": "INTERVAL",
    "literal": "a literal",
    "mod": "%",
    "mul": "*",
    "paren": "a condition",
    "placeholder": "a parameter",
    "sub": "-",
    "subquery": "a query",
    "trycast": "CAST",
    "try_cast": "CAST",
}
_SELECT_PARTS = frozenset(("kind", "expressions", "where", "operation_modifiers"))
