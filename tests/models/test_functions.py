import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from caddis.errors import ModelError
from caddis.models import Answers, FunctionModel, concept


def answers(model: FunctionModel, values: list[object]) -> list[list[bool | None]]:
    given = Answers.of(model.predict(pa.array(values)), len(values), len(model.concepts))
    return [
        [yes if known else None for yes, known in zip(row, sure, strict=True)]
        for row, sure in zip(given.yes.tolist(), given.known.tolist(), strict=True)
    ]


def test_a_function_answers_the_concept_of_its_name_and_stays_a_function():
    @concept(reads="title", cost=0.5)
    def Shouts(title):  # noqa: N802
        return title.isupper()

    assert (Shouts.concepts, Shouts.reads, Shouts.cost) == (("shouts",), "title", 0.5)
    assert Shouts("SALE") is True
    assert answers(Shouts, ["SALE", "sale"]) == [[True], [False]]


@pytest.mark.parametrize("answer", [True, False, None, np.True_, np.int8(0), 1])
def test_an_answer_is_true_false_or_unknown(answer):
    model = concept(answers=["a"])(lambda _: answer)
    assert answers(model, ["x"]) == [[None if answer is None else bool(answer)]]


@pytest.mark.parametrize("answer", ["no", "", b"n", float("nan"), 0.9, 1.0, 2, -1, [], object])
def test_anything_else_is_no_answer(answer):
    model = concept(answers=["a"])(lambda _: answer)
    with pytest.raises(ModelError, match=r"gave .*; an answer is True, False, or None for unknown"):
        model.predict(pa.array(["x"]))
    with pytest.raises(ModelError, match=r"gave .*; an answer is True, False, or None for unknown"):
        concept(answers=["a", "b"])(lambda _: {"b": answer}).predict(pa.array(["x"]))


def test_one_function_may_answer_several_concepts_by_name_or_in_order():
    by_name = concept(answers=["short", "shout"])(lambda text: {"shout": text.isupper()})
    in_order = concept(answers=["short", "shout"])(lambda text: (len(text) < 3, text.isupper()))
    assert answers(by_name, ["AB"]) == [[None, True]]
    as_array = concept(answers=["short", "shout"])(lambda _: np.array([True, False]))
    assert answers(in_order, ["AB"]) == [[True, True]]
    assert answers(as_array, ["AB"]) == [[True, False]]


def test_one_concept_may_be_answered_by_name_or_in_order_too():
    assert answers(concept(answers=["a"])(lambda _: {"A": False}), ["x"]) == [[False]]
    assert answers(concept(answers=["a"])(lambda _: {}), ["x"]) == [[None]]
    assert answers(concept(answers=["a"])(lambda _: [False]), ["x"]) == [[False]]


@pytest.mark.parametrize("concepts", [["a"], ["a", "b"]])
def test_an_answer_for_another_concept_is_refused(concepts):
    model = concept(answers=concepts)(lambda _: {"a": True, "C": False})
    with pytest.raises(ModelError, match="gave an answer for 'c'; it answers a"):
        model.predict(pa.array(["x"]))


def test_a_text_is_no_list_of_answers():
    with pytest.raises(ModelError, match="gave 'no'; it answers 2 concepts"):
        concept(answers=["a", "b"])(lambda _: "no").predict(pa.array(["x"]))
    with pytest.raises(ModelError, match="gave 'no'; a batch of values needs a list of answers"):
        concept(answers=["a"], batch=True)(lambda _: "no").predict(pa.array(["x"]))


def test_a_function_that_forgets_a_concept_is_told_which_there_are():
    model = concept(answers=["short", "shout"])(lambda _: True)
    with pytest.raises(ModelError, match=r"gave True; it answers 2 concepts.*short, shout"):
        model.predict(pa.array(["a"]))


def test_a_batch_function_gets_the_whole_array():
    one = concept(batch=True, answers=["a"])(pc.utf8_is_upper)
    two = concept(batch=True, answers=["a", "b"])(lambda texts: [[True, None]] * len(texts))
    assert answers(one, ["A", "a"]) == [[True], [False]]
    assert answers(two, ["x", "y"]) == [[True, None], [True, None]]


@pytest.mark.parametrize(
    "given",
    [
        [True, False, None],
        [[True], [False], [None]],
        pa.array([True, False, None]),
        np.array([True, False, None], dtype=object),
        np.array([[True], [False], [None]], dtype=object),
        np.ma.masked_array([True, False, True], [False, False, True]),
        [{"a": True}, {"A": 0}, {}],
        pa.table({"a": [True, False, None]}),
        Answers(np.array([[1], [0], [0]], bool), np.array([[1], [1], [0]], bool)),
    ],
    ids=["list", "lists", "arrow", "objects", "matrix", "masked", "mappings", "table", "answers"],
)
def test_a_batch_function_may_give_a_list_or_a_matrix(given):
    model = concept(batch=True, answers=["a"])(lambda _: given)
    assert answers(model, ["x", "y", "z"]) == [[True], [False], [None]]


@pytest.mark.parametrize("given", [["no"], [0.9], np.array([0.9]), np.array([[0.9]])])
def test_a_batch_function_gives_answers_of_the_right_kind(given):
    model = concept(batch=True, answers=["a"])(lambda _: given)
    with pytest.raises(ModelError, match="an answer is True, False, or None"):
        answers(model, ["x"])


def test_a_batch_function_that_gives_one_answer_for_all_is_refused():
    model = concept(batch=True, answers=["a"])(lambda _: True)
    with pytest.raises(ModelError, match="gave True; a batch of values needs a list of answers"):
        model.predict(pa.array(["x"]))


def test_selectivity_is_told_of_the_concepts_that_are_answered():
    assert concept(answers=["Long"], selectivity={"LONG": 0.1})(len).selectivity == {"long": 0.1}
    with pytest.raises(ModelError, match="has a selectivity for 'short', but answers long"):
        concept(answers=["long"], selectivity={"short": 0.1})(len)
    with pytest.raises(ModelError, match=r"'long' is true of 1\.5; it is within 0–1"):
        concept(answers=["long"], selectivity={"long": 1.5})(len)


@pytest.mark.parametrize("cost", [0, -1, float("inf"), float("nan")])
def test_a_cost_is_positive(cost):
    with pytest.raises(ModelError, match="a cost is positive"):
        concept(cost=cost, answers=["long"])(len)
