import csv
import os
import pickle
import subprocess
import sys
from importlib.metadata import PackageNotFoundError

import numpy as np
import pyarrow as pa
import pytest

from caddis.arrays import Anys
from caddis.errors import EnvironmentProblem, ModelError
from caddis.models import Answers, OnnxImages, efficientnet_lite, imagenet_concepts
from caddis.models.efficientnet import network as efficientnet
from caddis.models.efficientnet.graph import block_strides, lite_graph
from caddis.models.efficientnet.network import LiteGraph
from caddis.models.onnx.sessions import GraphBytes, session_of
from tests.models.photos import LABELS, photo

SIZE, DEPTH, CLASSES = 37, 0.1, 5


# -- the network once more, in plain numpy


def tiny_weights(seed: int = 3) -> dict[str, Anys]:
    """Random weights of a network as shallow and narrow as the stages allow."""
    random = np.random.default_rng(seed)
    weights: dict[str, Anys] = {}

    def conv(name: str, norm: str, after: int, before: int, kernel: int) -> None:
        scale = 1 / np.sqrt(before * kernel * kernel)
        weights[f"{name}.weight"] = random.normal(0, scale, (after, before, kernel, kernel))
        weights[f"{norm}.weight"] = random.uniform(0.5, 2, after)
        weights[f"{norm}.bias"] = random.normal(0, 0.5, after)
        weights[f"{norm}.running_mean"] = random.normal(0, 0.5, after)
        weights[f"{norm}.running_var"] = random.uniform(0.001, 2, after)

    conv("_conv_stem", "_bn0", 4, 3, 3)
    channels = 4
    for number, (kernel, after) in enumerate(
        zip((3, 3, 5, 3, 5, 5, 3), (4, 4, 6, 6, 6, 8, 8), strict=True)
    ):
        name, wide = f"_blocks.{number}", channels * (1 if number == 0 else 2)
        if number:
            conv(f"{name}._expand_conv", f"{name}._bn0", wide, channels, 1)
        conv(f"{name}._depthwise_conv", f"{name}._bn1", wide, 1, kernel)
        conv(f"{name}._project_conv", f"{name}._bn2", after, wide, 1)
        channels = after
    conv("_conv_head", "_bn1", 16, channels, 1)
    weights["_fc.weight"] = random.normal(0, 1, (CLASSES, 16))
    weights["_fc.bias"] = random.normal(0, 1, CLASSES)
    return {name: values.astype(np.float32) for name, values in weights.items()}


