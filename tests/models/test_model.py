import datetime as dt
import subprocess
import sys
from decimal import Decimal

import numpy as np
import pytest

from caddis.errors import ModelError
from caddis.models import Answers, concept, imagenet_concepts
from caddis.models.model import named


@pytest.mark.parametrize(
    "given",
    [
        [[True, None], [False, True]],
        np.array([[True, None], [False, True]], dtype=object),
        np.ma.masked_array([[True, True], [False, True]], [[False, True], [False, False]]),
    ],
    ids=["lists", "objects", "masked"],
)
def test_none_and_masked_mean_unknown(given):
    answers = Answers.of(given, 2, 2)
    assert answers.yes.tolist() == [[True, False], [False, True]]
    assert answers.known.tolist() == [[True, False], [True, True]]


def test_a_matrix_of_booleans_is_all_known():
    assert Answers.of(np.array([[True], [False]]), 2, 1).known.all()


def test_ones_and_zeros_will_do():
    for given in (np.array([[1, 0]]), [[1, 0]], np.ma.masked_array([[1, 0]])):
        assert Answers.of(given, 1, 2).yes.tolist() == [[True, False]]


@pytest.mark.parametrize(
    "given",
    [
        [["no"]],
        [[0.9]],
        [[float("nan")]],
        np.array([[0.9]]),
        np.array([[2]]),
        np.array([["no"]], dtype=object),
        np.ma.masked_array([[0.9]]),
    ],
)
def test_anything_else_is_no_answer(given):
    with pytest.raises(ModelError, match=r"gave .*; an answer is True, False, or None for unknown"):
        Answers.of(given, 1, 1)


def test_what_is_masked_may_be_anything():
    assert not Answers.of(np.ma.masked_array([[0.9]], [[True]]), 1, 1).known.any()


def test_answers_are_of_booleans():
    with pytest.raises(ModelError, match="gave Answers of float64; they are of bool"):
        Answers.of(Answers(np.ones((1, 1)), np.ones((1, 1), bool)), 1, 1)  # type: ignore[arg-type]


def test_answers_pass_as_they_are():
    answers = Answers(np.ones((1, 1), bool), np.ones((1, 1), bool), {0: "blurred"})
    assert Answers.of(answers, 1, 1) is answers


def test_answers_of_another_shape_are_refused_with_both_shapes():
    with pytest.raises(ModelError, match=r"shape \(1, 2\); 2 values and 2 concepts need \(2, 2\)"):
        Answers.of([[True, False]], 2, 2)
    with pytest.raises(ModelError, match=r"shape \(1, 1\)"):
        Answers.of(Answers(np.ones((2, 2), bool), np.ones((1, 1), bool)), 2, 2)


def test_the_content_of_a_value_tells_values_of_all_types_apart():
    day, midnight = dt.date(2026, 1, 2), dt.datetime(2026, 1, 2)
    numbers = [1, 1.0, Decimal(1), True, 0.0, -0.0]
    values: list[object] = ["1", b"1", "True", *numbers, day, midnight, [1], ["1"], {"a": 1}]
    model = concept(answers=["long"])(len)
    assert len({model.content(value) for value in values}) == len(values)
    assert model.content("a" + "b") == model.content("ab")


def test_concepts_are_called_in_lower_case():
    assert named(["Beach", "DOG"]) == ("beach", "dog")


@pytest.mark.parametrize(
    ("concepts", "problem"),
    [
        (["hot dog"], "'hot dog' cannot be called in SQL"),
        (["dog", "DOG"], "'dog' is answered twice"),
        ([], "at least one concept"),
    ],
)
def test_concepts_that_sql_cannot_call_are_refused(concepts, problem):
    with pytest.raises(ModelError, match=problem):
        named(concepts)


@pytest.mark.parametrize("word", ["year", "Date", "count", "map", "left", "in", "like", "not"])
def test_words_of_sql_are_no_concepts(word):
    with pytest.raises(ModelError, match=f"'{word.lower()}' is a word of SQL's own; call it other"):
        named([word])


def test_all_concepts_of_imagenet_can_be_called():
    assert named(list(imagenet_concepts())) == tuple(imagenet_concepts())


def test_what_few_need_is_imported_only_when_it_is_needed():
    script = """
import sys
import caddis.models
print(sorted({"onnx", "onnxruntime", "PIL", "pyspark"} & set(sys.modules)))
"""
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert found.stdout.split() == [b"[]"]
