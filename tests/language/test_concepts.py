"""The names of known concepts are lifted like literals, and nothing else changes by it."""

from itertools import product

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from caddis.errors import SubscriptionError
from caddis.language import (
    Clause,
    ClauseTable,
    Column,
    Columns,
    Concept,
    InValues,
    ValueSet,
    Vocabulary,
    parse_all,
)
from caddis.language.reading import is_plain_name, read
from caddis.language.refusals import ShapeProblem
from caddis.language.shapes import CONCEPT_STAND_IN, lift, lift_key
from tests.runs import times

SCHEMA = pa.schema(
    [
        ("city", pa.string()),
        ("price", pa.int32()),
        ("sold", pa.bool_()),
        ("photo", pa.binary()),
        ("beach", pa.bool_()),
        ("seller", pa.struct([("face", pa.binary())])),
    ]
)
PHOTO = Column(("photo",), pa.binary())
FACE = Column(("seller", "face"), pa.binary())
KNOWN = Vocabulary.of(
    [("beach", "photo"), ("crowded", None), ("c1", "photo"), ("c1", "seller.face"), ("left", None)]
)

Meaning = set[tuple[frozenset[object], frozenset[Concept]]]


def clauses_of(table: ClauseTable) -> list[Clause]:
    return [table.clause(number) for number in range(len(table.owner))]


def parsed(where: str) -> list[Clause]:
    table = parse_all([where], SCHEMA, concepts=KNOWN)
    assert not table.errors, table.errors
    return clauses_of(table)


def meaning(clauses: list[Clause]) -> Meaning:
    """Clauses without regard to order and repetition."""
    return {(frozenset(clause.predicates), frozenset(clause.concepts)) for clause in clauses}


def error_of(where: str) -> SubscriptionError:
    return parse_all([where], SCHEMA, concepts=KNOWN).errors[0]


def underlined(error: SubscriptionError) -> str:
    assert error.span is not None
    return error.where[slice(*error.span)]


def names_in(where: str) -> tuple[str, ...]:
    shape, texts = lift(where, lambda name: name.lower() in KNOWN.columns)
    return tuple(text for text, kind in zip(texts, shape.kinds, strict=True) if kind == "c")


# -- which names are lifted


@pytest.mark.parametrize(
    ("where", "names"),
    [
        ("beach(photo)", ("beach",)),
        ("price < 5 AND NOT BEACH(photo) OR c1(photo)", ("BEACH", "c1")),
        ("beach \t\r\n (photo)", ("beach",)),
        ("(beach(photo))", ("beach",)),
        ("beach = TRUE AND beach(photo)", ("beach",)),
        ("beach AND (sold OR crowded(beach))", ("crowded",)),
        ("city = 'beach(photo)' AND crowded(photo)", ("crowded",)),
        ('city = "beach(photo)"', ()),
        ("city = r'beach(photo)'", ()),
        ("city = 'Kerr' AND beach(photo)", ("beach",)),
        ("`beach`(photo)", ()),
        ("`odd beach(photo)` AND crowded(`photo`)", ("crowded",)),
        ("sold -- beach(photo)", ()),
        ("sold -- beach(photo)\n OR crowded(photo)", ("crowded",)),
        ("/* beach(photo) */ c1(photo)", ("c1",)),
        ("beach /* which? */ (photo)", ()),
        ("seller.beach(photo)", ()),
        ("beeach(photo) OR a_beach(photo) OR beach2(photo)", ()),
        ("price IN (1, 2) AND (sold)", ()),
        ("beach\u00a0(photo)", ()),
        ("é_beach(photo)", ()),
        ("c1(photo) AND price = 1.5 AND c1(photo)", ("c1", "c1")),
    ],
)
def test_these_are_the_names(where, names):
    assert names_in(where) == names


def test_without_a_vocabulary_no_name_is_lifted():
    assert lift("beach(photo)")[0].kinds == ""


def test_texts_that_differ_in_their_concepts_share_a_shape():
    texts = [
        f"city = '{city}' AND {first}(photo) AND NOT {other}(photo)"
        for city, first, other in product(
            ["a", "Kerr"], ["beach", "C1", "crowded"], ["c1", "beach"]
        )
    ]
    keys = {lift_key(text, lambda name: name.lower() in KNOWN.columns)[0] for text in texts}
    assert len(keys) == 1


