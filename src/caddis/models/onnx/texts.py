"""Models of texts: any ONNX classifier that takes strings, as skl2onnx makes them of pipelines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Unpack

import numpy as np
import pyarrow as pa

from caddis.arrays import Anys
from caddis.errors import ModelError
from caddis.models.onnx.model import ClassifierOptions, GivenModel, OnnxModel

TEXT_COST = 0.1
"""Milliseconds a text, until it is measured."""
_TEXT_TYPES = (pa.string(), pa.large_string(), pa.string_view())


class OnnxTexts(OnnxModel[str]):
    """An ONNX classifier of texts, which answers the concepts that its classes make up.

    model: an ONNX file or its content; one input of strings (n) or (n, 1), and an output of class
        scores (n, classes). A lone score (n) or (n, 1) is that of class 1.
    concepts: names, each with the ids of the classes that make it up, as {"spam": [1]}.
    options: reads, threshold, scores, cost, selectivity, name, threads: see ClassifierOptions.
    """

    batch = 256

    def __init__(
        self,
        model: GivenModel,
        concepts: Mapping[str, Sequence[int]],
        **options: Unpack[ClassifierOptions],
    ) -> None:
        options.setdefault("cost", TEXT_COST)
        super().__init__(model, concepts, **options)
        if self._input_type != "tensor(string)" or len(self._shape) not in (1, 2):
            raise ModelError(
                f"{self.graph.name} takes {self._input_type} of shape {list(self._shape)}; "
                "a model of texts takes strings (n) or (n, 1)"
            )
        self._check()

    def check_reads(self, type_: pa.DataType) -> None:
        if type_ not in _TEXT_TYPES:
            raise ModelError(
                f"the model {self.name!r} reads texts: a column of type string, not {type_}"
            )

    def read(self, value: object) -> str:
        return str(value)

    def tensor(self, read: Sequence[str]) -> Anys:
        texts = np.array(read, dtype=object)
        return texts if len(self._shape) == 1 else texts[:, None]

    def example(self) -> str:
        return "an example"
