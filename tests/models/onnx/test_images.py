import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from onnx import TensorProto, helper

from caddis.errors import ModelError
from caddis.models import OnnxImages
from caddis.models.model import Unreadable
from caddis.models.pictures import PICTURES
from tests.models.graphs import Ending, colour_graph, model, spam_graph
from tests.models.photos import encoded, noise, photo, plain

COLOURS = {"red": [0], "green": [1], "blue": [2], "warm": [0, 1]}


def colours(**options) -> OnnxImages:
    return OnnxImages(colour_graph(**options), COLOURS, scores="logits", std=10.0)


def test_a_picture_has_the_concepts_whose_classes_add_up_to_the_threshold():
    pictures = pa.array([encoded(plain(one)) for one in ("red", "blue", "yellow", "white")])
    assert colours().predict(pictures).yes.tolist() == [
        [True, False, False, True],
        [False, False, True, False],
        # Red and green share yellow, and each is a trifle below a half: only their sum is enough.
        [False, False, False, True],
        [False, False, False, True],
    ]


def test_the_network_sees_the_centre_less_mean_by_std():
    model = OnnxImages(
        colour_graph(height=12, width=6), COLOURS, scores="logits", mean=(1, 2, 3), std=(4, 5, 6)
    )
    image = noise((30, 30))
    content = encoded(image)
    seen = model.tensor([model.read(content)])
    assert seen.shape == (1, 3, 12, 6)
    cut = image.resize((6, 12), 3, box=(8.4375, 1.875, 21.5625, 28.125))
    expected = (np.asarray(cut) - np.array([1, 2, 3])) / np.array([4, 5, 6])
    np.testing.assert_allclose(seen[0].transpose(1, 2, 0), expected, rtol=1e-5)


@pytest.mark.parametrize("options", [{"last": True}, {"rows": 1}, {"rows": 4}])
def test_graphs_of_other_layouts_and_fixed_batches_answer_the_same(options):
    pictures = pa.array([encoded(noise((40, 30), seed)) for seed in range(6)])
    answers = colours(**options).predict(pictures)
    assert (answers.yes == colours().predict(pictures).yes).all()
    assert answers.known.all()


def test_a_graph_that_takes_bytes_sees_the_colours_as_they_are():
    nodes = [
        helper.make_node("Cast", ["pixels"], ["numbers"], to=TensorProto.FLOAT),
        helper.make_node("ReduceMean", ["numbers", "axes"], ["means"], keepdims=0),
    ]
    takes: Ending = ("pixels", TensorProto.UINT8, ["n", 4, 4, 3])
    gives: list[Ending] = [("means", TensorProto.FLOAT, ["n", 3])]
    given = model(nodes, takes, gives, axes=np.array([1, 2]))
    seen = OnnxImages(given, COLOURS, scores="logits", mean=99.0)
    tensor = seen.tensor([seen.read(encoded(plain((1, 2, 3))))])
    assert tensor.dtype == np.uint8
    assert tensor[0, 0, 0].tolist() == [1, 2, 3]
    assert seen.predict(pa.array([encoded(plain("red"))])).yes.tolist() == [
        [True, False, False, True]
    ]


def test_a_size_must_be_said_only_where_the_graph_leaves_it_open():
    opened = colour_graph(height="h", width="w")
    assert OnnxImages(opened, COLOURS, size=5, scores="logits").height == 5
    with pytest.raises(ModelError, match="of any size: say which"):
        OnnxImages(opened, COLOURS)
    with pytest.raises(ModelError, match="takes pictures of 8×8, not 5"):
        OnnxImages(colour_graph(), COLOURS, size=5)


def test_one_bad_picture_spoils_no_other(tmp_path):
    good = encoded(plain("red"))
    answers = colours().predict(pa.array([good, b"", good[:40], good]))
    assert answers.known.tolist() == [[True] * 4, [False] * 4, [False] * 4, [True] * 4]
    assert not answers.yes[1:3].any()
    assert list(answers.problems) == [1, 2]
    assert answers.problems[1] == "empty"


