"""Every mistake that a WHERE clause can have: what the message says, and where the caret stands.

In the cases below the place that must be underlined stands between « and ».
"""

import pyarrow as pa
import pytest

from caddis.errors import SubscriptionError
from caddis.language import parse, parse_all
from caddis.language.reading import SUPPORTED

SCHEMA = pa.schema(
    [
        ("city", pa.string()),
        ("price", pa.int32()),
        ("rating", pa.float64()),
        ("sold", pa.bool_()),
        ("day", pa.date32()),
        ("at", pa.timestamp("us", "UTC")),
        ("local", pa.timestamp("us")),
        ("photo", pa.binary()),
        ("tags", pa.list_(pa.string())),
        ("days", pa.list_(pa.date32())),
        ("seller", pa.struct([("name", pa.string()), ("age", pa.int16())])),
        ("big", pa.decimal128(38, 0)),
        ("Twin", pa.int8()),
        ("twin", pa.int8()),
        pa.field("nick", pa.string(), metadata={"collation": "UTF8_LCASE"}),
    ]
)


def error_of(where: str) -> SubscriptionError:
    with pytest.raises(SubscriptionError) as problem:
        parse(where, SCHEMA)
    return problem.value


def underlined(error: SubscriptionError) -> str:
    """What stands above the carets."""
    _, text, carets = str(error).rsplit("\n", 2)
    return text[carets.index("^") : carets.rindex("^") + 1]


def shows(marked: str, message: str) -> None:
    """The error's whole text is the message, the clause and a caret under the marked place."""
    before, place, after = marked.replace("»", "«").split("«")
    caret = " " * len(before) + "^" * len(place)
    assert (
        str(error_of(before + place + after)) == f"{message}\n  {before}{place}{after}\n  {caret}"
    )


@pytest.mark.parametrize(
    ("marked", "message"),
    [
        ("«pricee» < 200", "unknown column 'pricee'; did you mean 'price'?"),
        ("city = 'Galway' AND «pricee» < 200", "unknown column 'pricee'; did you mean 'price'?"),
        ("«seller.nam» = 'Ann'", "unknown column 'seller.nam'; did you mean 'seller.name'?"),
        ("NOT («CITTY» IS NULL)", "unknown column 'CITTY'; did you mean 'city'?"),
        ("5 < «prize»", "unknown column 'prize'; did you mean 'price'?"),
        ("«`pri``ce`» = 1", "unknown column 'pri`ce'; did you mean 'price'?"),
        ("«twin» = 1", "ambiguous column 'twin': it could be 'Twin' and 'twin'"),
        (
            "«zzz» = 1",
            (
                "unknown column 'zzz'; the columns are city, price, rating, sold, day, at, local, "
                "photo, tags, days, seller.name, seller.age, ..."
            ),
        ),
        ("beach(«foto»)", "unknown column 'foto'; did you mean 'photo'?"),
    ],
)
def test_an_unknown_column_gets_the_nearest_name(marked, message):
    shows(marked, message)


