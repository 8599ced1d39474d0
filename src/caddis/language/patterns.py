"""LIKE patterns and Java's regular expressions, translated to Python's with the same answers.

A LIKE pattern without wildcards is an equality and one that ends in its only `%` is a prefix:
both become intervals of values. The rest, and RLIKE, become regular expressions that are searched
in the column's distinct values. Java and Python disagree about dots, line ends and character
classes; what can be said exactly is rewritten, and the rest is refused rather than answered
differently.
"""

from __future__ import annotations

import re

from caddis.language.literals import LiteralProblem
from caddis.language.predicates import TextPattern, ValueSet

ANY_RUN, ANY_ONE = object(), object()
"""What `%` and `_` stand for in a parsed LIKE pattern."""


def like(pattern: str, escape: str) -> ValueSet | TextPattern:
    r"""What a LIKE pattern accepts.

    >>> like("Gal%", "\\") == ValueSet.prefix(b"Gal"), like("%way", "\\")
    (True, TextPattern(regex='\\A(?s:.*)way\\Z', fold=False))
    """
    parts = _like_parts(pattern, escape)
    if not any(part is ANY_ONE or part is ANY_RUN for part in parts):
        return ValueSet.points(_text(parts).encode())
    if parts[-1] is ANY_RUN and all(isinstance(part, str) for part in parts[:-1]):
        return ValueSet.prefix(_text(parts[:-1]).encode())
    return TextPattern(_like_regex(parts))


def ilike(pattern: str, escape: str) -> TextPattern:
    """What an ILIKE pattern accepts: texts whose lower case is LIKE the pattern's lower case."""
    return TextPattern(_like_regex(_like_parts(pattern.lower(), escape)), fold=True)


def check_escape(escape: str) -> None:
    """Refuse an escape that is not one character."""
    if len(escape) != 1:
        raise LiteralProblem(f"ESCAPE takes one character, not {escape!r}")


def _like_parts(pattern: str, escape: str) -> list[object]:
    parts: list[object] = []
    at = 0
    while at < len(pattern):
        char = pattern[at]
        at += 1
        if char == escape:
            if at == len(pattern) or pattern[at] not in ("%", "_", escape):
                raise LiteralProblem(
                    f"in a LIKE pattern {escape!r} must stand before %, _ or itself; "
                    f"to mean it literally, double it"
                )
            parts.append(pattern[at])
            at += 1
        else:
            parts.append({"%": ANY_RUN, "_": ANY_ONE}.get(char, char))
    return parts


def _text(parts: list[object]) -> str:
    return "".join(part for part in parts if isinstance(part, str))


def _like_regex(parts: list[object]) -> str:
    """A regular expression that takes each stretch between two `%` where it first occurs.

    That is always right, since what follows may begin anywhere behind it. The atomic groups forbid
    a second attempt, which keeps the search linear: with plain `.*` it would be exponential in the
    number of `%`.
    """
    stretches = [""]
    for part in parts:
        if part is ANY_RUN:
            stretches.append("")
        else:
            stretches[-1] += re.escape(part) if isinstance(part, str) else "(?s:.)"
    head, *middle = stretches
    tail = f"(?s:.*){middle.pop()}" if middle else ""
    return rf"\A{head}{''.join(f'(?>(?s:.*?){stretch})' for stretch in middle if stretch)}{tail}\Z"


_LINE_ENDS = r"\n\r\u0085\u2028\u2029"
_DOT = rf"[^{_LINE_ENDS}]"
_END = r"(?=\Z|\r\n\Z|(?<!\r)\n\Z|[\r\u0085\u2028\u2029]\Z)"
_CLASS_ESCAPES = frozenset("dDsSwW")
_CONTROLS = {"t": r"\t", "n": r"\n", "r": r"\r", "f": r"\f", "a": r"\a", "e": r"\x1b"}
_SPACE = r"[ \t\n\x0b\f\r]"
_ANCHORS = {"A": r"\A", "z": r"\Z", "Z": _END}
_QUANTIFIER = re.compile(r"(?:[*+?]|\{\d+(?:,\d*)?\})[?+]?")
_GROUP = re.compile(r"\((?:\?(?::|=|!|<=|<!|>))?")


