"""What matches does not depend on how models are ordered, only what it costs."""

import time

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caddis.errors import ModelError
from caddis.matching import Matcher
from caddis.models import (
    NO,
    UNASKED,
    UNKNOWN,
    YES,
    AnswerCache,
    Asker,
    Catalogue,
    Model,
    Statistics,
    concept,
)
from caddis.ordering import POLICIES, Executor, Outcome
from tests.ordering.clauses import (
    SCHEMA,
    Where,
    drawn_events,
    drawn_where,
    executor_of,
    expected,
    matcher_of,
    models,
)
from tests.runs import times

SHARING = [name for name, policy in POLICIES.items() if policy.shares]


def pairs(outcome: Outcome) -> set[tuple[int, int]]:
    found = list(zip(outcome.rows.tolist(), outcome.links.tolist(), strict=True))
    assert len(found) == len(set(found)), "a match came out twice"
    assert sorted(outcome.rows.tolist()) == outcome.rows.tolist(), "rows do not ascend"
    return set(found)


def paid(outcome: Outcome) -> int:
    return sum(tally.runs + tally.hits for tally in outcome.tallies)


def photos(*seen: str | None, city: str = "Cork") -> pa.RecordBatch:
    rows = [{"event_id": key, "city": city, "photo": one} for key, one in enumerate(seen)]
    return pa.RecordBatch.from_pylist(rows, SCHEMA)


def texts(*wheres: str) -> list[Where]:
    return [Where(text, lambda _: None) for text in wheres]


def with_models(
    wheres: list[str], some: list[Model], *, on_error: str = "unknown", statistics=None, **options
) -> Executor:
    catalogue = Catalogue(some)
    asker = Asker(cache=None, clock=time.perf_counter, on_error=on_error)  # type: ignore[arg-type]
    matcher = matcher_of(texts(*wheres), catalogue)
    used = statistics or Statistics()
    return Executor([matcher], catalogue, statistics=used, asker=asker, **options)


# ------------------------------------------------------------------------- the same matches


@pytest.mark.parametrize("policy", list(POLICIES))
@settings(max_examples=times(12, 60))
@given(seed=st.integers(0, 2**32 - 1))
def test_every_policy_matches_what_evaluating_every_concept_gives(policy, seed):
    rng = np.random.default_rng(seed)
    wheres = [drawn_where(rng) for _ in range(int(rng.integers(1, 12)))]
    events, batch = drawn_events(rng, 30)
    assert pairs(executor_of(wheres, policy).match(batch)) == expected(wheres, events)


@settings(max_examples=times(10, 50))
@given(seed=st.integers(0, 2**32 - 1), cached=st.booleans())
def test_however_events_are_batched_the_matches_are_the_same(seed, cached):
    rng = np.random.default_rng(seed)
    wheres = [drawn_where(rng) for _ in range(8)]
    events, batch = drawn_events(rng, 120)
    executor = executor_of(wheres, cache=AnswerCache() if cached else None)
    found, at = set(), 0
    while at < len(events):
        size = int(rng.integers(1, 60))
        outcome = executor.match(batch.slice(at, size))
        found |= {(at + row, link) for row, link in pairs(outcome)}
        at += size
    assert found == expected(wheres, events)


@settings(max_examples=times(10, 50))
@given(seed=st.integers(0, 2**32 - 1))
def test_subscriptions_in_several_parts_match_as_in_one_and_dead_ones_do_not(seed):
    rng = np.random.default_rng(seed)
    wheres = [drawn_where(rng) for _ in range(9)]
    events, batch = drawn_events(rng, 30)
    catalogue = Catalogue(models())
    parts = [matcher_of(some, catalogue) for some in (wheres[:4], wheres[4:5], wheres[5:])]
    dead = np.array([1, 0, 1, 1], bool)
    executor = Executor(
        parts,
        catalogue,
        statistics=Statistics(),
        asker=Asker(cache=None, clock=time.perf_counter),
        alive=[dead, None, None],
    )
    wanted = {(row, link) for row, link in expected(wheres, events) if link != 1}
    assert pairs(executor.match(batch)) == wanted


@settings(max_examples=times(10, 50))
@given(seed=st.integers(0, 2**32 - 1), most_pairs=st.integers(1, 40))
def test_turns_are_together_the_whole_and_no_event_is_in_two(seed, most_pairs):
    rng = np.random.default_rng(seed)
    wheres = [drawn_where(rng) for _ in range(int(rng.integers(1, 12)))]
    events, batch = drawn_events(rng, 60)
    whole = executor_of(wheres).match(batch)
    turns = list(executor_of(wheres).match_in_turns(batch, most_pairs=most_pairs))
    assert sum(len(pairs(turn)) for turn in turns) == len(whole.rows)
    assert set().union(*map(pairs, turns)) == expected(wheres, events)
    rows = [set(turn.rows.tolist()) for turn in turns]
    assert len(set().union(*rows)) == sum(map(len, rows))
    needed = [[tally.needed for tally in turn.tallies] for turn in (whole, *turns)]
    assert needed[0] == [sum(column) for column in zip(*needed[1:], strict=True)]
    problems = [problem.row for turn in turns for problem in turn.problems]
    assert sorted(problems) == sorted(problem.row for problem in whole.problems)


