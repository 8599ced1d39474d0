"""Random WHERE clauses: each a small tree that knows its own text.

The tree says what was meant, so that the plain evaluator needs no parser; the text is what Spark
and Caddis read. Every syntax that Caddis supports occurs, in every notation that it supports.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from random import Random
from typing import Any, NamedTuple

import pyarrow as pa

from tests.oracle import patterns
from tests.oracle.events import Leaf, leaves
from tests.oracle.literals import (
    NULL,
    Literal,
    other_calendar_literal,
    quoted,
    random_literal,
)


class Constant(NamedTuple):
    value: bool | None
    text: str


class Atom(NamedTuple):
    """A test of one leaf; `operands` are the values that its literals mean."""

    leaf: Leaf
    test: str
    operands: tuple[Any, ...]
    text: str


class Not(NamedTuple):
    part: Node
    text: str


class Junction(NamedTuple):
    joint: str
    parts: tuple[Node, ...]
    text: str


Node = Constant | Atom | Not | Junction
COMPARISONS = {"=": ("=", "=="), "<": ("<",), "<=": ("<=",), ">": (">",), ">=": (">=",)}
COMPARISONS["<=>"] = ("<=>",)
MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "<=>": "<=>"}
LARGEST = 400
CONSTANTS = (Constant(True, "TRUE"), Constant(False, "false"), Constant(True, "true"))


def subtrees(node: Node) -> Iterator[Node]:
    """The node and everything in it."""
    yield node
    for part in (node.part,) if isinstance(node, Not) else getattr(node, "parts", ()):
        yield from subtrees(part)


def size_without_nested_or(node: Node, *, negated: bool = False) -> int:
    """How many ANDs the clause has when it is written as an OR of ANDs; an upper bound."""
    if isinstance(node, Not):
        return size_without_nested_or(node.part, negated=not negated)
    if not isinstance(node, Junction):
        return 1
    sizes = [size_without_nested_or(part, negated=negated) for part in node.parts]
    return sum(sizes) if (node.joint == "OR") != negated else math.prod(sizes)


class Clauses:
    """Makes clauses about the events of one batch."""

    def __init__(self, random: Random, batch: pa.RecordBatch, zone: str = "UTC") -> None:
        self.random = random
        self.zone = zone
        self.leaves = leaves(batch.schema)
        rows = batch.to_pylist()
        self.seen = {
            leaf: [v for v in map(leaf.value_in, rows) if v is not None] for leaf in self.leaves
        }

    def tree(self, depth: int = 4) -> Node:
        """A clause of at most so many levels, within Caddis' limit for ORs under ANDs."""
        node = self.any_tree(depth)
        while size_without_nested_or(node) > LARGEST:
            node = self.any_tree(depth)
        return node

    def any_tree(self, depth: int) -> Node:
        chance = self.random.random()
        if not depth or chance < 0.3:
            return self.atom()
        if chance < 0.45:
            return self.negation(self.any_tree(depth - 1))
        joint = self.random.choice(("AND", "OR"))
        return self.junction(joint, [self.any_tree(depth - 1) for _ in range(self.small())])

    def small(self) -> int:
        return self.random.choice((2, 2, 2, 3))

    def negation(self, part: Node) -> Node:
        bare = isinstance(part, Atom | Constant) and self.random.random() < 0.5
        inner = part.text if bare else f"({part.text})"
        return Not(part, self.random.choice(("NOT ", "not ", "! " if bare else "!")) + inner)

    def junction(self, joint: str, parts: list[Node]) -> Node:
        texts = [
            f"({part.text})" if self.needs_parentheses(joint, part) else part.text for part in parts
        ]
        word = joint if self.random.random() < 0.7 else joint.lower()
        around = self.random.choice((" ", " ", " ", "\n  ", " /* then */ "))
        return Junction(joint, tuple(parts), f"{around}{word} ".join(texts))

    def needs_parentheses(self, joint: str, part: Node) -> bool:
        if isinstance(part, Junction) and joint == "AND" and part.joint == "OR":
            return True
        return self.random.random() < 0.3

    # -- atoms

    def atom(self) -> Node:
        if self.random.random() < 0.03:
            return self.random.choice(CONSTANTS)
        leaf = self.random.choice(self.leaves)
        type_ = leaf.type
        if self.random.random() < 0.1 or pa.types.is_struct(type_) or pa.types.is_binary(type_):
            return self.null_test(leaf)
        if pa.types.is_list(type_):
            return self.contains(leaf)
        if pa.types.is_boolean(type_) and self.random.random() < 0.6:
            return self.boolean(leaf)
        if pa.types.is_string(type_) and self.random.random() < 0.5:
            return self.text_test(leaf)
        return self.random.choice((self.comparison, self.comparison, self.between, self.among))(
            leaf
        )

    def name(self, leaf: Leaf) -> str:
        return ".".join(map(self._part_of_name, leaf.path))

    def _part_of_name(self, name: str) -> str:
        change = self.random.choice((str, str, str.upper, str.lower, str.swapcase))
        if name.isascii() and name.isidentifier() and self.random.random() < 0.7:
            return change(name)
        written = change(name) if name.isascii() else name
        return "`" + written.replace("`", "``") + "`"

    def literal(self, leaf: Leaf) -> Literal:
        return random_literal(self.random, leaf.type, self.seen[leaf], self.zone)

    def calendar_literal(self, leaf: Leaf) -> Literal:
        """One literal in six of the other calendar type: a DATE for a timestamp, or reversed."""
        literal = self.literal(leaf)
        temporal = pa.types.is_temporal(leaf.type)
        if not temporal or literal is NULL or self.random.random() < 0.85:
            return literal
        return other_calendar_literal(self.random, literal, self.zone)

    def null_test(self, leaf: Leaf) -> Node:
        name = self.name(leaf)
        atom = Atom(leaf, "null", (), f"{name} IS NULL")
        return atom if self.random.random() < 0.5 else Not(atom, f"{name} IS NOT NULL")

    def boolean(self, leaf: Leaf) -> Node:
        name, value = self.name(leaf), self.random.random() < 0.5
        if self.random.random() < 0.5:
            return Atom(leaf, "=", (True,), name)
        atom = Atom(leaf, "<=>", (value,), f"{name} IS {value}".upper().replace(name.upper(), name))
        if self.random.random() < 0.5:
            return atom
        return Not(atom, f"{name} is not {str(value).lower()}")

    def comparison(self, leaf: Leaf) -> Node:
        name, literal = self.name(leaf), self.calendar_literal(leaf)
        test = self.random.choice(list(COMPARISONS))
        if self.random.random() < 0.2:
            text = f"{literal.text} {COMPARISONS[MIRRORED[test]][0]} {name}"
            return Atom(leaf, test, (literal.value,), text)
        gap = self.random.choice((" ", " ", ""))
        if self.random.random() < 0.1:
            equal = Atom(leaf, "=", (literal.value,), f"{name} = {literal.text}")
            return Not(equal, f"{name}{gap}{self.random.choice(('<>', '!='))}{gap}{literal.text}")
        sign = self.random.choice(COMPARISONS[test])
        return Atom(leaf, test, (literal.value,), f"{name}{gap}{sign}{gap}{literal.text}")

    def between(self, leaf: Leaf) -> Node:
        low, high = self.calendar_literal(leaf), self.calendar_literal(leaf)
        return self.infix(
            leaf, "between", (low.value, high.value), f"BETWEEN {low.text} AND {high.text}"
        )

    def among(self, leaf: Leaf) -> Node:
        count = self.random.choice((1, 2, 3, 5, 14))
        literals = [self.literal(leaf) for _ in range(count)]
        values = tuple(literal.value for literal in literals)
        return self.infix(leaf, "in", values, f"IN ({', '.join(one.text for one in literals)})")

    def infix(self, leaf: Leaf, test: str, operands: tuple[Any, ...], rest: str) -> Node:
        """`x BETWEEN ...` or `x NOT BETWEEN ...`."""
        name = self.name(leaf)
        atom = Atom(leaf, test, operands, f"{name} {rest}")
        return atom if self.random.random() < 0.7 else Not(atom, f"{name} NOT {rest}")

    def contains(self, leaf: Leaf) -> Node:
        elements = [e for array in self.seen[leaf] for e in array if e is not None]
        literal = NULL
        while literal is NULL or _is_for_spark_alone(leaf.type.value_type, literal):
            literal = random_literal(self.random, leaf.type.value_type, elements, self.zone)
        call = self.random.choice(("array_contains", "ARRAY_CONTAINS"))
        return Atom(
            leaf, "contains", (literal.value,), f"{call}({self.name(leaf)}, {literal.text})"
        )

    def text_test(self, leaf: Leaf) -> Node:
        text = self.random.choice(self.seen[leaf] or ["a"])
        if self.random.random() < 0.4:
            regex = patterns.random_regex(self.random, text)
            return self.infix(leaf, "rlike", (regex,), f"RLIKE {quoted(self.random, regex)}")
        return self.like_test(leaf, patterns.random_like(self.random, text))

    def like_test(self, leaf: Leaf, pattern: str) -> Node:
        test = self.random.choice(("like", "like", "ilike"))
        escape = self.random.choice(("\\", "\\", "\\", "!", "é", "a"))
        if test == "ilike":
            pattern = self.random.choice((str.upper, str.lower, str.swapcase))(pattern)
            escape = escape if not escape.isalpha() else "#"
        written = quoted(self.random, patterns.written(pattern, escape))
        ending = "" if escape == "\\" else f" ESCAPE '{escape}'"
        return self.infix(leaf, test, (pattern,), f"{test.upper()} {written}{ending}")


def _is_for_spark_alone(element: pa.DataType, literal: Literal) -> bool:
    """Spark has its own ways with arrays: it casts no string, and whole numbers may meet FLOAT."""
    if pa.types.is_temporal(element):
        return literal.text[0] == "'"
    if pa.types.is_integer(element):
        return literal.text[-1] == "F"
    return pa.types.is_float32(element) and isinstance(literal.value, int)
