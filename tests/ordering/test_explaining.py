"""An explanation tells what was asked, in which order, and which answers mattered."""

import time

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caddis.matching import Matcher
from caddis.models import Asker, Catalogue, FunctionModel, Statistics, Unreadable, concept
from caddis.ordering import POLICIES, Executor
from caddis.ordering.explaining import Answer, Step, explain_models, reasons
from tests.ordering.clauses import drawn_events, drawn_where, executor_of

SCHEMA = pa.schema([("city", pa.string()), ("photo", pa.string())])


def model(name: str, *answers: str, cost: float) -> FunctionModel:
    """It sees a concept in a photo that names it."""

    def look(photo: str) -> list[bool] | bool:
        if photo == "torn":
            raise Unreadable("it is torn")
        seen = [answer in photo.split() for answer in answers]
        return seen if len(seen) > 1 else seen[0]

    look.__name__ = name
    return concept(answers=answers, cost=cost, version=name)(look)


ANIMALS = model("animals", "dog", "cat", cost=1.0)
PLACES = model("places", "beach", cost=50.0)
ANIMALS_TOO = model("animals_too", "dog", cost=9.0)


def executor(*wheres: str, policy: str = "foresight") -> Executor:
    catalogue = Catalogue([ANIMALS_TOO, ANIMALS, PLACES])
    table = pa.table({"subscription_id": range(len(wheres)), "where": wheres})
    matcher = Matcher.compile(table, SCHEMA, concepts=catalogue.vocabulary)
    asker = Asker(cache=None, clock=time.perf_counter)
    return Executor([matcher], catalogue, statistics=Statistics(), asker=asker, policy=policy)


def events(*photos: str | None, city: str = "Cork") -> pa.RecordBatch:
    return pa.record_batch({"city": [city] * len(photos), "photo": photos}, SCHEMA)


def explained(some: Executor, batch: pa.RecordBatch):
    return explain_models(some, batch, pa.array([f"e{row}" for row in range(batch.num_rows)]))


def test_the_cheap_model_is_asked_first_and_spares_the_dear_one():
    found = explained(executor("dog(photo) AND beach(photo)"), events("cat", "dog beach"))
    first, second = found.events
    assert first.steps == (Step("animals(photo)", (Answer("dog", "no"),)),)
    assert (first.event, first.named, first.matches) == ("e0", 2, 0)
    assert [step.model for step in second.steps] == ["animals(photo)", "places(photo)"]
    assert (second.named, second.matches) == (2, 1)


def test_only_answers_that_an_open_clause_asked_for_matter():
    some = executor("city = 'Cork' OR cat(photo)", "city = 'Galway' AND cat(photo)", "dog(photo)")
    [found] = explained(some, events("cat")).events
    assert found.steps == (Step("animals(photo)", (Answer("dog", "no"),)),)


def test_an_event_that_needs_no_model_has_no_steps():
    some = executor("city = 'Cork'", "city = 'Galway' AND dog(photo)")
    [found] = explained(some, events("dog")).events
    assert (found.steps, found.named, found.matches) == ((), 0, 1)


def test_a_null_asks_nobody_and_a_torn_photo_says_why():
    null, torn = explained(executor("NOT dog(photo)"), events(None, "torn")).events
    assert (null.steps, null.named, null.matches) == ((), 0, 0)
    assert torn.steps == (Step("animals(photo)", (), "it is torn"),)


def test_models_and_concepts_are_told_with_what_was_seen_of_them():
    some = executor("dog(photo) AND beach(photo)")
    found = explained(some, events("cat", "dog", "dog beach"))
    animals, places = found.models
    assert (animals.name, animals.runs, animals.avoided) == ("animals(photo)", 3, 0)
    assert (places.runs, places.avoided) == (2, 1)
    assert 0 < animals.milliseconds < 1000
    dog, beach = found.concepts
    assert (dog.concept, dog.true, dog.known) == ("dog(photo)", 2, 3)
    assert (beach.model, beach.true, beach.known) == ("places(photo)", 1, 2)


def test_a_model_that_never_ran_costs_what_it_says():
    found = explained(executor("dog(photo) AND beach(photo)"), events("cat"))
    assert found.models[1].milliseconds == 50.0


def test_a_dearer_model_for_the_same_concept_is_passed_over():
    [passed] = explained(executor("dog(photo)"), events("dog")).passed_over
    assert (passed.used.name, passed.instead_of.name) == ("animals(photo)", "animals_too(photo)")


def test_a_match_has_the_fewest_answers_that_made_it_so():
    some = executor("dog(photo) AND beach(photo) OR cat(photo)", "NOT beach(photo)")
    batch = events("dog cat beach", "dog")
    found = reasons(some, batch, some.match(batch).known)
    assert found == {(0, 0): (Answer("cat", "yes"),), (1, 1): (Answer("beach", "no"),)}


@pytest.mark.parametrize("policy", [name for name in POLICIES if name != "run-all"])
@settings(max_examples=15)
@given(seed=st.integers(0, 2**32 - 1))
def test_whoever_is_asked_has_an_answer_that_matters(policy, seed):
    rng = np.random.default_rng(seed)
    wheres = [drawn_where(rng) for _ in range(int(rng.integers(1, 8)))]
    _, batch = drawn_events(rng, 12)
    some = executor_of(wheres, policy)
    found = explained(some, batch)
    outcome = found.outcome
    asked = sum(tally.runs + tally.hits for tally in outcome.tallies)
    assert sum(len(event.steps) for event in found.events) == asked
    pairs = set(zip(outcome.rows.tolist(), outcome.links.tolist(), strict=True))
    assert set(reasons(some, batch, outcome.known)) == pairs
    if some.policy.shares:
        assert all(step.answers for event in found.events for step in event.steps)
        needed = sum(tally.needed for tally in outcome.tallies)
        assert sum(event.named for event in found.events) == needed