def test_a_clause_that_leads_to_very_many_links_comes_in_turns_of_bounded_size():
    executor = with_models(["c0(photo)"] * 50 + ["city = 'Cork'"] * 50, [*models()])
    turns = list(executor.match_in_turns(photos(*["11111111"] * 30), most_pairs=100))
    assert [len(turn.rows) for turn in turns if len(turn.rows)] == [100] * 30
    assert sum(tally.needed for turn in turns for tally in turn.tallies) == 30


# --------------------------------------------------------------------------- as few as can be


def test_no_event_without_a_candidate_clause_touches_a_model():
    executor = executor_of(texts("city = 'Galway' AND c0(photo)"))
    outcome = executor.match(photos("11111111", "00000000", city="Cork"))
    assert [(tally.needed, tally.runs) for tally in outcome.tallies] == [(0, 0)]


def test_a_clause_that_needs_no_model_spares_the_others_of_its_link():
    executor = executor_of(texts("city = 'Cork' OR c0(photo)"))
    outcome = executor.match(photos("0" * 8, "1" * 8, None))
    assert pairs(outcome) == {(0, 0), (1, 0), (2, 0)}
    assert paid(outcome) == 0


def test_a_null_is_unknown_and_no_model_is_asked():
    outcome = executor_of(texts("c0(photo)", "NOT c0(photo)")).match(photos(None))
    assert pairs(outcome) == set()
    assert paid(outcome) == 0
    assert outcome.known.tolist() == [[UNKNOWN]]


def test_a_model_of_several_concepts_is_run_once_for_all_of_them():
    outcome = executor_of(texts("c4(photo)", "c5(photo)", "NOT c6(photo)")).match(
        photos("00001010")
    )
    assert pairs(outcome) == {(0, 0)}
    assert [tally.runs for tally in outcome.tallies] == [1]


def test_what_is_known_already_is_not_asked_again():
    executor = executor_of(texts("c0(photo) AND c3(photo)", "NOT c7(photo)"))
    names = [one.name for one in executor.concepts]
    known = np.full((2, 3), UNASKED, np.uint8)
    known[0, names.index("c0")] = NO
    known[1, names.index("c7")] = YES
    outcome = executor.match(photos("11111111", "11111111"), known=known)
    assert pairs(outcome) == {(1, 0)}
    learnt = outcome.known[:, [names.index(name) for name in ("c0", "c3", "c7")]]
    assert learnt.tolist() == [[NO, UNASKED, YES], [YES, YES, YES]]


def test_a_repeated_picture_costs_nothing():
    executor = executor_of(texts("c0(photo) AND c3(photo)"), cache=AnswerCache())
    first = executor.match(photos("11111111", "11111111"))
    second = executor.match(photos("11111111"))
    assert [tally.runs for tally in first.tallies] == [1, 1]
    assert [(tally.runs, tally.hits) for tally in second.tallies] == [(0, 1), (0, 1)]
    assert pairs(second) == {(0, 0)}


def test_without_sharing_each_subscription_pays_for_itself():
    wheres = texts("c0(photo)", "c0(photo) AND city = 'Cork'", "NOT c0(photo)")
    alone = executor_of(wheres, "per-subscription").match(photos("11111111"))
    assert alone.tallies[0].runs == 3
    for policy in SHARING:
        assert executor_of(wheres, policy).match(photos("11111111")).tallies[0].runs == 1


def test_foresight_costs_no_more_than_running_all():
    rng = np.random.default_rng(7)
    wheres = [drawn_where(rng) for _ in range(12)]
    _, batch = drawn_events(rng, 200)
    costs = {policy: paid(executor_of(wheres, policy).match(batch)) for policy in POLICIES}
    assert costs["foresight"] < 0.9 * costs["run-all"]
    assert costs["run-all"] <= costs["per-subscription"]


# ------------------------------------------------------------------------------- what goes wrong


def refusing() -> list[Model]:
    @concept(reads="photo", answers=["c0"])
    def fragile(photo: str) -> bool:
        if photo.startswith("x"):
            raise ValueError("cannot bear an x")
        return photo.startswith("1")

    return [fragile]


def test_where_a_model_raises_its_concepts_are_unknown_and_the_others_go_on():
    executor = with_models(["c0(photo)", "NOT c0(photo)"], refusing())
    outcome = executor.match(photos("1", "x", "0", "x2"))
    assert pairs(outcome) == {(0, 0), (2, 1)}
    problems = [
        (one.row, one.reading.model.name, one.reason, one.failed) for one in outcome.problems
    ]
    assert problems == [
        (1, "fragile", "ValueError: cannot bear an x", True),
        (3, "fragile", "ValueError: cannot bear an x", True),
    ]
    assert outcome.tallies[0].failed == 2


