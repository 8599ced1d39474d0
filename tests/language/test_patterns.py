"""LIKE against a matcher that tries everything; RLIKE against what java.util.regex answers."""

import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from caddis.language.literals import LiteralProblem
from caddis.language.patterns import ilike, like, rlike
from caddis.language.predicates import TextPattern, ValueSet

alphabet = "abAB%_\\.é😀\n"
texts = st.text(alphabet, max_size=6)


def tokens(pattern: str, escape: str) -> list[str] | None:
    """Characters, "any" and "one"; None if an escape stands before what it cannot escape."""
    found, at = [], 0
    while at < len(pattern):
        if pattern[at] == escape:
            if pattern[at + 1 : at + 2] not in ("%", "_", escape) or at + 1 == len(pattern):
                return None
            found.append(pattern[at + 1])
            at += 2
        else:
            found.append({"%": "any", "_": "one"}.get(pattern[at], pattern[at]))
            at += 1
    return found


def naive_like(text: str, parts: list[str]) -> bool:
    if not parts:
        return not text
    if parts[0] == "any":
        return any(naive_like(text[skip:], parts[1:]) for skip in range(len(text) + 1))
    fits = text != "" and parts[0] in ("one", text[0])
    return fits and naive_like(text[1:], parts[1:])


def accepts(found: ValueSet | TextPattern, text: str) -> bool:
    if isinstance(found, ValueSet):
        return text.encode() in found
    folded = text.lower() if found.fold else text
    return re.search(found.regex, folded, re.ASCII) is not None


@given(texts, texts, st.sampled_from("\\!%_a"))
@example("", "%", "\\")
@example("a\nb", "a_b", "\\")
@example("a\n", "a", "\\")
def test_like_accepts_what_a_naive_matcher_accepts(text, pattern, escape):
    parts = tokens(pattern, escape)
    if parts is None:
        with pytest.raises(LiteralProblem):
            like(pattern, escape)
    else:
        assert accepts(like(pattern, escape), text) == naive_like(text, parts)


@given(texts, texts)
def test_ilike_is_like_of_both_lower_cased(text, pattern):
    parts = tokens(pattern.lower(), "\\")
    if parts is not None:
        assert accepts(ilike(pattern, "\\"), text) == naive_like(text.lower(), parts)


@given(st.text(alphabet.replace("\\", ""), max_size=6))
def test_a_text_is_like_itself_with_its_wildcards_escaped(text):
    pattern = re.sub(r"([%_!])", r"!\1", text)
    assert like(pattern, "!") == ValueSet.points(text.encode())


def test_without_wildcards_like_is_an_equality():
    assert like("Galway", "\\") == ValueSet.points(b"Galway")
    assert like("", "\\") == ValueSet.points(b"")


def test_with_one_wildcard_at_the_end_like_is_a_prefix():
    assert like("Gal%", "\\") == ValueSet.prefix(b"Gal")
    assert like("50\\%%", "\\") == ValueSet.prefix(b"50%")
    assert like("%", "\\") == ValueSet.prefix(b"")


@pytest.mark.parametrize(
    ("text", "pattern", "expected"),
    [
        ("😀", "_", True),
        ("İ", "_", False),
        ("İ", "__", True),
        ("ΟΔΟΣ", "οδος", True),
        ("ΟΔΟΣ", "οδοσ", False),
        ("\u212a", "k", True),
        ("ẞ", "ß", True),
        ("ss", "ß", False),
        ("\u0131", "i", False),
        ("GALWAY", "g%Y", True),
    ],
)
def test_ilike_lowers_as_java_does(text, pattern, expected):
    assert accepts(ilike(pattern, "\\"), text) is expected


def test_the_escape_of_ilike_is_not_lower_cased():
    assert accepts(ilike("A!B", "B"), "a!b")


@pytest.mark.parametrize("pattern", ["a\\", "a\\b", "\\"])
def test_an_escape_must_stand_before_a_wildcard_or_itself(pattern):
    with pytest.raises(LiteralProblem) as problem:
        like(pattern, "\\")
    assert str(problem.value) == (
        r"in a LIKE pattern '\\' must stand before %, _ or itself; to mean it literally, double it"
    )


