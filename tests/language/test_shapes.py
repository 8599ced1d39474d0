"""Lifting literals out of a text loses nothing, and finds exactly the literals."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caddis.language.shapes import CONCEPT, CONCEPT_STAND_IN, Shape, lift, lift_key, shape_of

pieces = st.sampled_from(
    [
        "city",
        " = ",
        " AND ",
        "price",
        "<",
        "'a'",
        '"b c"',
        "'it''s'",
        "r'\\'",
        "`odd 'name`",
        "5",
        "-5",
        "1.5",
        ".5",
        "1e-3D",
        "a1",
        "x.y",
        "--",
        "-- it's\n",
        "/* 7 */",
        "\n",
        "\t",
        "(",
        ")",
        ",",
        "'",
        '"',
        "`",
        "\\",
        "é",
        "😀",
        "_",
        ".",
        "5L",
        "'%x_'",
        "\r",
        "\x01",
    ]
)
clauses = st.lists(pieces, max_size=12).map("".join)


def text_of(shape: Shape, literals: tuple[str, ...]) -> str:
    between, last = shape.between[:-1], shape.between[-1]
    return "".join(fixed + text for fixed, text in zip(between, literals, strict=True)) + last


@given(clauses | st.text(st.characters(exclude_characters="\0"), max_size=20))
def test_the_text_between_and_the_literals_give_the_text_back(where):
    assert text_of(*lift(where)) == where


@given(clauses)
def test_lifted_names_give_the_text_back_and_stand_before_a_parenthesis(where):
    shape, texts = lift(where, str.isidentifier)
    assert text_of(shape, texts) == where
    for slot, kind in enumerate(shape.kinds):
        start, end = shape.span_of(slot, texts)
        assert where[start:end] == texts[slot]
        assert kind != CONCEPT or where[end:].lstrip().startswith("(")


@given(clauses)
def test_names_are_lifted_beside_the_same_literals(where):
    shape, texts = lift(where, str.isidentifier)
    others = zip(shape.kinds, texts, strict=True)
    assert tuple(text for kind, text in others if kind != CONCEPT) == lift(where)[1]


@given(clauses)
def test_every_literal_has_a_kind(where):
    shape, literals = lift(where)
    assert len(shape.kinds) == len(literals)


@given(clauses)
def test_the_key_stands_for_the_shape(where):
    key, literals = lift_key(where)
    assert (shape_of(key), literals) == lift(where)


@pytest.mark.parametrize(
    ("where", "literals", "kinds"),
    [
        ("a = 5", ("5",), "i"),
        ("a = -5", ("5",), "i"),
        ("a=5.0", ("5.0",), "d"),
        ("a = .5", (".5",), "d"),
        ("a = 5.", ("5.",), "d"),
        ("a = 5e0", ("5e0",), "e"),
        ("a = 5e-3", ("5e-3",), "e"),
        ("a = 5-3", ("5", "3"), "ii"),
        ("a = 1e-40D", ("1e-40D",), "D"),
        ("a = 5L OR a = 5s OR a = 5Y", ("5L", "5s", "5Y"), "LSY"),
        ("a = 5D OR a = 5f OR a = 5BD", ("5D", "5f", "5BD"), "DFB"),
        ("a IN (1,2,3)", ("1", "2", "3"), "iii"),
        ("a = 'x'", ("'x'",), "s"),
        ('a = "x"', ('"x"',), "s"),
        ("a = ''", ("''",), "s"),
        ("a LIKE 'x%'", ("'x%'",), "p"),
        ("a LIKE '%'", ("'%'",), "p"),
        ("a LIKE '%x'", ("'%x'",), "w"),
        ("a LIKE 'x_'", ("'x_'",), "w"),
        ("a LIKE '%%'", ("'%%'",), "w"),
        (r"a LIKE 'x\%'", (r"'x\%'",), "w"),
        ("a = 'it''s'", ("'it''s'",), "w"),
        (r"a = 'it\'s'", (r"'it\'s'",), "w"),
        (r"a = r'\'", (r"r'\'",), "r"),
        ('a = R"x"', ('R"x"',), "r"),
        ("a = 'x' -- 5 it's", ("'x'",), "s"),
        ("a = 'x' /* 5 ' */ OR b = 6", ("'x'", "6"), "si"),
        ("`5 'x'` = 5", ("5",), "i"),
        ("`a``5` = 5", ("5",), "i"),
        ("a = '-- 5' OR b = 6", ("'-- 5'", "6"), "si"),
        ("a = '`' OR b = '`'", ("'`'", "'`'"), "ss"),
        ("a1 = 5 AND b_2.c3 = 6", ("5", "6"), "ii"),
        ("`a b`.c = 5", ("5",), "i"),
        ("a.b = 5", ("5",), "i"),
        ("DATE'2024-01-01' = a", ("'2024-01-01'",), "s"),
        ("a = 'x\ny'", ("'x\ny'",), "s"),
    ],
)
def test_these_are_the_literals(where, literals, kinds):
    shape, found = lift(where)
    assert (found, shape.kinds) == (literals, kinds)


def test_clauses_that_differ_in_their_literals_alone_share_a_shape():
    texts = [
        f"city = '{city}' AND price < {price} AND rating >= {rating}"
        for city, price, rating in product(
            ["Galway", "Cork", "it's".replace("'", "’"), ""], range(0, 3000, 100), [0.5, 4.25]
        )
    ]
    assert len({lift_key(text)[0] for text in texts}) == 1


def test_a_stream_of_clauses_from_a_few_templates_has_as_few_shapes():
    templates = ["c{0} = 'v{1}'", "c{0} = 'v{1}' AND n{0} < {1}", "c{0} IN ('a{1}', 'b')"]
    texts = [t.format(i % 7, i) for i in range(20_000) for t in templates]
    assert len({lift_key(text)[0] for text in texts}) == 3 * 7


@given(st.integers(0, 10**12), st.integers(0, 10**12))
def test_whole_numbers_of_any_length_share_a_shape(a, b):
    assert lift_key(f"x = {a}")[0] == lift_key(f"x = {b}")[0]


@pytest.mark.parametrize("other", ["5.0", "5e0", "5L", "'5'", "'5%'", "r'5'"])
def test_literals_that_spark_types_differently_are_different_shapes(other):
    assert lift_key("x = 5")[0] != lift_key(f"x = {other}")[0]


@given(st.lists(st.sampled_from(["5", "'long text'", "1.5", "'it''s'"]), max_size=5))
def test_places_in_the_template_become_places_in_the_text(literals):
    where = "a = " + " OR a = ".join([*literals, "b"])
    shape, found = lift(where)
    template = shape.template()
    for place, mark in enumerate(template):
        if mark in "aORb=" and template[place - 1] == " ":
            assert where[shape.to_text(place, found)] == mark


@given(st.lists(st.sampled_from(["5", "'long text'", "1.5"]), min_size=1, max_size=5))
def test_a_literal_knows_its_place_in_the_text(literals):
    where = "a = " + " OR a = ".join(literals)
    shape, found = lift(where)
    for slot, literal in enumerate(literals):
        start, end = shape.span_of(slot, found)
        assert where[start:end] == literal


@given(clauses)
def test_the_template_has_a_stand_in_where_each_literal_begins(where):
    shape, _ = lift(where, str.isidentifier)
    template = shape.template()
    for place, slot in shape.slot_starts().items():
        number_or_name = CONCEPT_STAND_IN if shape.kinds[slot] == CONCEPT else "1"
        stand_in = "'s'" if shape.kinds[slot] in "spwr" else number_or_name
        assert template.startswith(stand_in, place)
