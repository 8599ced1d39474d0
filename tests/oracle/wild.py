"""Clauses that nobody should write: any literal against any column, and damaged texts.

Most are nonsense. Caddis may refuse them; what it does not refuse must be legal in Spark and mean
the same there.
"""

from __future__ import annotations

import re

import pyarrow as pa

from tests.oracle.clauses import Atom, Clauses, Node
from tests.oracle.events import SCALARS, WIDE_DECIMALS, Leaf
from tests.oracle.literals import Literal, quoted, random_literal

SIGNS = ("=", "<>", "<", "<=", ">", ">=", "<=>", "==", "!=")
NUMBERS = (
    *("0.5", "1e0", "5.", ".5", "1.5BD", "1e3BD", "-0.0", "-0D", "- 1", "+1", "-(1)", "128Y"),
    *("2147483648", "9223372036854775807", "9223372036854775808", "-9223372036854775808"),
    *("99999999999999999999", "-99999999999999999999.5", "9" * 38, "0." + "9" * 38, "1e400"),
    *("1." + "0" * 36 + "4", "0.1F", "0.1D", "0.1", "16777217", "9007199254740993", "1e-400"),
)
OTHERS = ("NULL", "TRUE", "X'31'", "0x1F", "NaN", "INTERVAL '1' DAY", "current_date", "'5'", "''")
MOMENTS = (
    *("2024-02-29", "2024-2-29", "2024-02", "2024", "+2024-02-29", "02024-02-29", " 2024-02-29\t"),
    *("2024-02-30", "24-02-29", "20240229", "2024-02-29Z", "2024-02-29T", "2024-02-29 x"),
    *("2024-02-29 12:30", "2024-02-29T12:30:00.", "2024-02-29 12", "2024-02-29 24:00:00"),
    *("2024-02-29 12:30:00Z", "2024-02-29 12:30:00 +01:00", "2024-02-29 12:30:00+1:2"),
    *("2024-02-29 12:30:00 Europe/Dublin", "2024-02-29 12:30:00 PST", "2024-02-29 12:30Z"),
    *("2024-02-29 12:30:00.1234567", "2024-02-29 12:30:00+18:30", "12:30", "epoch", "9999-12-31"),
    *("-0001-01-01", "10000-01-01", "2024-02-29  12:30", "2024-10-27 01:30:00", "1850-06-01"),
)
WORDS = (
    *("AND", "OR", "NOT", "(", ")", ",", "IS", "NULL", "IN", "LIKE", "BETWEEN", "=", "<", "!"),
    *("TRUE", "1", "'a'", "AS", "x", ".", ";", "--", "ISNULL", "SYMMETRIC", "ESCAPE", "[0]", "-"),
)
TOKEN = re.compile(r"\s+|\w+|'[^']*'|`[^`]*`|<=>|<=|>=|<>|.", re.DOTALL)
REGEX_SIGNS = r"abB5 é.*+?[](){}|^$\-&,!<=:iPdwsSbAzZQE1"
LIKE_SIGNS = "abA%_\\!é"


class WildClauses(Clauses):
    """Makes clauses without a thought for what they mean; `operands` are left empty."""

    def wild(self) -> Node:
        leaf = self.random.choice(self.leaves)
        make = self.random.choice(
            (self.sign, self.sign, self.mixed_in, self.mixed_between, self.element, self.pattern)
        )
        return make(leaf) if self.random.random() < 0.7 else self.damaged()

    def any_literal(self, leaf: Leaf) -> str:
        chance = self.random.random()
        if chance < 0.25:
            return self.random.choice(NUMBERS)
        if chance < 0.3:
            return self.random.choice(OTHERS)
        if chance < 0.5:
            keyword = self.random.choice(("", "", "DATE ", "TIMESTAMP ", "TIMESTAMP_NTZ "))
            return keyword + quoted(self.random, self.random.choice(MOMENTS))
        if chance < 0.6:
            type_ = self.random.choice(SCALARS + WIDE_DECIMALS)
            return random_literal(self.random, type_, [], self.zone).text
        return self.fitting(leaf).text

    def fitting(self, leaf: Leaf) -> Literal:
        type_, seen = leaf.type, self.seen[leaf]
        if pa.types.is_list(type_):
            type_, seen = type_.value_type, [e for array in seen for e in array if e is not None]
        if pa.types.is_nested(type_) or pa.types.is_binary(type_):
            type_, seen = pa.string(), []
        return random_literal(self.random, type_, seen, self.zone)

    def sign(self, leaf: Leaf) -> Node:
        sign, literal = self.random.choice(SIGNS), self.any_literal(leaf)
        pair = [self.name(leaf), literal]
        if self.random.random() < 0.2:
            pair.reverse()
        return Atom(leaf, "wild", (), f"{pair[0]} {sign} {pair[1]}")

    def mixed_in(self, leaf: Leaf) -> Node:
        items = [self.any_literal(leaf) for _ in range(self.random.choice((1, 2, 2, 3, 12)))]
        negated = self.random.choice(("", "", "NOT "))
        return Atom(leaf, "wild", (), f"{self.name(leaf)} {negated}IN ({', '.join(items)})")

    def mixed_between(self, leaf: Leaf) -> Node:
        negated = self.random.choice(("", "", "NOT "))
        low, high = self.any_literal(leaf), self.any_literal(leaf)
        return Atom(leaf, "wild", (), f"{self.name(leaf)} {negated}BETWEEN {low} AND {high}")

    def element(self, leaf: Leaf) -> Node:
        arrays = [one for one in self.leaves if pa.types.is_list(one.type)] or [leaf]
        leaf = self.random.choice(arrays)
        call = f"array_contains({self.name(leaf)}, {self.any_literal(leaf)})"
        return Atom(leaf, "wild", (), self.random.choice(("", "NOT ")) + call)

    def pattern(self, leaf: Leaf) -> Node:
        leaf = self.random.choice([one for one in self.leaves if one.type == pa.string()] or [leaf])
        test = self.random.choice(("LIKE", "ILIKE", "RLIKE", "RLIKE", "NOT RLIKE", "NOT LIKE"))
        signs = REGEX_SIGNS if "RLIKE" in test else LIKE_SIGNS
        pattern = "".join(self.random.choice(signs) for _ in range(self.random.randint(1, 6)))
        ending = self.random.choice(("", "", "", " ESCAPE '!'")) if "RLIKE" not in test else ""
        text = f"{self.name(leaf)} {test} {quoted(self.random, pattern)}{ending}"
        return Atom(leaf, "wild", (), text)

    def damaged(self) -> Node:
        """A sound clause with a word removed, doubled, exchanged or put in."""
        words = TOKEN.findall(self.tree(depth=1).text)
        for _ in range(self.random.choice((1, 1, 2))):
            at = self.random.randrange(len(words))
            new = self.random.choice(WORDS)
            words[at : at + 1] = self.random.choice(([], [words[at]] * 2, [new], [words[at], new]))
            words = words or ["TRUE"]
        joined = self.random.choice(("", " ")).join(words)
        return Atom(self.random.choice(self.leaves), "wild", (), joined)
