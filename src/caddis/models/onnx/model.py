"""What models of pictures and of texts share: an ONNX classifier whose classes make up concepts.

A concept is a set of the classifier's classes; it is true of a value if their probabilities add up
to the threshold. Values are read one by one, so that one that cannot be read spoils no other, and
run in batches. What a model is pickled with is its graph's reference and its parameters.
"""

from __future__ import annotations

import copy
import hashlib
import os
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Generic, Literal, Self, TypedDict, TypeVar

import numpy as np
import pyarrow as pa

from caddis.arrays import Anys, Bools, Floats
from caddis.errors import ModelError
from caddis.models.functions import checked_cost, checked_selectivity
from caddis.models.model import DEFAULT_COST, Answers, Model, Unreadable, named
from caddis.models.onnx.sessions import Graph, GraphFile, graph_of, refused, session_of

Scores = Literal["probabilities", "logits"]
GivenModel = str | os.PathLike[str] | bytes | Graph
Value = TypeVar("Value")


class ClassifierOptions(TypedDict, total=False):
    """The keyword parameters that all ONNX classifiers share."""

    reads: str | None
    """The only column that it reads; None for whichever column a subscription names."""
    threshold: float
    """What the probabilities of a concept's classes must add up to; 0.5 if not given."""
    scores: Scores
    """What the graph gives: "probabilities", or "logits", to which softmax is applied."""
    cost: float
    """Milliseconds a value, as a first guess."""
    selectivity: Mapping[str, float] | None
    """How often each concept is true, as a first guess."""
    name: str | None
    """What messages and reports call it; by default the name of the file."""
    threads: int
    """The threads of one session; one, since Spark already runs a worker a core."""


_CLOSE_TO = 1e-3


