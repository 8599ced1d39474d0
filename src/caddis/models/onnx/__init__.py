"""Classifiers in ONNX files, of pictures (`OnnxImages`) and of texts (`OnnxTexts`).

What both share is in `model`; `sessions` says where graphs come from, and keeps the one session
that a process runs of each.
"""

from caddis.models.onnx.images import OnnxImages
from caddis.models.onnx.sessions import Graph, needs_onnx, write_once
from caddis.models.onnx.texts import OnnxTexts
