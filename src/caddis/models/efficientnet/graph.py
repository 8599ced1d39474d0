"""EfficientNet-Lite's network as an ONNX graph, made from its PyTorch weights.

The network of Tan and Le (2019), in the Lite shape of Google's TPU repository (2020): inverted
residual blocks without squeeze-and-excite, ReLU6 throughout. Widths and kernels are read off the
weights; only what weights do not tell stands here: the stages' strides and depths. Three things
must be exact for the answers to be right:

    batch norm      folded into the convolution before it (epsilon 1e-3), as neither ever learns on
    padding         TensorFlow's SAME: the odd pixel goes to the right and the bottom
    batches         the first dimension stays free
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from caddis.arrays import Anys
from caddis.models.onnx import needs_onnx

if TYPE_CHECKING:
    from onnx import NodeProto, TensorProto

Float32s = npt.NDArray[np.float32]

BUILDER = 1
"""Counts up when the same weights would give another graph."""
EPSILON = 1e-3
_STAGES = ((1, 1), (2, 2), (2, 2), (3, 2), (3, 1), (4, 2), (1, 1))
"""Blocks and first stride of each stage of Lite0."""
_OPSET, _IR = 13, 8


def block_strides(depth: float) -> list[int]:
    """The stride of each block; a deeper net repeats more blocks, but not in its ends.

    >>> len(block_strides(1.0)), len(block_strides(1.2))
    (16, 21)
    """
    strides = []
    for stage, (blocks, stride) in enumerate(_STAGES):
        ends = stage in (0, len(_STAGES) - 1)
        repeats = blocks if ends else math.ceil(blocks * depth)
        strides += [stride] + [1] * (repeats - 1)
    return strides


def lite_graph(weights: Mapping[str, Anys], size: int, depth: float) -> bytes:
    """An ONNX model: `image` (n, 3, size, size) in, `probabilities` (n, classes) out."""
    net = _Net(weights, size)
    net.convolve("_conv_stem", "_bn0", stride=2, clip=True)
    for number, stride in enumerate(block_strides(depth)):
        net.block(f"_blocks.{number}", stride)
    net.convolve("_conv_head", "_bn1", clip=True)
    net.classify("_fc")
    return net.serialized()


class _Net:
    """A graph as it grows: `at` is the newest tensor's name, `size` its height and width."""

    def __init__(self, weights: Mapping[str, Anys], size: int) -> None:
        self.onnx = needs_onnx()
        self.weights = weights
        self.input_size = self.size = size
        self.at = "image"
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []
        self.limits = [self._constant("zero", np.float32(0)), self._constant("six", np.float32(6))]

    def block(self, name: str, stride: int) -> None:
        """An inverted residual: widen, convolve each channel on its own, narrow, add the input."""
        before = self.at
        if f"{name}._expand_conv.weight" in self.weights:
            self.convolve(f"{name}._expand_conv", f"{name}._bn0", clip=True)
        self.convolve(f"{name}._depthwise_conv", f"{name}._bn1", stride=stride, clip=True)
        self.convolve(f"{name}._project_conv", f"{name}._bn2")
        if stride == 1 and self._channels_before(name) == self._channels_after(name):
            self._node("Add", [self.at, before], f"{name}.sum")

    def convolve(self, name: str, norm: str, stride: int = 1, *, clip: bool = False) -> None:
        """A convolution with its batch norm folded in, then ReLU6 if `clip`."""
        kernel, bias = folded(self.weights, name, norm)
        width = kernel.shape[-1]
        inputs = [self.at, self._constant(f"{name}.kernel", kernel)]
        inputs.append(self._constant(f"{name}.bias", bias))
        before, after = same_padding(self.size, width, stride)
        self._node(
            "Conv",
            inputs,
            f"{name}.out",
            kernel_shape=[width, width],
            strides=[stride, stride],
            pads=[before, before, after, after],
            group=kernel.shape[0] if kernel.shape[1] == 1 else 1,
        )
        self.size = -(-self.size // stride)
        if clip:
            self._node("Clip", [self.at, *self.limits], f"{name}.relu6")

    def classify(self, name: str) -> None:
        """The mean of each channel, a dense layer, softmax."""
        self._node("GlobalAveragePool", [self.at], "pool")
        self._node("Flatten", [self.at], "features")
        inputs = [self.at, self._constant(f"{name}.weight", self.weights[f"{name}.weight"])]
        inputs.append(self._constant(f"{name}.bias", self.weights[f"{name}.bias"]))
        self._node("Gemm", inputs, "logits", transB=1)
        self._node("Softmax", [self.at], "probabilities", axis=1)

    def serialized(self) -> bytes:
        helper, floats = self.onnx.helper, self.onnx.TensorProto.FLOAT
        image = ["n", 3, self.input_size, self.input_size]
        classes = len(self.weights["_fc.bias"])
        graph = helper.make_graph(
            self.nodes,
            "efficientnet_lite",
            [helper.make_tensor_value_info("image", floats, image)],
            [helper.make_tensor_value_info(self.at, floats, ["n", classes])],
            self.constants,
        )
        opsets = [helper.make_opsetid("", _OPSET)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=_IR)
        content: bytes = model.SerializeToString(deterministic=True)
        return content

    def _channels_before(self, name: str) -> int:
        expand = self.weights.get(f"{name}._expand_conv.weight")
        first = self.weights[f"{name}._depthwise_conv.weight"].shape[0]
        return int(first if expand is None else expand.shape[1])

    def _channels_after(self, name: str) -> int:
        return int(self.weights[f"{name}._project_conv.weight"].shape[0])

    def _node(self, kind: str, inputs: list[str], output: str, **attributes: object) -> None:
        self.nodes.append(self.onnx.helper.make_node(kind, inputs, [output], output, **attributes))
        self.at = output

    def _constant(self, name: str, values: Anys | np.float32) -> str:
        self.constants.append(self.onnx.numpy_helper.from_array(np.asarray(values), name))
        return name


def folded(weights: Mapping[str, Anys], name: str, norm: str) -> tuple[Float32s, Float32s]:
    """The kernel and bias that do what a convolution and the batch norm after it did."""
    gain = weights[f"{norm}.weight"] / np.sqrt(
        weights[f"{norm}.running_var"].astype(np.float64) + EPSILON
    )
    kernel = weights[f"{name}.weight"] * gain[:, None, None, None]
    bias = weights[f"{norm}.bias"] - weights[f"{norm}.running_mean"] * gain
    return kernel.astype(np.float32), bias.astype(np.float32)


def same_padding(size: int, kernel: int, stride: int) -> tuple[int, int]:
    """TensorFlow's SAME: as many outputs as strides begin, the odd pixel after.

    >>> same_padding(224, 3, 2), same_padding(7, 5, 1)
    ((0, 1), (2, 2))
    """
    outputs = -(-size // stride)
    missing = max(0, (outputs - 1) * stride + kernel - size)
    return missing // 2, missing - missing // 2
