"""Workloads of overlays: who wants what where, and who must be notified."""

from __future__ import annotations

import numpy as np
import pytest

from caddis.errors import SubscriptionError
from caddis.lab.workloads.instances import draw_workload, paper_workload, parsed, where_of
from caddis.overlay.topology.tree import Topology
from tests.lab.simulators.overlays import drawn_topology, drawn_workload


def test_subscriptions_ask_for_what_the_instance_s_links_do():
    rng = np.random.default_rng(0)
    instance = paper_workload(40, 8, rng=rng)
    work = draw_workload(Topology.synthetic(5), instance, events=3, rng=rng)
    assert [one.where for one in work.subscriptions] == [
        where_of(literals) for _, literals in work.instance.clauses
    ]
    assert {one.broker for one in work.subscriptions} <= set(Topology.synthetic(5).brokers)
    assert work.truth.shape == (3, 8)


def test_a_where_text_is_parsed_into_the_literals_that_it_was_made_of():
    (clause,) = parsed(["c1(photo) AND NOT c2(photo)"], 3)[where_of((2, 5))]
    assert {(one.name, one.negated) for one in clause.concepts} == {("c1", False), ("c2", True)}


def test_a_text_that_calls_what_nobody_answers_is_an_error():
    with pytest.raises(SubscriptionError):
        parsed(["c7(photo)"], 3)


def test_expected_is_what_python_says_of_every_text():
    for seed in range(10):
        rng = np.random.default_rng(seed)
        work = drawn_workload(rng, drawn_topology(rng), events=6)
        found = set()
        for event, row in enumerate(work.truth.tolist()):
            answers = {f"c{number}": (lambda _, yes=yes: yes) for number, yes in enumerate(row)}
            for one in work.subscriptions:
                python = one.where.replace("AND", "and").replace("OR", "or").replace("NOT", "not")
                if eval(python, {"photo": None, **answers}):
                    found.add((event, one.subscription_id))
        assert work.expected() == found


def test_the_same_generator_draws_the_same_workload():
    instance = paper_workload(20, 6, rng=np.random.default_rng(2))
    one, other = (
        draw_workload(Topology.synthetic(4), instance, events=5, rng=np.random.default_rng(3))
        for _ in range(2)
    )
    assert one.subscriptions == other.subscriptions
    assert np.array_equal(one.truth, other.truth)