def test_if_asked_to_a_failing_model_stops_the_match_and_is_named_with_the_event():
    executor = with_models(["c0(photo)"], refusing(), on_error="raise")
    keys = pa.array(["a", "b"])
    with pytest.raises(ModelError) as problem:
        executor.match(photos("1", "x"), keys=keys)
    assert str(problem.value) == (
        "the model 'fragile' failed on event 'b': ValueError: cannot bear an x"
    )
    with pytest.raises(ModelError, match="failed on row 1: ValueError"):
        executor.match(photos("1", "x"))


def test_of_two_models_that_answer_a_concept_the_cheaper_is_used():
    @concept(reads="photo", answers=["c0"], cost=50)
    def slow(_: str) -> bool:
        return True

    executor = with_models(["c0(photo)"], [slow, *refusing()])
    assert pairs(executor.match(photos("0"))) == set()
    (passed,) = executor.assignment.passed_over
    assert (passed.used.model.name, passed.instead_of.model.name) == ("fragile", "slow")


def test_a_concept_that_no_model_answers_is_an_error_with_the_nearest_name():
    catalogue = Catalogue(models())
    matcher = matcher_of(texts("c0(photo)"), catalogue)
    with pytest.raises(ModelError, match="c0"):
        Executor(
            [matcher],
            Catalogue(models()[1:]),
            statistics=Statistics(),
            asker=Asker(cache=None, clock=time.perf_counter),
        )


# ------------------------------------------------------------------------------------ learning


def a_clock(ticks: dict[str, float]):
    """A clock that a model moves on by what it costs."""
    return lambda: ticks["now"]


def timed(ticks: dict[str, float], name: str, seconds: float, at: int) -> Model:
    def model(photo: str) -> bool:
        ticks["now"] += seconds
        return photo[at] == "1"

    model.__name__ = name
    return concept(reads="photo", answers=[f"c{at}"], version=name)(model)


def drifting(ticks: dict[str, float]) -> Executor:
    catalogue = Catalogue([timed(ticks, "one", 0.01, 0), timed(ticks, "other", 0.012, 1)])
    return Executor(
        [matcher_of(texts("c0(photo) AND c1(photo)"), catalogue)],
        catalogue,
        statistics=Statistics(half_life=200),
        asker=Asker(cache=None, clock=a_clock(ticks)),
    )


def stream(rng: np.random.Generator, count: int, chances: tuple[float, float]) -> pa.RecordBatch:
    """Pictures that are all different, with concepts 0 and 1 true so often."""
    drawn = rng.random((count, 2)) < chances
    return photos(*(f"{int(a)}{int(b)}{at:08}" for at, (a, b) in enumerate(drawn)))


def test_after_a_drift_the_model_that_refutes_more_comes_first():
    ticks = {"now": 0.0}
    executor, rng = drifting(ticks), np.random.default_rng(2)
    before = executor.match(stream(rng, 2000, (0.1, 0.9)))
    assert before.tallies[0].runs > 5 * before.tallies[1].runs
    for _ in range(3):
        after = executor.match(stream(rng, 2000, (0.9, 0.1)))
    assert after.tallies[1].runs > 5 * after.tallies[0].runs
    one, other = executor.readings
    assert executor.statistics.selectivity(one, "c0") == pytest.approx(0.9, abs=0.1)
    assert executor.statistics.cost(other) == pytest.approx(12, rel=0.05)


def test_a_plan_is_not_changed_for_nothing():
    ticks = {"now": 0.0}
    executor, rng = drifting(ticks), np.random.default_rng(3)
    executor.match(stream(rng, 4000, (0.1, 0.9)))
    plan = executor.planner.plan
    for chances in ((0.15, 0.9), (0.05, 0.85), (0.1, 0.95)):
        executor.match(stream(rng, 1000, chances))
    assert executor.planner.plan is plan


@pytest.mark.parametrize("type_", [pa.string_view(), pa.large_string()], ids=str)
def test_a_column_may_come_in_any_layout_of_text(type_):
    catalogue = Catalogue(models())
    schema = SCHEMA.set(2, pa.field("photo", type_))
    where = pa.table({"subscription_id": [0], "where": ["c0(photo) AND NOT c3(photo)"]})
    executor = Executor(
        [Matcher.compile(where, schema, concepts=catalogue.vocabulary)],
        catalogue,
        statistics=Statistics(),
        asker=Asker(cache=None, clock=time.perf_counter),
    )
    batch = pa.record_batch([[0, 1], ["Cork", None], ["10000000", None]], schema)
    assert pairs(executor.match(batch)) == {(0, 0)}


def test_a_subscription_without_concepts_needs_no_models():
    table = pa.table({"subscription_id": [0], "where": ["city = 'Cork'"]})
    executor = Executor(
        [Matcher.compile(table, SCHEMA)],
        Catalogue([]),
        statistics=Statistics(),
        asker=Asker(cache=None, clock=time.perf_counter),
    )
    assert pairs(executor.match(photos("1"))) == {(0, 0)}
