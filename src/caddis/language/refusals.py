"""What is wrong with a shape's text, as far as that shows without its tree.

sqlglot reads many dialects and accepts some things that Spark refuses; regular expressions catch
them here. Its own complaints are put into words for the person who wrote the clause.
"""

from __future__ import annotations

import re
from itertools import accumulate

from sqlglot.errors import ParseError

from caddis.language.shapes import Shape


class ShapeProblem(ValueError):
    """What is wrong with a shape, and where in its template."""

    def __init__(self, problem: str, span: tuple[int, int] | None = None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.span = span


PREAMBLE = "SELECT 1 WHERE "
"""What stands before a condition to make it a query; places count from behind it."""
SEALED = "sealed:"
TOO_DEEP = "the clause is nested too deeply"
MOST_LEVELS = 32
"""A clause with more nested parentheses is refused. How deep sqlglot itself could go depends on how
it was built, and on how much of the stack is left."""
_LEVEL = {"(": 1, ")": -1}
_STRAY = re.compile(r",\s*(?=[,)]|$)|(?<=\()\s*,|;")
_QUOTED_NAME = re.compile(r"`[^`]*`")
_PREFIXED = re.compile(r"(?<!\w)[xXbBnN](?='s')")
_LONE_JUNCTION = re.compile(r"(?:^|\(|!|\b(?:and|or|not)\b)\s*\b(and|or)\b", re.IGNORECASE)
_FOREIGN_NULL = re.compile(
    r"\b(?:isnull|notnull)\b(?!\s*\()|\bis\s*!|(?:!|\bnot)\s*\bis\b|([\w`]+)\s+not\s+null\b",
    re.IGNORECASE,
)
_FOREIGN_NOT = re.compile(r"!\s*(?:between|in|like|ilike|rlike)\b", re.IGNORECASE)
_ALIAS = re.compile(r"\bas\b", re.IGNORECASE)
_CONTINUED_COMMENT = re.compile(r"--[^\r\n]*\\(?=\r?\n)")
_BEFORE_NOT_NULL = frozenset(("is", "and", "or", "not"))


def refuse_by_sight(shape: Shape, template: str) -> None:
    """Refuse what sqlglot accepts though Spark does not, and what it misreads."""
    if template.startswith(SEALED):
        raise ShapeProblem(
            "this subscription is sealed; match it with caddis sealed match or match_sealed",
            (0, len(SEALED)),
        )
    plain = _QUOTED_NAME.sub(lambda name: "`" * len(name[0]), template)
    if max(accumulate((_LEVEL.get(char, 0) for char in plain), initial=0)) > MOST_LEVELS:
        raise ShapeProblem(TOO_DEEP)
    stray = _STRAY.search(plain)
    if stray:
        what = "a semicolon" if stray[0] == ";" else "a comma with nothing beside it"
        raise ShapeProblem(f"syntax error: {what}", stray.span())
    prefixed = _PREFIXED.search(plain)
    if prefixed and prefixed.end() in shape.slot_starts():
        raise ShapeProblem(f"unsupported: {prefixed[0]}'...' strings", prefixed.span())
    continued = _CONTINUED_COMMENT.search(plain)
    if continued:
        raise ShapeProblem("unsupported: a comment that goes on in the next line", continued.span())
    lone = _LONE_JUNCTION.search(plain)
    if lone:
        raise ShapeProblem(f"syntax error: nothing before {lone[1]}", lone.span(1))
    odd = _FOREIGN_NOT.search(plain)
    if odd:
        raise ShapeProblem("syntax error: write NOT for ! here", odd.span())
    alias = _ALIAS.search(plain)
    if alias and "cast" not in plain.lower():
        raise ShapeProblem("syntax error: there is nothing to name with AS", alias.span())
    for foreign in _FOREIGN_NULL.finditer(plain):
        if (foreign[1] or "").lower() not in _BEFORE_NOT_NULL:
            raise ShapeProblem("syntax error: write IS NULL or IS NOT NULL", foreign.span())


def unclosed(template: str) -> ShapeProblem:
    """A quote or comment that never ends: what is still in the template is the culprit."""
    without = _QUOTED_NAME.sub(lambda name: "`" * len(name[0]), template).replace("'s'", "xxx")
    at = re.search(r"['\"`]|/\*", without)
    span = (at.start(), at.start() + 1) if at else None
    return ShapeProblem("syntax error: a quote or a comment is not closed", span)


def syntax_problem(error: ParseError, template: str) -> ShapeProblem:
    """What sqlglot complains about, in a user's words and with its place."""
    detail = error.errors[0] if error.errors else {}
    highlight = detail.get("highlight") or ""
    end = len(detail.get("start_context") or "") + len(highlight) - len(PREAMBLE)
    if not highlight or end < 0:
        return ShapeProblem("syntax error: Spark SQL could not read this as a condition")
    complaint = str(detail.get("description"))
    problem = f"unexpected {highlight!r}"
    if "missing for" in complaint:
        problem = f"something is missing after {highlight!r}"
    elif complaint.startswith("Expecting"):
        problem = f"expected {complaint.removeprefix('Expecting').strip()}"
    start = min(max(0, end - len(highlight)), len(template))
    return ShapeProblem(f"syntax error: {problem}", (start, max(end, start + 1)))