@contextmanager
def at_most(seconds: int) -> Iterator[None]:
    """Ends what runs too long; a search gives way to signals."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"still running after {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("make", [like, ilike])
def test_many_wildcards_are_not_tried_in_all_combinations(make):
    with at_most(seconds=5):
        assert not accepts(make("%a%a%a%a%a%a%a%a%b", "\\"), "a" * 60)


# -- regular expressions

MATCHES = [
    ("", "anything"),
    ("()", "anything"),
    ("way", "Galway"),
    ("^Gal", "Galway"),
    ("way$", "Galway"),
    ("way$", "Galway\n"),
    ("way$", "Galway\r\n"),
    ("way$", "Galway\r"),
    ("way$", "Galway\u0085"),
    ("way$", "Galway\u2028"),
    (r"way\Z", "Galway\n"),
    (r"way\z", "Galway"),
    (r"\AGal", "Galway"),
    ("a.b", "a\x0bb"),
    ("a.b", "a😀b"),
    (r"^\d+$", "12"),
    (r"^\s$", "\x0b"),
    (r"^\S$", "\u00a0"),
    (r"^\S$", "\x1c"),
    (r"^\W$", "é"),
    (r"^\D$", "٣"),
    (r"[\d]", "a1"),
    (r"[^\s]", "\x85"),
    ("(?i)galway", "GALWAY"),
    ("a|b", "xb"),
    ("(?:ab)+", "abab"),
    ("a(?=b)", "ab"),
    ("a(?!b)", "ac"),
    ("(?<=a)b", "ab"),
    ("(?<!a)b", "cb"),
    ("(?>a+)b", "aab"),
    ("a{2}", "aa"),
    ("a{2,}", "aaa"),
    ("a{1,2}?b", "aab"),
    ("a++b", "aab"),
    ("[a-c]", "xbx"),
    ("[^a-c]", "\n"),
    ("[a-]", "-"),
    (r"[\]\[]", "["),
    (r"\.\*\[", "a.*[b"),
    (r"\-\#\_\<\ ", "-#_< "),
    ("]", "]"),
    ("}", "}"),
    (r"\t\n\f\r\a\e", "\t\n\f\r\a\x1b"),
    ("a b#c", "a b#c"),
    ("é", "é"),
]
MISSES = [
    ("way$", "Galway\n\n"),
    ("way$", "Galway\nx"),
    ("way\\r$", "way\r\n"),
    (r"way\z", "Galway\n"),
    ("^a", "b\na"),
    ("a.b", "a\nb"),
    ("a.b", "a\rb"),
    ("a.b", "a\u0085b"),
    ("a.b", "a\u2028b"),
    (r"\d", "٣"),
    (r"\w", "é"),
    (r"\s", "\x1c\x85\u00a0"),
    (r"\S", "\x0b"),
    (r"[\s]", "\x1c"),
    ("(?i)é", "É"),
    ("(?i)k", "\u212a"),
    ("(?i)s", "\u017f"),
    ("a++a", "aaa"),
    ("[^a-c]", "abc"),
]


@pytest.mark.parametrize(("pattern", "text"), MATCHES)
def test_a_regular_expression_is_found_where_java_finds_it(pattern, text):
    assert accepts(rlike(pattern), text)


@pytest.mark.parametrize(("pattern", "text"), MISSES)
def test_a_regular_expression_is_not_found_where_java_does_not_find_it(pattern, text):
    assert not accepts(rlike(pattern), text)


def test_a_dash_after_a_class_in_a_class_makes_no_range():
    try:
        found = rlike(r"[\s-z]")
    except LiteralProblem:
        return
    assert not accepts(found, "A")


atoms = st.sampled_from(["a", "b", ".", "[ab]", "[^a]", r"\d", r"\w", "^", "$", "\\."])
expressions = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.builds("{}{}".format, inner, inner),
        st.builds("(?:{}|{})".format, inner, inner),
        st.builds("({}){}".format, inner, st.sampled_from(["?", "*", "+", "{1,2}", "??"])),
        st.builds("(?={})".format, inner),
    ),
    max_leaves=6,
)


@given(expressions, st.text("ab1.\n", max_size=5))
def test_where_java_and_python_agree_so_does_the_translation(pattern, text):
    assert accepts(rlike(pattern), text) == (re.search(pattern, text, re.ASCII) is not None)


REFUSED = {
    "(": "not a regular expression: missing ), unterminated subpattern",
    "a)": "not a regular expression: unbalanced parenthesis",
    "*a": "not a regular expression: nothing to repeat",
    "a**": "not a regular expression: multiple repeat",
    "a{2,1}": "not a regular expression: min repeat greater than max repeat",
    "(?<=a+)b": "not a regular expression: look-behind requires fixed-width pattern",
    "[b-a]": "not a regular expression: bad character range b-a",
    "[a": "a character class [ is not closed",
    "[": "a character class [ is not closed",
    "[a[b]]": "nested classes, &&, -- and an unescaped [ or ]",
    "[a&&b]": "nested classes, &&, -- and an unescaped [ or ]",
    "[]a]": "nested classes, &&, -- and an unescaped [ or ]",
    "{": "a { that is not a repeat count such as {2,5} must be escaped",
    "a{": "a { that is not a repeat count such as {2,5} must be escaped",
    "a{,3}": "a { that is not a repeat count such as {2,5} must be escaped",
    "(?<x>a)": "of the groups that start with (? only",
    "(?P<x>a)": "of the groups that start with (? only",
    "(?#c)a": "of the groups that start with (? only",
    "(?m)a": "of the groups that start with (? only",
    "a(?i)b": "of the groups that start with (? only",
    r"\bcat": r"\b is refused, since Java releases disagree about it beyond ASCII",
    r"\p{L}": r"\p is not supported in RLIKE",
    r"\1": r"\1 is not supported in RLIKE",
    r"\Qa\E": r"\Q is not supported in RLIKE",
    r"\x41": r"\x is not supported in RLIKE",
    r"\R": r"\R is not supported in RLIKE",
    r"\h": r"\h is not supported in RLIKE",
    r"\G": r"\G is not supported in RLIKE",
    r"\y": r"\y is not supported in RLIKE",
    r"[\S]": r"\S is not supported in RLIKE",
    "\\": "\\ is not supported in RLIKE",
}


@pytest.mark.parametrize("pattern", REFUSED)
def test_what_cannot_be_said_exactly_is_refused_with_a_reason(pattern):
    with pytest.raises(LiteralProblem) as problem:
        rlike(pattern)
    assert REFUSED[pattern] in str(problem.value)
