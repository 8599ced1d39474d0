"""The workloads are what they say: same seed, same bytes, and the stated proportions."""

import re
from io import StringIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from rich.console import Console

from caddis.lab.figures.ratios import Row, print_table, records
from caddis.lab.workloads import (
    MARKETPLACE_SCHEMA,
    ZIPF_SCHEMA,
    marketplace_events,
    marketplace_subscriptions,
    zipf_event_codes,
    zipf_events,
    zipf_predicates,
    zipf_subscriptions,
)
from caddis.lab.workloads.zipf import ATTRIBUTES, WORDS, Operator, Predicates
from caddis.lab.yardsticks.baselines import CountingMatcher, join_table
from tests.runs import times

KEYWORDS = {"AND", "OR", "NOT", "IN", "BETWEEN", "LIKE", "ILIKE", "IS", "NULL"} | {
    *("DATE", "TIMESTAMP", "array_contains")
}
MAKERS = [zipf_subscriptions, zipf_events, marketplace_subscriptions, marketplace_events]


def names_in(where: str) -> set[str]:
    """Every word outside quotes that is neither a number nor a keyword."""
    bare = re.sub(r"'[^']*'", " ", where)
    return set(re.findall(r"[A-Za-z_][A-Za-z_0-9]*", bare)) - KEYWORDS


def shape_of(where: str) -> str:
    return re.sub(r"'[^']*'|(?<![\w.])-?\d+(\.\d+)?", "?", where)


def holding(predicates: Predicates, codes: np.ndarray) -> np.ndarray:
    """Brute force: holding[predicate, event]."""
    value = codes[predicates.column]
    holds = (value >= predicates.low[:, None]) & (value <= predicates.high[:, None])
    listed = predicates.operator == Operator.IN
    holds[listed] = (value[listed][:, :, None] == predicates.members[listed][:, None, :]).any(2)
    return holds & (value >= 0)


def satisfied(predicates: Predicates, codes: np.ndarray) -> np.ndarray:
    """satisfied[subscription, event]."""
    return np.logical_and.reduceat(holding(predicates, codes), predicates.offsets[:-1], axis=0)


def holds_in_python(predicate: str, event: dict[str, object]) -> bool:
    """A second reading of the text, by Python's own comparisons."""
    column, operator, rest = predicate.split(" ", 2)
    value = event[column]
    if value is None:
        return False
    if operator == "LIKE":
        return str(value).startswith(rest.strip("'%"))
    if operator == "BETWEEN":
        low, high = rest.split(" AND ")
        return float(low) <= float(str(value)) <= float(high)
    if operator in ("=", "IN"):
        return value in re.findall(r"'(\w+)'", rest)
    compare = {"<": "__lt__", "<=": "__le__", ">": "__gt__", ">=": "__ge__"}[operator]
    return bool(getattr(float(str(value)), compare)(float(rest)))


@pytest.mark.parametrize("make", MAKERS)
def test_the_same_seed_gives_the_same_table_and_another_seed_another(make):
    assert make(500, seed=7).equals(make(500, seed=7))
    assert not make(500, seed=7).equals(make(500, seed=8))


@pytest.mark.parametrize("make", MAKERS)
def test_there_may_be_one_row_or_none(make):
    assert make(1, seed=1).num_rows == 1
    assert make(0, seed=1).num_rows == 0


@pytest.mark.parametrize("shapes", [None, 300])
def test_predicates_have_the_stated_proportions(shapes):
    operator = zipf_predicates(20_000, seed=1, shapes=shapes).operator
    share = np.bincount(operator, minlength=len(Operator)) / len(operator)
    assert share[Operator.EQUAL] == pytest.approx(0.70, abs=0.01)
    assert share[Operator.BELOW :].sum() == pytest.approx(0.20, abs=0.01)
    assert share[Operator.IN] == pytest.approx(0.05, abs=0.005)
    assert share[Operator.PREFIX] == pytest.approx(0.05, abs=0.005)


