"""What answers concepts: models, and what they are known to cost.

`Model` is the contract; `concept` makes one of a Python function, `OnnxImages` and `OnnxTexts` of
an ONNX file; `efficientnet_lite` comes with ImageNet's classes.
"""

from caddis.models.efficientnet import efficientnet_lite
from caddis.models.functions import FunctionModel, concept
from caddis.models.imagenet import imagenet_classes, imagenet_concepts
from caddis.models.images import OnnxImages
from caddis.models.model import Answers, Model
from caddis.models.texts import OnnxTexts

__all__ = [
    "Answers",
    "FunctionModel",
    "Model",
    "OnnxImages",
    "OnnxTexts",
    "concept",
    "efficientnet_lite",
    "imagenet_classes",
    "imagenet_concepts",
]
