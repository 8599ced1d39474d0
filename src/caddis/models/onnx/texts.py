"""Models of texts: any ONNX classifier that takes strings, as skl2onnx makes of a pipeline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from caddis.arrays import Anys
from caddis.errors import ModelError
from caddis.models.onnx.model import GivenModel, OnnxModel, Scores

_TEXT_TYPES = (pa.string(), pa.large_string(), pa.string_view())


class OnnxTexts(OnnxModel[str]):
    """An ONNX classifier of texts, which answers the concepts that its classes make up.

    model: an ONNX file or its content; one input of strings (n) or (n, 1), and an output of class
        scores (n, classes). A lone score (n) or (n, 1) is that of class 1.
    concepts: names, each with the ids of the classes that make it up, as {"spam": [1]}.
    threshold: what the probabilities of a concept's classes must add up to.
    scores: what the graph gives: "probabilities", or "logits", to which softmax is applied.
    cost: milliseconds a text, as a first guess.
    threads: that one session uses; Spark already runs a worker a core.
    """

    batch = 256

    def __init__(
        self,
        model: GivenModel,
        concepts: Mapping[str, Sequence[int]],
        *,
        reads: str | None = None,
        threshold: float = 0.5,
        scores: Scores = "probabilities",
        cost: float = 0.1,
        selectivity: Mapping[str, float] | None = None,
        name: str | None = None,
        threads: int = 1,
    ) -> None:
        super().__init__(
            model,
            concepts,
            reads=reads,
            threshold=threshold,
            scores=scores,
            cost=cost,
            selectivity=selectivity,
            name=name,
            threads=threads,
        )
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