@pytest.mark.parametrize("equality", [0.0, 0.4, 1.0])
def test_the_share_of_equalities_may_be_another(equality):
    operator = zipf_predicates(20_000, seed=1, equality=equality).operator
    share = np.bincount(operator, minlength=len(Operator)) / len(operator)
    assert share[Operator.EQUAL] == pytest.approx(equality, abs=0.01)
    assert share[Operator.BELOW :].sum() == pytest.approx((1 - equality) * 2 / 3, abs=0.01)
    table = zipf_subscriptions(50, seed=1, equality=equality)
    assert any(" = '" in where for where in table["where"].to_pylist()) == (equality > 0)


@pytest.mark.parametrize("shapes", [None, 300])
def test_a_subscription_has_two_to_five_predicates_on_distinct_columns(shapes):
    predicates = zipf_predicates(5_000, seed=2, shapes=shapes)
    sizes = np.diff(predicates.offsets)
    assert np.bincount(sizes).nonzero()[0].tolist() == [2, 3, 4, 5]
    assert np.bincount(sizes)[2:] == pytest.approx(1_250, rel=0.1)
    pairs = set(zip(predicates.subscription.tolist(), predicates.column.tolist(), strict=True))
    assert len(pairs) == len(predicates.column)


def test_an_in_list_has_two_to_five_distinct_members():
    predicates = zipf_predicates(5_000, seed=2)
    for members in predicates.members[predicates.operator == Operator.IN]:
        codes = members[members >= 0].tolist()
        assert 2 <= len(set(codes)) == len(codes) <= 5


@pytest.mark.parametrize("shapes", [None, 300])
def test_about_twelve_in_a_hundred_thousand_pairs_match(shapes):
    codes = zipf_event_codes(times(500, 1_000), seed=3)
    found = satisfied(zipf_predicates(times(10_000, 20_000), seed=4, shapes=shapes), codes)
    assert 0.00010 < found.mean() < 0.00014


def test_an_event_carries_fifteen_to_twenty_attributes():
    events = zipf_events(2_000, seed=1)
    present = sum(pc.is_valid(events[name]).to_numpy().astype(int) for name in ATTRIBUTES)
    assert np.unique(present).tolist() == [15, 16, 17, 18, 19, 20]


def test_a_few_values_and_columns_are_asked_for_most():
    events = zipf_events(5_000, seed=1)
    filled = [events.num_rows - events[name].null_count for name in ATTRIBUTES[:40]]
    assert filled[0] > 2 * filled[39]
    counts = np.sort(np.bincount(zipf_event_codes(5_000, seed=1)[0].clip(0)))[::-1]
    assert counts[1:11].sum() > counts[11:].sum() / 2


def test_the_codes_of_events_are_their_values():
    events, codes = zipf_events(300, seed=5), zipf_event_codes(300, seed=5)
    assert events.schema == ZIPF_SCHEMA
    for i, name in enumerate(ATTRIBUTES):
        scale = 100 if pa.types.is_floating(ZIPF_SCHEMA.field(name).type) else 1
        for value, code in zip(events[name].to_pylist(), codes[i].tolist(), strict=True):
            if isinstance(value, str):
                assert value == WORDS[code]
            else:
                assert (-1 if value is None else round(value * scale)) == code


def test_the_text_of_a_subscription_means_what_its_packed_form_means():
    texts = zipf_subscriptions(400, seed=6, shapes=None)["where"].to_pylist()
    predicates = zipf_predicates(400, seed=6, shapes=None)
    holds = holding(predicates, zipf_event_codes(300, seed=6))
    events = zipf_events(300, seed=6).to_pylist()
    written = [part for where in texts for part in re.split(r" AND (?=[cn]\d)", where)]
    assert [[holds_in_python(part, e) for e in events] for part in written] == holds.tolist()


def test_shapes_limit_how_many_different_texts_there_are():
    def shapes_among(count):
        texts = zipf_subscriptions(5_000, seed=1, shapes=count)["where"].to_pylist()
        return len({shape_of(text) for text in texts})

    assert shapes_among(50) <= 50
    assert 280 <= shapes_among(300) <= 300
    assert shapes_among(None) > 4_000


@pytest.mark.parametrize(
    ("make", "schema"),
    [(zipf_subscriptions, ZIPF_SCHEMA), (marketplace_subscriptions, MARKETPLACE_SCHEMA)],
)
def test_clauses_mention_columns_of_the_schema_only(make, schema):
    mentioned = set().union(*(names_in(text) for text in make(5_000, seed=1)["where"].to_pylist()))
    assert mentioned <= set(schema.names) - {"event_id"}
    assert len(mentioned) > 5


