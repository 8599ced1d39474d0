"""Random LIKE and RLIKE patterns, made from texts of the data so that they often match.

A LIKE pattern is kept as a string in which two characters of no alphabet are the wildcards, so that
`%` and `_` stand for themselves; `written` makes of it what SQL reads. Regular expressions use what
Java and Python share and mean alike on texts without line ends.
"""

from __future__ import annotations

from random import Random

ANY_RUN, ANY_ONE = "\ue001", "\ue002"


def random_like(random: Random, text: str) -> str:
    """The text with some of it replaced by wildcards."""
    pattern = text[: random.randint(0, 12)]
    if len(text) > len(pattern):
        pattern += ANY_RUN
    for _ in range(random.randint(0, 3)):
        start = random.randint(0, len(pattern))
        wild = random.choice((ANY_RUN, ANY_RUN, ANY_ONE))
        pattern = pattern[:start] + wild + pattern[start + random.randint(0, 2) :]
    return pattern


def written(pattern: str, escape: str) -> str:
    """The pattern as SQL writes it with this escape character."""
    signs = {ANY_RUN: "%", ANY_ONE: "_"}
    signs |= {sign: escape + sign for sign in ("%", "_", escape)}
    return "".join(signs.get(char, char) for char in pattern)


def like(text: str, pattern: str) -> bool:
    """Whether a text is like the pattern, by trying everything."""
    if not pattern:
        return not text
    if pattern[0] == ANY_RUN:
        return like(text, pattern[1:]) or bool(text and like(text[1:], pattern))
    return bool(text) and pattern[0] in (text[0], ANY_ONE) and like(text[1:], pattern[1:])


def random_regex(random: Random, text: str) -> str:
    """A regular expression; about half of them find something in the text."""
    if random.random() < 0.4 and text:
        start = random.randrange(len(text))
        found = "".join(_escaped(char) for char in text[start : start + 3])
        return random.choice(("^", "", "", ".")) + found + random.choice(("$", "", "", ".*"))
    return ("(?i)" if random.random() < 0.15 else "") + _alternatives(random, 2)


def _escaped(char: str) -> str:
    return f"\\{char}" if char in r"\.[]{}()*+?^$|" else char


def _alternatives(random: Random, depth: int) -> str:
    return "|".join(_sequence(random, depth) for _ in range(random.choice((1, 1, 2))))


def _sequence(random: Random, depth: int) -> str:
    ends = random.choice((("", ""), ("", ""), ("^", ""), ("", "$"), ("^", "$")))
    middle = "".join(_repeated(random, depth) for _ in range(random.randint(1, 3)))
    return ends[0] + middle + ends[1]


def _repeated(random: Random, depth: int) -> str:
    """Groups repeat a few times at most: nested stars can take exponential time."""
    if depth and random.random() < 0.3:
        opening = random.choice(("(", "(?:"))
        group = f"{opening}{_alternatives(random, depth - 1)})"
        return group + random.choice(("", "", "?", "{2}", "{1,2}", "??"))
    times = random.choice(("", "", "", "", "*", "+", "?", "{2}", "{1,2}", "{1,}", "*?", "++"))
    return _single(random) + times


def _single(random: Random) -> str:
    if random.random() < 0.4:
        return random.choice((".", r"\d", r"\w", r"\s", r"\D", r"\W", r"\S", "[a-c]", "[^a]"))
    return random.choice(("a", "b", "A", "é", " ", r"\.", "[aé😀]", r"[\d-]", "5", "_", "%", "'"))
