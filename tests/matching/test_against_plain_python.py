"""The Matcher against the plain evaluator: fast, without Spark, and shrunk by hypothesis.

Measuring coverage would double the time of the many clauses; the few small ones are measured.
"""

from random import Random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.oracle.clauses import Clauses
from tests.oracle.events import random_batch, random_schema
from tests.oracle.judges import Case, ask_caddis, ask_plainly
from tests.runs import seeds

JUDGES = {"plain": ask_plainly, "Caddis": ask_caddis}


@pytest.mark.no_cover
@pytest.mark.parametrize("seed", seeds(10, 60))
def test_the_matcher_agrees_with_the_plain_evaluator(seed):
    random = Random(seed)
    batch = random_batch(random, random_schema(random), rows=50)
    clauses = Clauses(random, batch)
    assert Case(batch, JUDGES).disagreement([clauses.tree() for _ in range(200)]) == ""


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(st.randoms(use_true_random=False))
def test_a_few_small_clauses_mean_what_they_say(random):
    batch = random_batch(random, random_schema(random), rows=4)
    clauses = Clauses(random, batch)
    assert Case(batch, JUDGES).disagreement([clauses.tree(depth=2) for _ in range(2)]) == ""


@pytest.mark.parametrize("seed", seeds(3, 10))
def test_a_column_that_the_batch_lacks_is_null(seed):
    random = Random(seed)
    schema = random_schema(random)
    batch = random_batch(random, schema, rows=20)
    nodes = [Clauses(random, batch).tree(depth=3) for _ in range(100)]
    missing = schema.names[0]
    nulls = batch.set_column(0, schema.field(0), pa.nulls(len(batch), schema.field(0).type))
    lacking = ask_caddis(batch.drop_columns([missing]), nodes, schema=schema)
    assert np.array_equal(lacking, ask_plainly(nulls, nodes))