@pytest.mark.parametrize(
    "name", ["not", "and", "in", "left", "upper", "values", "exists", "cast", "map", "date", "½"]
)
def test_words_of_sql_are_no_plain_names(name):
    assert not is_plain_name(name)
    assert not is_plain_name(name.upper())


@pytest.mark.parametrize("name", ["beach", "Beach", "c1", "_x", "r", "castle", "plage_été"])
def test_other_words_are_plain_names(name):
    assert is_plain_name(name)


# -- what they come to


def test_a_name_may_be_written_in_any_case_and_is_listed_once():
    texts = ["beach(photo)", "BEACH(photo)", "sold AND Beach (photo)", "`Beach`(photo)"]
    table = parse_all(texts, SCHEMA, concepts=KNOWN)
    assert {clause.concepts for clause in clauses_of(table)} == {(Concept("beach", PHOTO),)}
    assert list(table.predicates).count(Concept("beach", PHOTO)) == 2  # as it is, and quoted


def test_a_concept_may_be_called_as_a_column_is():
    sold = InValues(Column(("beach",), pa.bool_()), ValueSet.points(1))
    assert parsed("beach AND beach(photo)") == [Clause((sold,), (Concept("beach", PHOTO),))]


def test_concepts_in_and_or_and_not():
    city = frozenset([InValues(Column(("city",), pa.string()), ValueSet.points(b"a"))])
    where = "city = 'a' AND NOT (Beach(photo) AND (crowded(photo) OR NOT c1(seller.face)))"
    assert meaning(parsed(where)) == {
        (city, frozenset([Concept("beach", PHOTO, negated=True)])),
        (city, frozenset([Concept("crowded", PHOTO, negated=True), Concept("c1", FACE)])),
    }


def test_a_concept_that_is_called_twice_is_asked_of_each_column():
    assert meaning(parsed("c1(photo) AND c1(seller.face) AND C1(photo)")) == {
        (frozenset(), frozenset([Concept("c1", PHOTO), Concept("c1", FACE)]))
    }


@pytest.mark.parametrize("where", ["FALSE AND beach(photo)", "NULL AND NOT beach(photo)"])
def test_a_concept_that_cannot_matter_is_left_out(where):
    assert parsed(where) == []


def test_the_stand_in_is_a_name_like_any_other():
    vocabulary = Vocabulary.of([(CONCEPT_STAND_IN, None), ("beach", None)])
    texts = [f"{CONCEPT_STAND_IN}(photo) AND NOT beach(photo)"]
    (clause,) = clauses_of(parse_all(texts, SCHEMA, concepts=vocabulary))
    assert clause.concepts == (
        Concept(CONCEPT_STAND_IN, PHOTO),
        Concept("beach", PHOTO, negated=True),
    )
    assert error_of(f"beach(photo) AND {CONCEPT_STAND_IN}(photo)").problem.startswith(
        f"unknown concept '{CONCEPT_STAND_IN}'"
    )


# -- what error messages say


def test_of_very_many_columns_that_a_model_reads_some_are_named():
    known = Vocabulary.of(("beach", f"photo_{number:02}") for number in range(30))
    problem = known.problem("beach", FACE)
    assert problem is not None
    assert problem.endswith(" or photo_18 or photo_19 or ...)")


THERE_IS = "beach, c1, crowded, left"


@pytest.mark.parametrize(
    ("where", "problem", "place"),
    [
        ("Beach()", "the concept 'Beach' takes one column, as in Beach(photo)", "Beach()"),
        (
            "sold AND beach(photo, city)",
            "the concept 'beach' takes one column, as in beach(photo)",
            "beach(photo, city)",
        ),
        (
            "c1(photo) AND beach('x')",
            "the concept 'beach' takes one column, as in beach(photo)",
            "beach('x')",
        ),
        (
            "crowded(photo) AND beech(photo)",
            f"unknown concept 'beech'; did you mean 'beach'? There is: {THERE_IS}",
            "beech(photo)",
        ),
        (
            "crowded(city) AND sold AND BEACH (city)",
            "no model reads 'city' for 'beach'; write beach(photo)",
            "BEACH (city)",
        ),
        (
            "beach(city) OR TRUE",
            "no model reads 'city' for 'beach'; write beach(photo)",
            "beach(city)",
        ),
        (
            "price = 'x' AND beach(city)",
            "no model reads 'city' for 'beach'; write beach(photo)",
            "beach(city)",
        ),
        (
            "beach(photo) AND price = 'x'",
            "type mismatch: the column is INT, the literal STRING",
            "'x'",
        ),
        (
            "crowded(photo) AND beach(photoo)",
            "unknown column 'photoo'; did you mean 'photo'?",
            "photoo",
        ),
        ("sold crowded(photo)", "syntax error: unexpected 'crowded'", "crowded"),
    ],
)
def test_a_mistake_beside_a_name_is_told_in_the_texts_own_words(where, problem, place):
    error = error_of(where)
    assert (error.problem, underlined(error), error.where) == (problem, place, where)


