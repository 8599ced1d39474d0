"""Texts such as people and programs write: conditions joined by AND, OR and NOT.

Most of them are sound and plain. Some have a literal of another kind than the column's, odd blanks,
or a word removed, doubled or exchanged.
"""

from __future__ import annotations

from random import Random

import pyarrow as pa

SCHEMA = pa.schema(
    [
        ("city", pa.string()),
        ("country", pa.large_string()),
        ("price", pa.int32()),
        ("rooms", pa.int8()),
        ("views", pa.int64()),
        ("rating", pa.float64()),
        ("share", pa.float32()),
        ("fee", pa.decimal128(10, 2)),
        ("debt", pa.decimal128(38, 10)),
        ("sold", pa.bool_()),
        ("day", pa.date32()),
        ("at", pa.timestamp("us", "UTC")),
        ("photo", pa.binary()),
        ("tags", pa.list_(pa.string())),
        ("marks", pa.list_(pa.bool_())),
        ("seller", pa.struct([("name", pa.string()), ("stars", pa.int16())])),
        ("order", pa.int32()),
        ("odd", pa.string()),
        ("Odd", pa.string()),
    ]
)
NAMES = (
    *("city", "country", "price", "rooms", "views", "rating", "share", "fee", "debt", "sold"),
    *("day", "at", "photo", "tags", "seller.name", "seller.stars", "order", "CITY", "Price"),
    *("seller", "pricee", "odd", "date", "interval", "`city`", "a.b.c"),
)
STRINGS = (
    *("'Galway'", "'Cork'", "'b'", "''", "'a_b'", "'Gal%'", "'%way'", "'100%'", "'é'", "'日本'"),
    *("'a AND b'", "'(x'", "'OR'", "'5'", "'-- x'", "'it''s'", "'$5'", "'${x}'", "'a\\'b'"),
    *('"Cork"', "r'a'", "'a\nb'", "'A'", "'2024-02-29'", "'2024-02-29 12:30:00'", "'no date'"),
)
NUMBERS = (
    *("0", "5", "7", "127", "128", "200", "-5", "- 5", "007", "2147483648", "999999999999999999"),
    *("9223372036854775807", "9223372036854775808", "-129", "0.5", "5.0", "5.", ".5", "199.99"),
    *("199.995", "-0.0", "-0.5", "1.2.3", "1e3", "1.5e-3", "5L", "5.0D", "12345678901234567890"),
    *("0.1", "0.10", "99999999.99", "99999999.999", "100000000", "-99999999.995", "5a", ".", "5F"),
    *("0.000000000000000001", "123456789012345.12", "1.5BD", "16777217"),
)
OTHERS = (
    *("NULL", "TRUE", "false", "DATE '2024-02-29'", "TIMESTAMP '2024-02-29 12:30:00'"),
    *(
        "DATE'2024-02-30'",
        "TIMESTAMP_NTZ '2024-02-29'",
        "CAST('2024-02-29' AS DATE)",
        "price",
        "(5)",
    ),
)
SIGNS = ("=", "==", "<>", "!=", "<", "<=", ">", ">=", "<=>")
FITTING = {
    "city": STRINGS[:12],
    "country": STRINGS[:12],
    "seller.name": STRINGS[:12],
    "day": ("'2024-02-29'", "'2024-1-1'", "DATE '2024-02-29'", "'2025'"),
    "at": ("'2024-02-29'", "TIMESTAMP '2024-02-29 12:30:00'", "'2024-02-29 12:30:00Z'"),
    "sold": ("TRUE", "false"),
}
BLANKS = ("  ", "\n", "\t", "\r\n  ", " /* and */ ", "")
EXTRA = ("AND", "OR", "NOT", "(", ")", ",", "IS", "--", "/* x */", "!", "'", ";", "BETWEEN", "''")


class Conditions:
    """Makes texts about SCHEMA, some of them wrong."""

    def __init__(self, random: Random, wrong: float = 0.1) -> None:
        self.random = random
        self.wrong = wrong

    def text(self) -> str:
        """A whole text."""
        text = self.joined(self.random.choice((0, 1, 1, 1, 2, 2, 3)))
        if self.random.random() < self.wrong:
            text = self.damaged(text)
        return text

    def joined(self, depth: int) -> str:
        if not depth:
            return self.condition()
        joint = self.cased(self.random.choice((" AND ", " AND ", " AND ", " OR ")))
        count = self.random.choice((1, 2, 2, 3, 4))
        return self.blanks(joint).join(self.operand(depth - 1) for _ in range(count))

    def operand(self, depth: int) -> str:
        inner = self.joined(depth)
        chance = self.random.random()
        if chance < 0.15:
            return f"{self.cased('NOT ')}{inner if not depth else f'({inner})'}"
        return f"({inner})" if depth and chance < 0.8 else inner

    def blanks(self, text: str) -> str:
        return text if self.random.random() < 0.9 else text.replace(" ", self.random.choice(BLANKS))

    def cased(self, word: str) -> str:
        return word if self.random.random() < 0.8 else word.lower()

    def condition(self) -> str:
        name = self.random.choice(NAMES[:9] if self.random.random() < 0.8 else NAMES)
        make = self.random.choice(
            (self.signed, self.signed, self.signed, self.between, self.among, self.like, self.other)
        )
        return self.blanks(make(name))

    def literal(self, name: str) -> str:
        if self.random.random() < self.wrong / 3:
            return self.random.choice(STRINGS + NUMBERS + OTHERS)
        return self.random.choice(FITTING.get(name.lower(), NUMBERS[:16]))

    def signed(self, name: str) -> str:
        gap, sign = self.random.choice((" ", " ", "")), self.random.choice(SIGNS)
        pair = [name, self.literal(name)]
        if self.random.random() < 0.1:
            pair.reverse()
        return f"{pair[0]}{gap}{sign}{gap}{pair[1]}"

    def between(self, name: str) -> str:
        low, high = self.literal(name), self.literal(name)
        return f"{name} {self.negation()}{self.cased('BETWEEN')} {low} {self.cased('AND')} {high}"

    def among(self, name: str) -> str:
        members = [self.literal(name) for _ in range(self.random.choice((1, 2, 3, 5)))]
        comma = self.random.choice((", ", ",", " , "))
        return f"{name} {self.negation()}{self.cased('IN')} ({comma.join(members)})"

    def like(self, name: str) -> str:
        if name not in ("city", "country") and self.random.random() > self.wrong:
            name = "city"
        test = self.random.choice(("LIKE", "LIKE", "ILIKE", "RLIKE", "like"))
        return f"{name} {self.negation()}{test} {self.random.choice(STRINGS[:12])}"

    def other(self, name: str) -> str:
        return self.random.choice(
            (
                f"{name} IS {self.negation()}NULL",
                *("sold", "sold IS NOT TRUE", "beach(photo)", "Crowded( photo )", "TRUE"),
                f"array_contains(tags, {self.literal('city')})",
                f"{name} = TRUE",
            )
        )

    def negation(self) -> str:
        return self.cased("NOT ") if self.random.random() < 0.25 else ""

    def damaged(self, text: str) -> str:
        words = text.split(" ")
        for _ in range(self.random.choice((1, 1, 2))):
            at = self.random.randrange(len(words))
            new = self.random.choice(EXTRA)
            words[at : at + 1] = self.random.choice(([], [words[at]] * 2, [new], [words[at], new]))
            words = words or [""]
        return self.random.choice((" ", " ", "")).join(words)
