"""The values of one call to a model, each once.

    row ──value_of──▶ value ──▶ first row, digest, marks, trouble

A null row has no value. A value has marks once it is answered, or a trouble, or is still to be run;
what it gets is in the end every row's that holds it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from caddis.models.model import UNKNOWN, Answers, Marks, Model, Unreadable

NOTHING = -1
"""In place of a value: the row is null."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a value has no answers: it cannot be read, or the model `failed` on it."""

    reason: str
    failed: bool


class Batch:
    """Values that are sorted, then answered."""

    def __init__(self, model: Model, values: pa.Array) -> None:
        self.model = model
        self.values = plain(values)
        self.value_of = np.full(len(values), NOTHING, np.int64)
        self.firsts: list[int] = []
        self.digests: list[bytes | None] = []
        self.marks: list[bytes | None] = []
        self.troubles: dict[int, Trouble] = {}
        self._numbers: dict[bytes, int] = {}

    def add(self, row: int, digest: bytes | None) -> int:
        """The value that a row holds; without a digest it is one of its own."""
        value = len(self.firsts)
        if digest is not None:
            value = self._numbers.setdefault(digest, value)
        if value == len(self.firsts):
            self.firsts.append(row)
            self.digests.append(digest)
            self.marks.append(None)
        self.value_of[row] = value
        return value

    def unanswered(self) -> list[int]:
        """The values that are still to be run."""
        return [
            value
            for value, marks in enumerate(self.marks)
            if marks is None and value not in self.troubles
        ]

    def taken(self, values: Sequence[int]) -> pa.Array:
        """Some of the values, as a model gets them."""
        return self.values.take(pa.array([self.firsts[value] for value in values], pa.int64()))

    def answer(self, values: Sequence[int], answers: Answers) -> None:
        """Take the answers that some of the values got."""
        marks = np.where(answers.known, answers.yes, UNKNOWN).astype(np.uint8)
        for at, value in enumerate(values):
            if at in answers.problems:
                self.troubles[value] = Trouble(answers.problems[at], failed=False)
            else:
                self.marks[value] = marks[at].tobytes()

    def by_row(self) -> Marks:
        """The marks of every row; without answers they are UNKNOWN."""
        concepts = len(self.model.concepts)
        unknown = bytes([UNKNOWN]) * concepts
        by_value = b"".join([marks or unknown for marks in self.marks] + [unknown])
        # NOTHING finds the last of them, which is no value's.
        return np.frombuffer(by_value, np.uint8).reshape(-1, concepts)[self.value_of]


def digest_of(model: Model, scalar: pa.Scalar) -> bytes:
    """A hash of what a value is to a model; raises Unreadable, or what the model raises."""
    try:
        value = scalar.as_py()
    except (ValueError, OverflowError) as problem:
        # Text that is not UTF-8, or a date that Python has no name for.
        raise Unreadable(str(problem)) from None
    return hashlib.blake2b(model.content(value), digest_size=16).digest()


def plain(values: pa.Array) -> pa.Array:
    """The values in a layout from which Arrow can take some: no dictionaries, no views."""
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if pa.types.is_string_view(values.type):
        return values.cast(pa.large_string())
    if pa.types.is_binary_view(values.type):
        return values.cast(pa.large_binary())
    return values