def test_a_name_that_sql_has_taken_is_refused_as_ever():
    assert "left" in KNOWN.columns
    assert error_of("left(photo)").problem == error_of("sold AND left(photo)").problem


def test_of_one_shape_only_those_with_a_mistake_are_refused():
    texts = ["beach(photo)", "beach(city)", "crowded(city)", "c1(city)", "c1(photo)"]
    table = parse_all(texts, SCHEMA, concepts=KNOWN)
    assert list(table.errors) == [1, 3]
    assert sorted(table.owner.tolist()) == [0, 2, 4]
    assert table.errors[3].problem == (
        "no model reads 'city' for 'c1'; write c1(photo or seller.face)"
    )


# -- random texts, against reading them with their names in place

calls = st.builds(
    "{}{}({})".format,
    st.sampled_from(["beach", "Beach", "crowded", "c1", "C1", "`c1`", "beech"]),
    st.sampled_from(["", "", " ", "\n"]),
    st.sampled_from(["photo", "photo", "photo", "seller.face", "city"]),
)
tests = st.sampled_from(
    ["sold", "beach", "price < 5", "city = 'beach(photo)'", "city LIKE '%r'", "TRUE", "price = 'x'"]
)
conditions = st.recursive(
    calls | calls | tests,
    lambda inner: st.one_of(
        st.builds("NOT {}".format, inner.map("({})".format)),
        st.builds("({}) AND {}".format, inner, inner),
        st.builds("({} OR {})".format, inner, inner),
    ),
    max_leaves=6,
)
WORDS = (
    "beach beach( Beach( c1 (photo) crowded(photo) left(photo) some_concept( photo city ( ) ) , . "
    "= AND OR NOT ! IN LIKE IS NULL BETWEEN AS CAST 'a' ' ` `beach` 5 -- /* */ beach(photo) é 😀 @"
)
soups = st.lists(
    st.tuples(st.sampled_from(WORDS.split()), st.sampled_from([" ", " ", "", "\n"])), max_size=9
).map(lambda parts: "".join(word + space for word, space in parts))


def problem_in_place(where: str) -> tuple[str, tuple[int, int] | None] | None:
    """What is wrong with a text's shape that has its names in place."""
    shape, literals = lift(where)
    try:
        read(shape, Columns(SCHEMA), KNOWN)
    except ShapeProblem as problem:
        span = problem.span
        if span is not None:
            span = shape.to_text(span[0], literals), shape.to_text(span[1], literals)
        return problem.problem, span
    return None


def check_like_in_place(where: str, table: ClauseTable) -> None:
    error = table.errors.get(0)
    problem = problem_in_place(where) if where.strip() else None
    if problem is not None:
        assert error is not None
        assert (error.problem, error.span, error.where) == (*problem, where)
        return
    any_concept = parse_all([where], SCHEMA)
    assert str(error) == str(any_concept.errors.get(0))
    assert meaning(clauses_of(table)) == meaning(clauses_of(any_concept))


@settings(max_examples=times(100, 600))
@given(conditions | soups)
@example("beach(photo).x")
@example("! beach(photo) AND NOT(c1 (photo))")
@example("beach(photo) OR `")
def test_a_text_is_read_as_with_its_names_in_place(where):
    check_like_in_place(where, parse_all([where], SCHEMA, concepts=KNOWN))


@given(st.lists(conditions, min_size=2, max_size=6))
def test_a_text_among_many_is_read_as_it_is_alone(texts):
    together = parse_all(texts, SCHEMA, concepts=KNOWN)
    for row, text in enumerate(texts):
        lone = parse_all([text], SCHEMA, concepts=KNOWN)
        mine = [together.clause(at) for at, owner in enumerate(together.owner) if owner == row]
        assert meaning(mine) == meaning(clauses_of(lone))
        assert str(together.errors.get(row)) == str(lone.errors.get(0))