@pytest.mark.parametrize(
    ("marked", "message"),
    [
        ("price = «'cheap'»", "type mismatch: the column is INT, the literal STRING"),
        ("city = «5»", "type mismatch: the column is STRING, the literal INT"),
        ("«5» = city", "type mismatch: the column is STRING, the literal INT"),
        ("city <> «5.5»", "type mismatch: the column is STRING, the literal DECIMAL(2,1)"),
        ("rating < «'5'»", "type mismatch: the column is DOUBLE, the literal STRING"),
        ("sold = «1»", "type mismatch: the column is BOOLEAN, the literal INT"),
        ("day >= «5»", "type mismatch: the column is DATE, the literal INT"),
        ("price BETWEEN 1 AND «'x'»", "type mismatch: the column is INT, the literal STRING"),
        ("price IN (1, 2, «'x'»)", "type mismatch: the column is INT, the literal STRING"),
        ("price NOT IN (NULL, «'x'»)", "type mismatch: the column is INT, the literal STRING"),
        ("city = DATE «'2024-01-01'»", "type mismatch: the column is STRING, the literal DATE"),
        (
            "local = TIMESTAMP «'2024-01-01'»",
            (
                "type mismatch: the column is TIMESTAMP_NTZ, the literal TIMESTAMP; "
                "write TIMESTAMP_NTZ '...'"
            ),
        ),
        (
            "price = «99999999999999999999»",
            (
                "type mismatch: the column is INT, the literal DECIMAL(20,0); "
                "it is beyond the range of BIGINT"
            ),
        ),
        (
            "big = «0.5»",
            (
                "type mismatch: the column is DECIMAL(38,0), the literal DECIMAL(1,1); "
                "together they need more than DECIMAL's 38 digits"
            ),
        ),
        ("array_contains(tags, «5»)", "type mismatch: the column is STRING, the literal INT"),
        (
            "array_contains(days, «'2024-01-01'»)",
            "type mismatch: the column is DATE, the literal STRING",
        ),
        (
            "array_contains(«city», 'x')",
            "type mismatch: array_contains tests an ARRAY of scalars, 'city' is STRING",
        ),
        ("«price» LIKE 'a'", "type mismatch: LIKE tests a STRING, 'price' is INT"),
        ("«day» NOT ILIKE 'a'", "type mismatch: ILIKE tests a STRING, 'day' is DATE"),
        ("«price» RLIKE 'a'", "type mismatch: RLIKE tests a STRING, 'price' is INT"),
        ("«price»", "type mismatch: a condition must be BOOLEAN, 'price' is INT"),
        ("sold AND NOT «city»", "type mismatch: a condition must be BOOLEAN, 'city' is STRING"),
        ("«price» IS TRUE", "type mismatch: a condition must be BOOLEAN, 'price' is INT"),
        ("«tags» = 'x'", "'tags' is ARRAY<STRING>: test it with array_contains"),
        ("«photo» = 'x'", "'photo' is BINARY: only IS NULL can test it"),
        (
            "«seller» = 1",
            "'seller' is STRUCT<name: STRING, age: SMALLINT>: only IS NULL can test it",
        ),
        ("«nick» = 'x'", "'nick' has collation UTF8_LCASE, and only UTF8_BINARY is supported"),
        ("city LIKE «5»", "a string is needed here"),
    ],
)
def test_a_type_mismatch_names_both_types(marked, message):
    shows(marked, message)


def test_a_boolean_that_does_not_fit_names_both_types():
    shows("sold AND «price» = TRUE", "type mismatch: the column is INT, the literal BOOLEAN")


@pytest.mark.parametrize(
    ("marked", "message"),
    [
        ("day = «'2024-02-30'»", "'2024-02-30' is not a date; write it as 'YYYY-MM-DD'"),
        ("day = DATE «'soon'»", "'soon' is not a date; write it as 'YYYY-MM-DD'"),
        (
            "at > «'yesterday'»",
            (
                "'yesterday' is not a timestamp; write it as 'YYYY-MM-DD HH:MM:SS', with a zone "
                "after it if it is not the session's"
            ),
        ),
        ("price = «128Y»", "128Y is out of range for its suffix"),
        ("rating = «1e400»", "1e400 is too large for a DOUBLE"),
        ("price = «1.5L»", "'1.5L' has a suffix for whole numbers but is not one"),
        (
            "price = «12abc»",
            (
                "'12abc' is not a number; a column name that starts with a digit is written in "
                "backquotes"
            ),
        ),
        (
            "city = «'${x}'»",
            "Spark replaces ${...} in SQL texts, so it cannot stand in a string",
        ),
        (
            r"city LIKE «'a\\b'»",
            (
                r"in a LIKE pattern '\\' must stand before %, _ or itself; to mean it literally, "
                "double it"
            ),
        ),
        (
            "city LIKE «'a!b'» ESCAPE '!'",
            (
                "in a LIKE pattern '!' must stand before %, _ or itself; to mean it literally, "
                "double it"
            ),
        ),
        ("city LIKE 'ab' ESCAPE «'!!'»", "ESCAPE takes one character, not '!!'"),
        ("city ILIKE 'ab' ESCAPE «''»", "ESCAPE takes one character, not ''"),
        ("city RLIKE «'[ab'»", "a character class [ is not closed"),
        (r"city NOT RLIKE «'\\p{L}'»", r"\p is not supported in RLIKE"),
    ],
)
def test_a_literal_that_cannot_be_used_says_why(marked, message):
    shows(marked, message)


