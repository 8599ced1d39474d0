"""Models of pictures: any ONNX classifier of images.

A picture is decoded once for all models (`caddis.models.pictures`), cropped to the shape that the
network takes, and normalised as it was trained.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil
from typing import Unpack

import numpy as np
import pyarrow as pa

from caddis.arrays import Anys, Bytes
from caddis.errors import ModelError
from caddis.models.onnx.model import ClassifierOptions, GivenModel, OnnxModel
from caddis.models.pictures import PICTURES, encoded_picture, fit, needs_pillow

_NUMBERS = {"tensor(float)": "f4", "tensor(float16)": "f2", "tensor(uint8)": "u1"}
_PICTURE_TYPES = (
    *(pa.binary(), pa.large_binary(), pa.binary_view()),
    *(pa.string(), pa.large_string(), pa.string_view()),
)


class OnnxImages(OnnxModel[Bytes]):
    """An ONNX classifier of pictures, which answers the concepts that its classes make up.

    The column is binary, and holds pictures as JPEG, PNG or whatever Pillow reads; or it is a
    string, and holds paths or `file:` URLs that every worker sees.

    model: an ONNX file or its content; one input (n, 3, height, width) or (n, height, width, 3).
    concepts: names, each with the ids of the classes that make it up, as {"dog": range(151, 269)}.
    size: height and width that the network takes, where the graph leaves them open.
    crop: the share of the short side that the central square keeps.
    mean, std: the network sees (x - mean) / std of each colour's 0–255; ImageNet's usual ones are
        (123.675, 116.28, 103.53) and (58.395, 57.12, 57.375). A graph that takes bytes sees x.
    options: reads, threshold, scores, cost, selectivity, name, threads: see ClassifierOptions.
    """

    batch = 1
    """On one thread a network runs no faster on more: 12 ms a picture for EfficientNet-Lite0 alone,
    13 ms among 32. And alone, an answer cannot depend on a neighbour's rounding."""

    def __init__(
        self,
        model: GivenModel,
        concepts: Mapping[str, Sequence[int]],
        *,
        size: int | None = None,
        crop: float = 0.875,
        mean: float | Sequence[float] = 127.0,
        std: float | Sequence[float] = 128.0,
        **options: Unpack[ClassifierOptions],
    ) -> None:
        super().__init__(model, concepts, **options)
        self.crop = crop
        if not 0 < crop <= 1:
            raise ModelError(f"the model {self.name!r} keeps {crop} of a picture; it is within 0–1")
        self.mean: list[float] = np.broadcast_to(mean, 3).tolist()
        self.std: list[float] = np.broadcast_to(std, 3).tolist()
        if not all(self.std):
            raise ModelError(f"the model {self.name!r} divides by std={std}; it is not zero")
        self._channels_first, self.height, self.width = self._layout(size)
        self._check(self.crop, self.mean, self.std, self.height, self.width)

    def check_reads(self, type_: pa.DataType) -> None:
        if type_ not in _PICTURE_TYPES:
            raise ModelError(
                f"the model {self.name!r} reads pictures: a column of type binary, or of paths "
                f"(string), not {type_}"
            )

    def load(self) -> None:
        super().load()
        needs_pillow()

    def content(self, value: object) -> bytes:
        assert isinstance(value, bytes | str)
        return encoded_picture(value)

    def read(self, value: object) -> Bytes:
        assert isinstance(value, bytes | str)
        needed = ceil(max(self.height, self.width) / self.crop)
        picture = PICTURES.picture(encoded_picture(value), needed)
        return fit(picture, self.height, self.width, self.crop)

    def tensor(self, read: Sequence[Bytes]) -> Anys:
        pixels: Anys = np.stack(read)
        if self._input_type != "tensor(uint8)":
            pixels = (pixels - np.array(self.mean, "f4")) / np.array(self.std, "f4")
        if self._channels_first:
            pixels = pixels.transpose(0, 3, 1, 2)
        return np.ascontiguousarray(pixels, _NUMBERS[self._input_type])

    def example(self) -> Bytes:
        return np.full((self.height, self.width, 3), 127, np.uint8)

    def _layout(self, size: int | None) -> tuple[bool, int, int]:
        """Whether colours come before rows and columns, and how many of these there are."""
        if len(self._shape) != 4 or self._input_type not in _NUMBERS:
            raise ModelError(
                f"{self.graph.name} takes {self._input_type} of shape {list(self._shape)}; "
                "a model of pictures takes (n, 3, height, width) or (n, height, width, 3)"
            )
        first = self._shape[1] == 3 or (self._shape[1] is None and self._shape[3] != 3)
        height, width = self._shape[2:] if first else self._shape[1:3]
        if size is not None and (height or size, width or size) != (size, size):
            raise ModelError(f"{self.graph.name} takes pictures of {height}×{width}, not {size}")
        if not (height or size) or not (width or size):
            raise ModelError(f"{self.graph.name} takes pictures of any size: say which (size=224)")
        return first, int(height or size or 0), int(width or size or 0)
