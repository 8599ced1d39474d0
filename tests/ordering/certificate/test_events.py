"""An event's certificate is the cheapest proof; nobody who is asked in turn pays less."""

import time

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caddis.models import AnswerCache, Asker
from caddis.ordering import Executor
from caddis.ordering.certificate.events import EventCertificates, event_certificates
from caddis.ordering.explaining import explain_models
from tests.ordering.clauses import SCHEMA, Where, drawn_events, drawn_where, executor_of

COSTS = (3.0, 7.0, 5.0, 11.0, 2.0)


def judged(some: Executor, batch: pa.RecordBatch) -> EventCertificates:
    costs = np.array([COSTS[int(reading.model.name[1:])] for reading in some.readings])
    asker = Asker(cache=AnswerCache(), clock=time.perf_counter)
    return event_certificates(some, batch, asker, costs)


def executor(*wheres: str) -> Executor:
    return executor_of([Where(text, lambda _: None) for text in wheres])


def photos(*seen: str | None) -> pa.RecordBatch:
    rows = [{"event_id": at, "city": "Cork", "photo": photo} for at, photo in enumerate(seen)]
    return pa.RecordBatch.from_pylist(rows, SCHEMA)


def test_one_false_concept_refutes_and_all_true_ones_prove():
    found = judged(executor("c0(photo) AND c1(photo)"), photos("01000000", "00000000", "11000000"))
    assert found.rows.tolist() == [0, 1, 2]
    assert found.milliseconds.tolist() == [3.0, 3.0, 10.0]


def test_a_model_is_paid_once_for_all_its_concepts():
    found = judged(executor("c1(photo) AND c2(photo)", "c2(photo)"), photos("01100000"))
    assert found.milliseconds.tolist() == [7.0]


def test_what_predicates_have_settled_needs_no_proof():
    found = judged(executor("city = 'Cork' OR c0(photo)", "c7(photo)"), photos("00000001"))
    assert found.milliseconds.tolist() == [2.0]


def test_an_event_without_all_answers_is_left_out_and_counted():
    found = judged(executor("c0(photo) AND c1(photo)"), photos("-1000000", None, "01000000"))
    assert found.rows.tolist() == [2]
    assert found.left_out == 2


def test_an_event_that_no_model_decides_is_not_judged():
    found = judged(executor("city = 'Cork'", "city = 'Sligo' AND c0(photo)"), photos("11111111"))
    assert (len(found.rows), found.left_out) == (0, 0)


@pytest.mark.parametrize("policy", ["foresight", "unit-price", "run-all"])
@settings(max_examples=15)
@given(seed=st.integers(0, 2**32 - 1))
def test_no_policy_pays_less(policy, seed):
    rng = np.random.default_rng(seed)
    some = executor_of([drawn_where(rng) for _ in range(6)], policy)
    _, batch = drawn_events(rng, 15, unknown=0.02)
    found = judged(some, batch)
    events = explain_models(some, batch, batch["event_id"]).events
    for row, least in zip(found.rows.tolist(), found.milliseconds.tolist(), strict=True):
        paid = sum(COSTS[int(step.model[1])] for step in events[row].steps)
        assert paid >= least - 1e-9