def rlike(pattern: str) -> TextPattern:
    """A Java regular expression, searched anywhere in the text."""
    translated = _JavaRegex(pattern).translate()
    try:
        re.compile(translated, re.ASCII)
    except (re.error, OverflowError, RecursionError) as problem:
        raise LiteralProblem(f"not a regular expression: {problem}") from None
    return TextPattern(translated)


class _JavaRegex:
    """One pass over a Java pattern that rewrites or refuses each construct."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0

    def translate(self) -> str:
        pieces = []
        while self.at < len(self.pattern):
            pieces.append(self._next())
        return "".join(pieces)

    def _next(self) -> str:
        char = self.pattern[self.at]
        if char == "\\":
            return self._escape()
        if char == "[":
            return self._class()
        if char == "(":
            return self._group()
        if char in "*+?{":
            return self._quantifier()
        self.at += 1
        return {".": _DOT, "$": _END, "^": r"\A", "}": r"\}"}.get(char, self._plain(char))

    def _plain(self, char: str) -> str:
        return char if char in "|)" else re.escape(char)

    def _escape(self) -> str:
        char = self.pattern[self.at + 1 : self.at + 2]
        self.at += 2
        if char in _ANCHORS:
            return _ANCHORS[char]
        return self._escaped(char, in_class=False)

    def _escaped(self, char: str, *, in_class: bool) -> str:
        if char in ("s", "S") and not in_class:
            return _SPACE if char == "s" else _SPACE.replace("[", "[^", 1)
        if char == "s":
            return _SPACE[1:-1]
        if char in _CLASS_ESCAPES - {"S"}:
            return f"\\{char}"
        if char in _CONTROLS:
            return _CONTROLS[char]
        if char and not char.isalnum():
            return re.escape(char)
        if char == "b":
            raise LiteralProblem(
                r"\b is refused, since Java releases disagree about it beyond ASCII; "
                r"write (^|\W) or (\W|$) instead"
            )
        raise LiteralProblem(f"\\{char} is not supported in RLIKE")

    def _class(self) -> str:
        self.at += 1
        pieces = ["["]
        if self._peek() == "^":
            pieces.append(self._take())
        first = True
        while (char := self._peek()) != "]" or first:
            if not char:
                raise LiteralProblem("a character class [ is not closed")
            if char in "[]" or self.pattern.startswith(("&&", "--"), self.at):
                raise LiteralProblem(
                    "inside a class, nested classes, &&, -- and an unescaped [ or ] "
                    "are not supported"
                )
            pieces.append(self._class_member())
            first = False
        self.at += 1
        return "".join(pieces) + "]"

    def _class_member(self) -> str:
        char = self._take()
        if char == "\\":
            escaped = self._take()
            if escaped in _CLASS_ESCAPES and self._is_range_end(self.at - 2):
                raise LiteralProblem(f"a - beside \\{escaped} in a class is not supported")
            return self._escaped(escaped, in_class=True)
        return char if char == "-" else re.escape(char)

    def _is_range_end(self, at: int) -> bool:
        r"""Whether a class escape at a place is written as one end of a range, like \d-z."""
        before, behind = self.pattern[:at], self.pattern[at + 2 : at + 4]
        leading = before.endswith(("[-", "[^-"))
        return (before.endswith("-") and not leading) or (behind[:1] == "-" and behind != "-]")

    def _group(self) -> str:
        opening = _GROUP.match(self.pattern, self.at)
        assert opening is not None
        if opening[0] == "(" and self.pattern.startswith("(?", self.at):
            return self._flags()
        self.at = opening.end()
        return opening[0]

    def _flags(self) -> str:
        if not self.pattern.startswith("(?i)", self.at) or self.at:
            raise LiteralProblem(
                "of the groups that start with (? only (?: (?= (?! (?<= (?<! (?> "
                "and a leading (?i) are supported"
            )
        self.at += 4
        return "(?i)"

    def _quantifier(self) -> str:
        found = _QUANTIFIER.match(self.pattern, self.at)
        if found is None:
            raise LiteralProblem("a { that is not a repeat count such as {2,5} must be escaped")
        self.at = found.end()
        return found[0]

    def _peek(self) -> str:
        return self.pattern[self.at : self.at + 1]

    def _take(self) -> str:
        self.at += 1
        return self.pattern[self.at - 1 : self.at]