def convolved(image: Anys, kernel: Anys, stride: int) -> Anys:
    """SAME as TensorFlow's documentation defines it, one kernel position after the other."""
    channels, size, _ = image.shape
    width = kernel.shape[-1]
    short = stride if size % stride == 0 else size % stride
    missing = max(width - short, 0)
    padded = np.pad(image, [(0, 0)] + [(missing // 2, missing - missing // 2)] * 2)
    outputs = -(-size // stride)
    found = np.zeros((kernel.shape[0], outputs, outputs))
    for row in range(width):
        for column in range(width):
            end = (outputs - 1) * stride + 1
            seen = padded[:, row : row + end : stride, column : column + end : stride]
            if kernel.shape[1] == 1 and channels > 1:
                found += kernel[:, 0, row, column, None, None] * seen
            else:
                found += np.einsum("oc,cyx->oyx", kernel[:, :, row, column], seen)
    return found


def evaluated(weights: dict[str, Anys], image: Anys) -> Anys:
    """The network with its batch norms as they are."""

    def layer(values: Anys, name: str, norm: str, stride: int = 1) -> Anys:
        found = convolved(values, weights[f"{name}.weight"], stride)
        part = {
            one: weights[f"{norm}.{one}"][:, None, None]
            for one in ("weight", "bias", "running_mean", "running_var")
        }
        spread = np.sqrt(part["running_var"] + 1e-3)
        normed: Anys = (found - part["running_mean"]) / spread * part["weight"] + part["bias"]
        return normed

    def relu6(values: Anys) -> Anys:
        return np.clip(values, 0, 6)

    now = relu6(layer(image, "_conv_stem", "_bn0", 2))
    for number, stride in enumerate((1, 2, 2, 2, 1, 2, 1)):
        name, before = f"_blocks.{number}", now
        if number:
            now = relu6(layer(now, f"{name}._expand_conv", f"{name}._bn0"))
        now = relu6(layer(now, f"{name}._depthwise_conv", f"{name}._bn1", stride))
        now = layer(now, f"{name}._project_conv", f"{name}._bn2")
        if stride == 1 and now.shape == before.shape:
            now = now + before
    features = relu6(layer(now, "_conv_head", "_bn1")).mean(axis=(1, 2))
    logits = weights["_fc.weight"] @ features + weights["_fc.bias"]
    probabilities: Anys = np.exp(logits) / np.exp(logits).sum()
    return probabilities


@pytest.mark.parametrize("size", [SIZE, 40])
def test_the_graph_computes_what_the_network_is(size):
    weights = tiny_weights()
    images = np.random.default_rng(1).normal(0, 1, (3, 3, size, size)).astype(np.float32)
    session = session_of(GraphBytes(lite_graph(weights, size, DEPTH)))
    [given] = session.run(None, {"image": images})
    expected = [evaluated(weights, image) for image in images]
    assert np.ptp(expected, axis=1).min() > 0.1
    np.testing.assert_allclose(given, expected, rtol=1e-4, atol=1e-6)


def test_deeper_networks_repeat_the_inner_stages():
    assert [len(block_strides(depth)) for depth in (1.0, 1.1, 1.2)] == [16, 21, 21]
    assert all(sum(stride == 2 for stride in block_strides(depth)) == 4 for depth in (1.0, 1.2))


# -- what it sees


def concepts_of(model: OnnxImages, answers: Answers, row: int) -> set[str]:
    return {one for one, yes in zip(model.concepts, answers.yes[row], strict=True) if yes}


def test_real_photos_answer_what_they_show(lite0):
    shown = {
        "chelsea.png": {"cat", "mammal", "animal"},
        "coffee.png": {"coffee", "drink", "food"},
        "rocket.jpg": {"rocket"},
        "motorcycle_left.png": {"motorcycle", "vehicle"},
        "china.jpg": {"building"},
    }
    answers = lite0.predict(pa.array([str(photo(name)) for name in shown]))
    assert answers.problems == {}
    found = [concepts_of(lite0, answers, row) for row in range(len(shown))]
    assert [set(some) <= have for some, have in zip(shown.values(), found, strict=True)] == [
        True
    ] * len(shown)
    assert not found[0] & {"dog", "bird", "vehicle", "food", "building"}


@pytest.mark.parametrize("which", [1, 2])
def test_the_larger_ones_know_a_cat_as_well(which):
    model = efficientnet_lite(which, concepts=["cat", "dog"])
    cat = pa.array([photo("chelsea.png").read_bytes()])
    assert model.predict(cat).yes.tolist() == [[True, False]]


@pytest.mark.skipif(not LABELS.exists(), reason="needs the labelled photos")
def test_four_in_five_labelled_photos_are_named_rightly(lite0):
    with LABELS.open() as file:
        rows = list(csv.DictReader(file))[::5]
    paths = [str(LABELS.parent / row["file"]) for row in rows]
    best = [lite0.probabilities([lite0.read(path)])[0].argmax() for path in paths]
    right = [int(row["imagenet_class"]) == one for row, one in zip(rows, best, strict=True)]
    assert np.mean(right) > 0.75


# -- what it is called, and how it travels


def test_concepts_are_all_or_some_or_ones_own(lite0):
    assert lite0.concepts == tuple(imagenet_concepts())
    assert efficientnet_lite(0, concepts=["beach", "dog"]).concepts == ("beach", "dog")
    assert efficientnet_lite(0, concepts={"tabby": [281]}).classes == ((281,),)
    with pytest.raises(ModelError, match="no concept 'beech' here; did you mean 'beach'"):
        efficientnet_lite(0, concepts=["beech"])
    with pytest.raises(ModelError, match="choose 0, 1 or 2"):
        efficientnet_lite(7)


def test_the_cost_is_as_measured_unless_it_is_told():
    dear, guessed = efficientnet_lite(2, concepts=["dog"]), efficientnet_lite(2, cost=3.0)
    assert dear.cost > efficientnet_lite(0, concepts=["dog"]).cost
    assert guessed.cost == 3.0
    with pytest.raises(ModelError, match="a cost is positive"):
        efficientnet_lite(0, cost=0.0)


def test_the_graph_is_made_once_and_kept(lite0, cache_folder):
    path = cache_folder / f"{lite0.graph.digest}.onnx"
    # Another test may have opened the network before, from another folder.
    assert lite0.graph.source() == str(path)
    made = path.stat().st_mtime_ns
    assert LiteGraph(0).source() == str(path)
    assert path.stat().st_mtime_ns == made


def test_without_a_folder_to_write_to_the_graph_stays_in_memory(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert isinstance(LiteGraph(0).source(), bytes)


def test_a_model_travels_as_a_reference(lite0, cache_folder, tmp_path):
    shipped = pickle.dumps(lite0.by_reference(str(tmp_path)))
    assert len(shipped) < 20_000
    (tmp_path / "model").write_bytes(shipped)
    script = f"""
import pickle, pathlib, pyarrow
model = pickle.loads(pathlib.Path({str(tmp_path / "model")!r}).read_bytes())
answers = model.predict(pyarrow.array([{str(photo("chelsea.png"))!r}]))
assert answers.yes[0, model.concepts.index("cat")]
"""
    environment = os.environ | {"XDG_CACHE_HOME": str(cache_folder.parent)}
    subprocess.run([sys.executable, "-c", script], check=True, env=environment)


def test_a_worker_with_other_weights_says_so(monkeypatch):
    graph = pickle.loads(pickle.dumps(LiteGraph(0)))
    monkeypatch.setattr(efficientnet, "version", lambda _: "9.9")
    with pytest.raises(ModelError, match="install the same caddis"):
        graph.source()


def test_without_the_weights_one_is_told_what_to_install(monkeypatch):
    def missing(package):
        raise PackageNotFoundError(package)

    monkeypatch.setattr(efficientnet, "version", missing)
    with pytest.raises(EnvironmentProblem, match=r"install caddis\[images\]"):
        efficientnet_lite(0)