class OnnxModel(Model, Generic[Value]):
    """An ONNX classifier; `Value` is what is read of a value before it is fed."""

    batch = 32
    """How many values run together at most."""

    def __init__(
        self,
        model: GivenModel,
        concepts: Mapping[str, Sequence[int]],
        *,
        reads: str | None = None,
        threshold: float = 0.5,
        scores: Scores = "probabilities",
        cost: float = DEFAULT_COST,
        selectivity: Mapping[str, float] | None = None,
        name: str | None = None,
        threads: int = 1,
    ) -> None:
        self.graph = graph_of(model)
        self.concepts = named(list(concepts))
        self.classes = tuple(tuple(ids) for ids in concepts.values())
        self.name = name or self._name_of_graph()
        self.reads = reads
        self.threshold = threshold
        self.scores = scores
        self.cost = checked_cost(self.name, cost)
        self.selectivity = checked_selectivity(self.name, self.concepts, selectivity or {})
        self.threads = threads
        if not 0 < threshold <= 1:
            raise ModelError(f"the model {self.name!r} has threshold {threshold}; it is within 0–1")
        if scores not in ("probabilities", "logits"):
            raise ModelError(f"scores are 'probabilities' or 'logits', not {scores!r}")
        self._open()

    @abstractmethod
    def read(self, value: object) -> Value:
        """Read a value into what the graph is fed; raises Unreadable."""

    @abstractmethod
    def tensor(self, read: Sequence[Value]) -> Anys:
        """Put what was read of some values into the tensor that the graph takes."""

    @abstractmethod
    def example(self) -> Value:
        """Something to try the graph with."""

    def predict(self, values: pa.Array) -> Answers:
        shape = (len(values), len(self.concepts))
        answers = Answers(np.zeros(shape, bool), np.zeros(shape, bool), problems := {})
        for start in range(0, len(values), self.batch):
            rows, read = [], []
            for row, value in enumerate(values[start : start + self.batch].to_pylist(), start):
                try:
                    read.append(self.read(value))
                    rows.append(row)
                except Unreadable as problem:
                    problems[row] = str(problem)
            if rows:
                answers.yes[rows], answers.known[rows] = self._decide(self.probabilities(read))
            unsure = [row for row in rows if not answers.known[row].all()]
            problems.update(dict.fromkeys(unsure, "the model gave something that is no number"))
        return answers

    def probabilities(self, read: Sequence[Value]) -> Floats:
        """The probability of each class, a row for each value."""
        tensor = self.tensor(read)
        # A graph of a fixed batch gets its last value again until it is full.
        if self._rows and len(read) < self._rows:
            tensor = np.concatenate([tensor, np.repeat(tensor[-1:], self._rows - len(read), 0)])
        session = session_of(self.graph, self.threads)
        try:
            [given] = session.run([self._output], {self._input: tensor})
        except Exception as problem:
            # onnxruntime has an exception class for each of its error codes, and no common base.
            refused(self.graph.name, problem)
        if given.ndim == 0 or len(given) != len(tensor):
            raise ModelError(
                f"the output {self._output!r} of {self.graph.name} has the shape {given.shape}; "
                f"{len(tensor)} values need as many rows"
            )
        return self._as_probabilities(given[: len(read)].reshape(len(read), -1).astype(np.float64))

    def load(self) -> None:
        session_of(self.graph, self.threads)

    def by_reference(self, folder: str) -> Self:
        shipped = copy.copy(self)
        shipped.graph = self.graph.by_reference(folder)
        return shipped

    def carried_in(self, folder: str) -> Self:
        shipped = copy.copy(self)
        shipped.graph = self.graph.carried_in(folder)
        return shipped

    def found_in(self, folder: str) -> Self:
        found = copy.copy(self)
        found.graph = self.graph.found_in(folder)
        return found

    def _decide(self, probabilities: Floats) -> tuple[Bools, Bools]:
        sums = np.stack([probabilities[:, ids].sum(axis=1) for ids in self.classes], axis=1)
        return sums >= self.threshold, np.isfinite(sums)

    def _as_probabilities(self, scores: Floats) -> Floats:
        """Scores as probabilities; a lone score is that of class 1, and class 0 has the rest."""
        lone = scores.shape[1] == 1
        if self.scores == "probabilities":
            if np.any((scores < -_CLOSE_TO) | (scores > 1 + _CLOSE_TO)):
                raise ModelError(
                    f"{self.graph.name} gives scores outside 0–1, which are no probabilities: "
                    "say scores='logits'"
                )
            return np.hstack([1 - scores, scores]) if lone else scores
        if lone:
            scores = np.hstack([np.zeros_like(scores), scores])
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        softmax: Floats = powers / powers.sum(axis=1, keepdims=True)
        return softmax

    def _open(self) -> None:
        """Find the graph's one input, and its first output of floating-point numbers."""
        session = session_of(self.graph, self.threads)
        inputs, outputs = session.get_inputs(), session.get_outputs()
        if len(inputs) != 1:
            raise ModelError(f"{self.graph.name} has {len(inputs)} inputs; it needs exactly one")
        self._input, self._input_type = inputs[0].name, inputs[0].type
        self._shape: tuple[int | None, ...] = tuple(
            side if isinstance(side, int) and side > 0 else None for side in inputs[0].shape
        )
        self._rows = self._shape[0] if self._shape else None
        self.batch = self._rows or type(self).batch
        scores = [one.name for one in outputs if one.type in ("tensor(float)", "tensor(double)")]
        if not scores:
            types = ", ".join(f"{one.name}: {one.type}" for one in outputs)
            raise ModelError(
                f"{self.graph.name} has no output of class scores ({types}); "
                "with skl2onnx, say zipmap=False"
            )
        self._output = scores[0]

    def _check(self, *parameters: object) -> None:
        """Try the graph once, and derive the model's version from all that affects its answers."""
        classes = self.probabilities([self.example()]).shape[1]
        for concept, ids in zip(self.concepts, self.classes, strict=True):
            if not ids or len(set(ids)) < len(ids) or not all(0 <= one < classes for one in ids):
                raise ModelError(
                    f"the concept {concept!r} needs distinct classes of 0–{classes - 1}, "
                    f"not {list(ids)}"
                )
        identity = (self.graph.digest, self.concepts, self.classes, self.threshold, self.scores)
        self.version = hashlib.blake2b(
            repr((*identity, *parameters)).encode(), digest_size=8
        ).hexdigest()

    def _name_of_graph(self) -> str:
        if isinstance(self.graph, GraphFile):
            return Path(self.graph.path).stem
        return f"{type(self).__name__.lower()}_{self.graph.digest[:8]}"
