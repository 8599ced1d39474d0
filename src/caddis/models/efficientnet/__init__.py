"""TODO."""

from caddis.models.efficientnet.network import (
    efficientnet_lite,
    imagenet_classes,
    imagenet_concepts,
)

__all__ = [
    "efficientnet_lite",
    "imagenet_classes",
    "imagenet_concepts",
]
