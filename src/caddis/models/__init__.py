"""What answers concepts: models, what they are known to cost, and how they are asked.

`Model` is the contract; `concept` makes one of a Python function, `OnnxImages` and `OnnxTexts` of
an ONNX file; `efficientnet_lite` comes with ImageNet's classes. A `Catalogue` says which of them
answers what, an `Asker` asks it, and `Statistics` learns from what was counted.
"""

from caddis.models.asking import AnswerCache, Asked, Asker, ModelFailed, Problem, plain
from caddis.models.catalogue import Assignment, Catalogue, PassedOver, Reading
from caddis.models.efficientnet import efficientnet_lite, imagenet_classes, imagenet_concepts
from caddis.models.functions import FunctionModel, concept
from caddis.models.model import NO, UNASKED, UNKNOWN, YES, Answers, Marks, Model, Unreadable
from caddis.models.onnx import OnnxImages, OnnxTexts
from caddis.models.pictures import decode, needs_pillow
from caddis.models.statistics import Statistics, Tally