def test_what_is_no_regular_expression_says_so():
    error = error_of("city RLIKE '('")
    assert error.problem.startswith("not a regular expression: missing )")
    assert underlined(error) == "'('"


@pytest.mark.parametrize(
    ("marked", "message"),
    [
        ("price = «»", "something is missing"),
        ("price = 1 «AND»", "something is missing after 'AND'"),
        ("«NOT»", "something is missing after 'NOT'"),
        ("price == «==» 1", "something is missing after '=='"),
        ("(price = «1»", "expected )"),
        ("price = 1«)»", "unexpected ')'"),
        ("price = 1 «y»", "unexpected 'y'"),
        ("price «!»> 5", "unexpected '!'"),
        ("price IN (1«,»)", "a comma with nothing beside it"),
        ("price IN (1«,», 2)", "a comma with nothing beside it"),
    ],
)
def test_a_syntax_error_says_what_was_not_expected_where(marked, message):
    before, place, after = marked.replace("»", "«").split("«")
    error = error_of(before + place + after)
    assert error.problem.startswith("syntax error: ")
    assert message in error.problem
    if place:
        assert error.span == (len(before), len(before) + len(place))


@pytest.mark.parametrize("marked", ["city = «'»abc", 'city = «"»abc'])
def test_a_quote_that_is_not_closed_is_underlined(marked):
    shows(marked, "syntax error: a quote or a comment is not closed")


@pytest.mark.parametrize("where", ["`city = 1", "city = 1 /* x"])
def test_what_is_not_closed_is_a_syntax_error_that_says_so(where):
    error = error_of(where)
    assert error.problem == "syntax error: a quote or a comment is not closed"
    assert where in str(error)


@pytest.mark.parametrize(
    ("where", "what", "place"),
    [
        ("price + 1 = 2", "+ where a column is needed", "price + 1"),
        ("price = 1 + 1", "+ where a literal is needed", "1 + 1"),
        ("upper(city) = 'A'", "the function upper()", "upper(city)"),
        ("city = upper('a')", "the function upper()", "upper('a')"),
        ("sold OR length(city) > 3", "the function length()", "length(city)"),
        ("tags[0] = 'x'", "[...] where a column is needed", "tags[0"),
        ("city RLIKE seller.name", "where a literal is needed", "seller.name"),
        ("price IN (1, price)", "where a literal is needed", "price"),
        ("1 = 1", "where a column is needed", "1"),
    ],
)
def test_unsupported_syntax_is_named_with_what_is_supported(where, what, place):
    error = error_of(where)
    assert error.problem.startswith("unsupported: ")
    assert what in error.problem
    assert error.problem.endswith(f"supported are {SUPPORTED}")
    assert underlined(error).removesuffix("]") == place


@pytest.mark.parametrize(
    "where",
    [
        "CASE WHEN sold THEN 1 END = 1",
        "EXISTS (SELECT 1)",
        "price BETWEEN SYMMETRIC 1 AND 2",
        "city LIKE ANY ('a', 'b')",
        "day = current_date()",
        "CAST(price AS STRING) = 'x'",
        "city || 'x' = 'y'",
        "price = ?",
        "price = :p",
        "price = INTERVAL 1 DAY",
        "price > ALL (1)",
        "city COLLATE UTF8_LCASE = 'a'",
        "count(photo)",
        "price = - 'x'",
        "(price = 1) = TRUE",
        "(price = 1) IS NULL",
        "price = 1 IS NULL",
        "price IS 5",
        "-price = 1",
        "'x'",
        "city = 'a' 'b'",
        "city = X'1F'",
    ],
)
def test_what_is_unsupported_is_refused(where):
    assert error_of(where).problem


@pytest.mark.parametrize(
    "where", ["price NOT NULL", "price ISNULL", "price NOTNULL", "price IS ! NULL"]
)
def test_what_only_other_databases_accept_is_refused(where):
    assert error_of(where).problem


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("price = price", "a column can be compared with a literal only"),
        ("price IN ()", "IN needs a list of literals"),
        ("price IN (SELECT 1)", "IN needs a list of literals"),
        ("array_contains(tags, NULL)", "array_contains cannot look for NULL"),
        ("price = 1 ORDER BY 1", "write the condition alone, without other parts of a query"),
        ("price = 1 LIMIT 5", "write the condition alone, without other parts of a query"),
        ("price = 1; SELECT 2", "syntax error: a semicolon"),
        ("price = 1;", "syntax error: a semicolon"),
        ("beach()", "the concept 'beach' takes one column, as in beach(photo)"),
        ("beach('x')", "the concept 'beach' takes one column, as in beach(photo)"),
        ("beach(photo, city)", "the concept 'beach' takes one column, as in beach(photo)"),
    ],
)
def test_other_mistakes_say_what_would_be_right(where, message):
    assert error_of(where).problem == message


