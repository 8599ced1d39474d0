"""Small ONNX graphs that a person can foretell."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx import NodeProto, TensorProto, helper, numpy_helper

Side = str | int
Ending = tuple[str, int, Sequence[Side]]
"""A name, a type and a shape, whose open sides have names."""
WORDS = ["win", "prize", "free", "meeting", "lunch"]
SPAM = np.array([[2], [2], [2], [-2], [-2]], np.float32)


def model(
    nodes: list[NodeProto],
    takes: Ending,
    gives: Sequence[Ending],
    **constants: Any,
) -> bytes:
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info(*takes)],
        [helper.make_tensor_value_info(*one) for one in gives],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    opsets = [helper.make_opsetid("", 20)]
    content: bytes = helper.make_model(
        graph, opset_imports=opsets, ir_version=9
    ).SerializeToString()
    return content


def colour_graph(
    *, height: Side = 8, width: Side = 8, rows: Side = "n", last: bool = False
) -> bytes:
    """Gives the mean of each colour as the network sees it: three logits."""
    shape = [rows, height, width, 3] if last else [rows, 3, height, width]
    axes = np.array([1, 2] if last else [2, 3])
    return model(
        [helper.make_node("ReduceMean", ["pixels", "axes"], ["means"], keepdims=0)],
        ("pixels", TensorProto.FLOAT, shape),
        [("means", TensorProto.FLOAT, [rows, 3])],
        axes=axes,
    )


def spam_graph(*, columns: bool = False, ending: str = "Sigmoid") -> bytes:
    """A bag of words: lower case, split at spaces, count, weigh; a lone score for spam.

    columns: it takes (n, 1) instead of (n). ending: Sigmoid gives probabilities, Identity logits.
    """
    nodes = [
        helper.make_node("Reshape", ["text", "flat"], ["line"]),
        helper.make_node(
            "StringNormalizer", ["line"], ["lower"], case_change_action="LOWER", locale="C"
        ),
        helper.make_node("StringSplit", ["lower"], ["words", "counts"]),
        helper.make_node(
            "TfIdfVectorizer",
            ["words"],
            ["bag"],
            mode="TF",
            min_gram_length=1,
            max_gram_length=1,
            max_skip_count=0,
            ngram_counts=[0],
            ngram_indexes=list(range(len(WORDS))),
            pool_strings=WORDS,
        ),
        helper.make_node("MatMul", ["bag", "weights"], ["weighed"]),
        helper.make_node(ending, ["weighed"], ["score"]),
    ]
    return model(
        nodes,
        ("text", TensorProto.STRING, ["n", 1] if columns else ["n"]),
        [("score", TensorProto.FLOAT, ["n", 1])],
        flat=np.array([-1]),
        weights=SPAM,
    )


def labelled_spam_graph() -> bytes:
    """A graph as skl2onnx makes it: labels first, then the probabilities of both classes."""
    nodes = [
        helper.make_node("StringSplit", ["text"], ["words", "counts"]),
        helper.make_node("Cast", ["counts"], ["many"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["many", "second"], ["column"]),
        helper.make_node("Sub", ["column", "three"], ["long"]),
        helper.make_node("Sigmoid", ["long"], ["yes"]),
        helper.make_node("Sub", ["one", "yes"], ["no"]),
        helper.make_node("Concat", ["no", "yes"], ["probabilities"], axis=1),
        helper.make_node("ArgMax", ["probabilities"], ["label"], axis=1, keepdims=0),
    ]
    return model(
        nodes,
        ("text", TensorProto.STRING, ["n"]),
        [("label", TensorProto.INT64, ["n"]), ("probabilities", TensorProto.FLOAT, ["n", 2])],
        second=np.array([1]),
        three=np.array([3], np.float32),
        one=np.array([1], np.float32),
    )
