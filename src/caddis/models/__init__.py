"""What answers concepts: models, and what they are known to cost.

`Model` is the contract; `concept` makes one of a Python function, `OnnxImages` and `OnnxTexts` of
an ONNX file.
"""

from caddis.models.functions import FunctionModel, concept
from caddis.models.model import Answers, Model

__all__ = ["Answers", "FunctionModel", "Model", "concept"]