@pytest.mark.parametrize("sealed", ["sealed:AAAA", "sealed:9f+/x0==", "sealed:AS/and/OR/IN"])
def test_a_sealed_subscription_among_plain_ones_is_told_where_it_belongs(sealed):
    error = error_of(sealed)
    assert "match it with caddis sealed match or match_sealed" in error.problem
    assert error.span == (0, len("sealed:"))


def test_a_concept_with_wrong_arguments_is_underlined():
    assert underlined(error_of("sold AND beach(photo, city)")) == "beach(photo, city)"


@pytest.mark.parametrize("deep", ["(" * 300 + "sold" + ")" * 300, "NOT " * 2_000 + "sold"])
def test_a_clause_that_is_nested_too_deeply_is_refused(deep):
    assert error_of(deep).problem == "the clause is nested too deeply"


def test_parentheses_nest_32_levels_deep():
    column = ("(" * 32 + "sold" + ")" * 32, "(" * 33 + "sold" + ")" * 33)
    assert parse(column[0], SCHEMA)
    assert error_of(column[1]).problem == "the clause is nested too deeply"


# -- the caret, wherever the place is


@pytest.mark.parametrize(
    "before",
    [
        "city = 'a rather long literal that stands before the place' AND ",
        "price = 123456789 AND rating < 1.5e-3 AND ",
        "city = '' AND price = 1 AND ",
        "city IN ('a', 'bb', 'it''s', \"d\", r'e\\') AND ",
        "/* a 'comment' with 5 */ ",
        "city = 'é😀' AND ",
        "`price` = 1 AND ",
        "city\t=\t'x'\tAND\t",
        "city = '\t' AND ",
        "sold AND (((NOT sold) OR price > -5) AND ",
        "city LIKE '%a\\\\_%' AND ",
    ],
)
def test_the_caret_is_right_whatever_stands_before(before):
    after = " < 200" + ")" * (before.count("(") - before.count(")"))
    error = error_of(f"{before}pricee{after}")
    assert error.problem == "unknown column 'pricee'; did you mean 'price'?"
    assert error.span == (len(before), len(before) + 6)
    assert underlined(error) == "pricee"


def test_of_several_lines_the_right_one_is_shown():
    where = "city = 'Galway'\n  -- not 'too' dear\n  AND pricee < 200\n  AND sold"
    assert str(error_of(where)).split("\n")[1:] == ["    AND pricee < 200", "        ^^^^^^"]


def test_a_literal_of_several_lines_does_not_move_the_caret():
    where = "city = 'two\nlines' AND pricee < 200"
    assert str(error_of(where)).split("\n")[1:] == [
        "  lines' AND pricee < 200",
        "             ^^^^^^",
    ]


def test_of_a_very_long_text_the_part_around_the_place_is_shown():
    many = " AND ".join(f"price <> {i}" for i in range(2_000))
    error = error_of(f"{many} AND pricee = 1 AND {many}")
    assert len(str(error)) < 500
    assert underlined(error) == "pricee"


def test_a_wrong_literal_deep_in_a_long_text_is_underlined():
    many = " AND ".join(f"city <> 'v{i}'" for i in range(500))
    assert underlined(error_of(f"{many} AND price = 'here' AND {many}")) == "'here'"


def test_a_control_character_in_the_text_is_an_error_like_any_other():
    assert error_of("price\0 = 1").problem
    assert error_of("price = 1 \x01 AND sold").problem


def test_a_call_that_the_parser_trips_over_is_one_subscriptions_mistake():
    problem = "a function is called here as SQL does not allow"
    assert error_of("map(price) = 3").problem == problem
    table = parse_all(["map(price) = 3", "price = 3"], SCHEMA)
    assert list(table.errors) == [0]
    assert table.owner.tolist() == [1]
