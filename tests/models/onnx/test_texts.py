import pickle
from typing import Any

import numpy as np
import onnx
import pyarrow as pa
import pytest
from onnx import TensorProto, helper

from caddis.errors import ModelError
from caddis.models import OnnxTexts
from tests.models.graphs import Ending, colour_graph, labelled_spam_graph, model, spam_graph

TEXTS = pa.array(["WIN a free prize", "lunch meeting", "win the lunch", ""])


def counting_graph(shape: list[str | int], *nodes: onnx.NodeProto, **constants: Any) -> bytes:
    """A graph that counts the words of texts as "many", and makes a "score" of them."""
    counting = [
        helper.make_node("StringSplit", ["text"], ["words", "counts"]),
        helper.make_node("Cast", ["counts"], ["many"], to=TensorProto.FLOAT),
    ]
    takes = ("text", TensorProto.STRING, ["n"])
    gives: list[Ending] = [("score", TensorProto.FLOAT, shape)]
    return model([*counting, *nodes], takes, gives, **constants)


@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("ending", ["Sigmoid", "Identity"])
def test_a_lone_score_is_that_of_class_one(columns, ending):
    spam = OnnxTexts(
        spam_graph(columns=columns, ending=ending),
        {"spam": [1], "ham": [0]},
        threshold=0.6,
        scores="logits" if ending == "Identity" else "probabilities",
    )
    answers = spam.predict(TEXTS)
    assert answers.yes.tolist() == [[True, False], [False, True], [False, False], [False, False]]
    assert answers.known.all()
    expected = 1 / (1 + np.exp([-6, 4, 0, 0]))
    np.testing.assert_allclose(spam.probabilities(TEXTS.to_pylist())[:, 1], expected, rtol=1e-5)


def test_of_labels_and_probabilities_the_probabilities_are_taken():
    wordy = OnnxTexts(labelled_spam_graph(), {"wordy": [1]})
    assert wordy.predict(pa.array(["a b c d", "a"])).yes.tolist() == [[True], [False]]


def test_answers_do_not_depend_on_how_texts_fall_into_batches():
    texts = pa.array([f"win {'free ' * (n % 3)} {'lunch ' * (n % 5)}" for n in range(600)])
    spam = OnnxTexts(spam_graph(), {"spam": [1]})
    one_by_one = [bool(spam.predict(texts[n : n + 1]).yes[0, 0]) for n in range(600)]
    assert spam.predict(texts).yes[:, 0].tolist() == one_by_one


def test_a_score_that_is_no_number_is_unknown():
    content = counting_graph(
        ["n"],
        helper.make_node("Sub", ["many", "two"], ["less"]),
        helper.make_node("Sqrt", ["less"], ["root"]),
        helper.make_node("Sub", ["root", "root"], ["score"]),
        two=np.array([2], np.float32),
    )
    answers = OnnxTexts(content, {"spam": [1]}).predict(pa.array(["a", "a b"]))
    assert answers.known.tolist() == [[False], [True]]
    assert answers.problems == {0: "the model gave something that is no number"}


def test_a_graph_without_scores_is_told_how_to_export_them():
    nodes = [helper.make_node("StringSplit", ["text"], ["words", "counts"])]
    takes = ("text", TensorProto.STRING, ["n"])
    content = model(nodes, takes, [("counts", TensorProto.INT64, ["n"])])
    with pytest.raises(ModelError, match=r"counts: tensor\(int64\)\); with skl2onnx"):
        OnnxTexts(content, {"spam": [1]})


def test_a_graph_that_joins_its_values_is_refused():
    tile = helper.make_node("Tile", ["many", "twice"], ["score"])
    content = counting_graph(["m"], tile, twice=np.array([2]))
    with pytest.raises(ModelError, match=r"has the shape \(2,\); 1 values need as many rows"):
        OnnxTexts(content, {"spam": [1]})


def test_a_graph_that_cannot_run_is_named_in_one_line():
    reshape = helper.make_node("Reshape", ["many", "wide"], ["score"])
    content = counting_graph(["n", 7], reshape, wide=np.array([-1, 7]))
    with pytest.raises(ModelError, match=r"cannot use the ONNX model .*Reshape") as raised:
        OnnxTexts(content, {"spam": [1]})
    assert "\n" not in str(raised.value)


def test_a_graph_of_pictures_is_no_model_of_texts():
    with pytest.raises(ModelError, match="a model of texts takes strings"):
        OnnxTexts(colour_graph(), {"spam": [1]})


def test_texts_are_strings():
    spam = OnnxTexts(spam_graph(), {"spam": [1]}, name="spam filter")
    spam.check_reads(pa.large_string())
    with pytest.raises(ModelError, match=r"'spam filter' reads texts: .* not binary"):
        spam.check_reads(pa.binary())


def test_a_model_from_a_file_bears_its_name_and_answers_as_the_bytes_do(tmp_path):
    path = tmp_path / "spam.onnx"
    path.write_bytes(spam_graph())
    from_file = OnnxTexts(path, {"spam": [1]})
    from_bytes = OnnxTexts(path.read_bytes(), {"spam": [1]})
    assert from_file.name == "spam"
    assert from_file.version == from_bytes.version
    assert from_bytes.by_reference(str(tmp_path)).version == from_file.version
    again = pickle.loads(pickle.dumps(from_file))
    assert (again.predict(TEXTS).yes == from_bytes.predict(TEXTS).yes).all()