def test_people_write_in_many_ways():
    texts = " ".join(marketplace_subscriptions(2_000, seed=1)["where"].to_pylist())
    habits = "BETWEEN|IN|LIKE|ILIKE|array_contains|IS NOT NULL|IS NULL|OR|NOT|DATE|TIMESTAMP"
    for habit in habits.split("|"):
        assert re.search(rf"\b{habit}\b", texts), habit


def test_subscription_ids_are_distinct_and_readable():
    ids = marketplace_subscriptions(2_000, seed=1)["subscription_id"].to_pylist()
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"[a-z]+-\d{5}", name) for name in ids)


def test_offers_are_sound():
    offers = marketplace_events(2_000, seed=1)
    offers.validate(full=True)
    assert offers.schema == MARKETPLACE_SCHEMA
    assert pc.min(offers["price"]).as_py() > 0
    assert offers["posted_at"].to_pylist() == sorted(offers["posted_at"].to_pylist())
    for tags in offers["tags"].to_pylist():
        assert len(set(tags)) == len(tags)
    assert 0 < offers["seller_rating"].null_count < 400


def test_counting_finds_what_brute_force_finds():
    predicates, codes = zipf_predicates(5_000, seed=1, shapes=None), zipf_event_codes(400, seed=2)
    rows, links = CountingMatcher(predicates).match(codes)
    expected_links, expected_rows = satisfied(predicates, codes).nonzero()
    assert len(rows) > 100
    assert set(zip(rows.tolist(), links.tolist(), strict=True)) == set(
        zip(expected_rows.tolist(), expected_links.tolist(), strict=True)
    )


def test_whoever_matches_carries_one_of_the_tokens_that_the_join_looks_for():
    predicates, codes = zipf_predicates(3_000, seed=1), zipf_event_codes(300, seed=2)
    tokens: dict[int, set[str]] = {}
    for row in join_table(predicates, codes).to_pylist():
        tokens.setdefault(row["subscription_id"], set()).add(row["token"])
    assert sorted(tokens) == list(range(3_000))
    carried = [
        {text for name, value in event.items() for text in (name, f"{name}={value}") if value}
        for event in zipf_events(300, seed=2).to_pylist()
    ]
    links, rows = satisfied(predicates, codes).nonzero()
    for link, row in zip(links.tolist(), rows.tolist(), strict=True):
        assert len(tokens[link] & carried[row]) == 1


def test_the_join_looks_for_the_rarest_equality():
    predicates, codes = zipf_predicates(500, seed=1), zipf_event_codes(2_000, seed=2)
    for row in join_table(predicates, codes).to_pylist():
        of = slice(*predicates.offsets[row["subscription_id"] :][:2])
        equal = predicates.operator[of] == Operator.EQUAL
        pairs = zip(predicates.column[of][equal], predicates.low[of][equal], strict=True)
        counts = {f"{ATTRIBUTES[c]}={WORDS[v]}": int((codes[c] == v).sum()) for c, v in pairs}
        if counts:
            assert counts[row["token"]] == min(counts.values())


ROWS = [
    Row(10, "new", 600.0, "events/s", 50, "events"),
    Row(10, "old", 2.0, "events/s", 5, "events"),
    Row(10, "size", 7.0, "MiB", 10, "clauses"),
    Row(20, "new", 100.0, "events/s", 50, "events"),
]


def test_a_figure_is_divided_by_the_baseline_of_its_own_size_and_unit():
    assert [record["ratio to old"] for record in records(ROWS, ["old"])] == [300.0, 1.0, None, None]


@pytest.mark.parametrize("terminal", [False, True])
def test_the_table_says_how_much_was_measured(terminal):
    shown = StringIO()
    console = Console(file=shown, width=120, force_terminal=terminal, color_system=None)
    print_table(console, "Rates", ROWS, ["old"])
    lines = re.sub(r"\x1b\[\d+m", "", shown.getvalue()).splitlines()
    assert [line.split() for line in lines if "new" in line] == [
        ["10", "new", "600", "events/s", "50", "events", "300×"],
        ["20", "new", "100", "events/s", "50", "events"],
    ]
    assert any("─" in line for line in lines) == terminal
