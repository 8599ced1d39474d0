"""`caddis explain --models` decides some events and tells how, without Spark."""

import json
import re

import pytest

MODELS = """
import caddis

@caddis.concept(answers=["shouts", "asks"], cost=1.0)
def marks(title):
    if title == "torn":
        raise ValueError("nobody can read this")
    return ["!" in title, "?" in title]

@caddis.concept(cost=50.0)
def long(title):
    return len(title) > 8

@caddis.concept(answers=["asks"], cost=70.0)
def marks_too(title):
    return "?" in title
"""
POSTS = [
    {"key": "a", "city": "Galway", "title": "oh!"},
    {"key": "b", "city": "Galway", "title": "shall I wait?"},
    {"key": "c", "city": "Galway", "title": "torn"},
    {"key": "d", "city": "Cork", "title": "quiet"},
]
SUBSCRIPTIONS = """subscription_id,where
ann,city = 'Galway' AND shouts(title) AND long(title)
bo,city = 'Galway' AND asks(title)
cy,city = 'Cork'
"""


@pytest.fixture
def square(tmp_path, monkeypatch):
    """The current folder, with posts, subscriptions and models in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "posts.jsonl").write_text("\n".join(map(json.dumps, POSTS)))
    (tmp_path / "subscriptions.csv").write_text(SUBSCRIPTIONS)
    (tmp_path / "models.py").write_text(MODELS)
    return tmp_path


CALL = ("explain", "subscriptions.csv", "--events", "posts.jsonl", "--event-key", "key")


def test_it_tells_what_each_event_ran_and_what_that_said(caddis, square):
    result = caddis(*CALL, "--models", "models.py")
    assert result.exit_code == 0, result.output
    assert "a      2 of 2        0  marks(title): shouts yes, asks no" in result.stdout
    assert "long(title): long no" in result.stdout
    assert "b      1 of 2        1  marks(title): asks yes, shouts no" in result.stdout
    assert "marks(title): unknown, ValueError: nobody can read this" in result.stdout
    assert "1 event needed no model." in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_it_tells_what_models_cost_and_who_was_passed_over(caddis, square):
    result = " ".join(caddis(*CALL, "--models", "models.py").stdout.split())
    assert re.search(r"long\(title\) [\d.e-]+ 1 2 0 ", result)
    assert "asks(title) marks(title) 1 2" in result
    assert "asks: marks(title) answers for 1.0 ms, as declared, and marks_too(title)" in result
    assert "times the least. 1 event left out: a model gave no answer." in result


def test_a_machine_is_shown_the_same(caddis, square):
    result = caddis(*CALL, "--models", "models.py", "--json", "--sample", "2")
    found = json.loads(result.stdout)
    assert [event["event"] for event in found["sample"]] == ["a", "b"]
    assert found["sample"][1]["steps"] == [
        {
            "model": "marks(title)",
            "answers": [
                {"concept": "shouts", "answer": "no"},
                {"concept": "asks", "answer": "yes"},
            ],
            "problem": None,
        }
    ]
    assert {model["name"]: model["runs"] for model in found["models"]} == {
        "marks(title)": 2,
        "long(title)": 1,
    }
    assert found["passed_over"] == [
        {"concept": "asks(title)", "used": "marks(title)", "instead_of": "marks_too(title)"}
    ]
    assert found["certificate"]["events"] == 2
    assert found["certificate"]["ratio"] >= 1
    assert result.stderr == ""


def test_another_policy_runs_other_models(caddis, square):
    call = (*CALL, "--models", "models.py", "--json", "--policy", "run-all")
    found = json.loads(caddis(*call).stdout)
    assert [len(event["steps"]) for event in found["sample"]] == [2, 2, 2, 0]


def test_events_without_a_key_are_numbered(caddis, square):
    found = json.loads(caddis(*CALL[:-2], "--models", "models.py", "--json").stdout)
    assert [event["event"] for event in found["sample"]] == [1, 2, 3, 4]


def test_subscriptions_that_call_nothing_are_said_to(caddis, square):
    (square / "subscriptions.csv").write_text("subscription_id,where\n1,city = 'Cork'\n")
    assert "No subscription calls a model." in caddis(*CALL, "--models", "models.py").stdout


def test_without_models_they_are_asked_for(caddis, square):
    result = caddis(*CALL)
    assert "no models are given; name some with --models" in result.stdout
    shown = json.loads(caddis(*CALL, "--json").stdout)
    assert "name some with --models" in shown["invalid"][0]["error"]
    assert "sample" not in shown


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        (("--models", "nowhere.py"), "nowhere.py: there is no such file"),
        (("--models", "models.py", "--policy", "rol-out"), "did you mean 'rollout'?"),
        (("--models", "efficientnet-lite9"), "did you mean"),
    ],
)
def test_a_mistake_is_one_sentence(caddis, square, more, complaint):
    result = caddis(*CALL, *more)
    assert result.exit_code == 1
    assert complaint in result.stderr
    assert result.stdout == ""