def test_a_path_and_the_picture_itself_give_the_same(tmp_path):
    path = photo("china.jpg")
    model = colours()
    by_path = model.predict(pa.array([str(path), str(tmp_path / "none.jpg")]))
    by_content = model.predict(pa.array([path.read_bytes()]))
    assert (by_path.yes[0] == by_content.yes[0]).all()
    assert by_path.known[:, 0].tolist() == [True, False]
    assert "no such file" in by_path.problems[1]


def test_a_picture_is_the_same_under_every_path_and_another_once_its_file_changes(tmp_path):
    first, second = tmp_path / "a.png", tmp_path / "b.png"
    for path in (first, second):
        path.write_bytes(encoded(plain("red")))
    model = colours()
    before = model.content(str(first))
    assert before == model.content(str(second)) == model.content(encoded(plain("red")))
    first.write_bytes(encoded(plain("blue")))
    assert model.content(str(first)) != before
    with pytest.raises(Unreadable, match="no such file"):
        model.content(str(tmp_path / "none.png"))


def test_models_of_different_sizes_share_one_decoding():
    before = PICTURES.decoded
    picture = pa.array([encoded(noise((50, 50), seed=77))])
    colours().predict(picture)
    colours(height=20, width=20).predict(picture)
    assert PICTURES.decoded == before + 1


def test_pictures_are_binary_or_paths():
    for type_ in (pa.binary(), pa.large_binary(), pa.string()):
        colours().check_reads(type_)
    with pytest.raises(ModelError, match=r"reads pictures: .* not int64"):
        colours().check_reads(pa.int64())


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"scores": "probabilities", "std": 1}, "are no probabilities: say scores='logits'"),
        ({"scores": "votes"}, "'probabilities' or 'logits'"),
        ({"threshold": 0}, "within 0–1"),
        ({"crop": 1.5}, "within 0–1"),
        ({"std": 0}, "not zero"),
        ({"cost": 0}, "a cost is positive"),
        ({"concepts": {"red": [3]}}, r"'red' needs distinct classes of 0–2, not \[3\]"),
        ({"concepts": {"red": []}}, "needs distinct classes"),
        ({"model": spam_graph()}, r"takes tensor\(string\) of shape"),
    ],
)
def test_what_cannot_work_is_said_when_the_model_is_made(change, problem):
    given = {"model": colour_graph(), "concepts": COLOURS, "scores": "logits", "mean": 0.0}
    with pytest.raises(ModelError, match=problem):
        OnnxImages(**(given | change))


def test_the_version_changes_with_all_that_alters_answers_and_nothing_else():
    def version(**change):
        given: dict[str, Any] = {"model": colour_graph(), "concepts": COLOURS, "scores": "logits"}
        return OnnxImages(**(given | change)).version

    alter: list[dict[str, Any]] = [
        {"model": colour_graph(height=9, width=9)},
        {"concepts": {"red": [0]}},
        {"threshold": 0.6},
        {"crop": 0.9},
        {"mean": 1.0},
        {"std": (1, 2, 3)},
    ]
    assert len({version(), *(version(**change) for change in alter)}) == 7
    assert version() == version(cost=3.0, name="other", reads="photo", threads=2)


def test_a_model_whose_graph_changed_cannot_be_loaded(tmp_path):
    path = tmp_path / "colours.onnx"
    path.write_bytes(colour_graph(height=41))
    model = OnnxImages(path, COLOURS, scores="logits")
    model.load()
    path.write_bytes(colour_graph(height=42))
    shipped = pickle.loads(pickle.dumps(model))
    shipped.threads = 2  # so that it needs a session of its own, as in another process
    with pytest.raises(ModelError, match="was changed after the model was made"):
        shipped.load()


def test_what_is_shipped_is_small_and_answers_the_same_in_another_process(tmp_path):
    model = colours(height=64)
    shipped = pickle.dumps(model.by_reference(str(tmp_path)))
    assert len(shipped) < 3_000
    (tmp_path / "model").write_bytes(shipped)
    (tmp_path / "red.png").write_bytes(encoded(plain("red")))
    script = f"""
import pickle, pathlib, pyarrow
model = pickle.loads(pathlib.Path({str(tmp_path / "model")!r}).read_bytes())
answers = model.predict(pyarrow.array([{str(tmp_path / "red.png")!r}]))
assert answers.yes.tolist() == [[True, False, False, True]], answers
assert model.version == {model.version!r}
"""
    subprocess.run([sys.executable, "-c", script], check=True)
