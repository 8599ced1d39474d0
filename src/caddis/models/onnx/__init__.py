"""TODO."""

from caddis.models.onnx.images import OnnxImages
from caddis.models.onnx.sessions import Graph, needs_onnx, write_once
from caddis.models.onnx.texts import OnnxTexts

__all__ = [
    "Graph",
    "OnnxImages",
    "OnnxTexts",
    "needs_onnx",
    "write_once",
]
