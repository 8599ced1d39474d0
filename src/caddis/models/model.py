"""What a model is: something expensive that reads one column and answers concepts.

Whoever calls a model needs nothing but this contract: what it answers, its price before that is
measured, and `predict`. An answer is yes, no or unknown; unknown makes neither the concept nor its
negation true.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from caddis.arrays import Bools, Bytes
from caddis.errors import ModelError
from caddis.language import is_plain_name

NO, YES, UNKNOWN, UNASKED = 0, 1, 2, 3
"""What is known of a concept of one event, as one byte. UNASKED may still become any of the others,
and is the highest, so that the lower of two marks is what is known.
"""
Marks = Bytes
"""Answers as kernels, caches and files hold them."""


DEFAULT_COST = 10.0
"""Milliseconds an event that a model is taken to cost until it is measured."""
DEFAULT_SELECTIVITY = 0.2
"""How often a concept is taken to be true until it is known better."""


class Unreadable(Exception):
    """Why a value cannot be read, in a few words; it is unknown, and the others go on."""


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers about some values: a row for each value, a column for each concept."""

    yes: Bools
    known: Bools
    """Whether there is an answer at all; `yes` counts only where there is."""
    problems: Mapping[int, str] = field(default_factory=dict)
    """Why some of the rows could not be read."""

    @classmethod
    def of(cls, given: object, rows: int, concepts: int) -> Answers:
        """What `predict` gave, as answers: Answers, or a matrix of True, False and None.

        >>> Answers.of([[True, None]], 1, 2).known.tolist()
        [[True, False]]
        """
        answers = given if isinstance(given, Answers) else cls._of_matrix(given)
        for matrix in (answers.yes, answers.known):
            if matrix.shape != (rows, concepts):
                raise ModelError(
                    f"gave answers of shape {matrix.shape}; {rows} values and {concepts} "
                    f"concepts need {(rows, concepts)}"
                )
            if matrix.dtype != np.bool_:
                raise ModelError(f"gave Answers of {matrix.dtype}; they are of bool")
        return answers

    @classmethod
    def _of_matrix(cls, given: object) -> Answers:
        if isinstance(given, np.ma.MaskedArray):
            given = given.tolist()  # None in place of what is masked
        if isinstance(given, np.ndarray) and given.dtype == np.bool_:
            return cls(given, np.ones(given.shape, bool))
        matrix = np.array(given, dtype=object)
        truths = np.array([truth(one) for one in matrix.flat], dtype=object).reshape(matrix.shape)
        return cls(truths == True, truths != None)  # noqa: E711, E712


def truth(answer: object) -> bool | None:
    """An answer as True, False, or None for unknown; 1 and 0 are accepted, and nothing else.

    >>> truth(np.bool_(True)), truth(0), truth(None)
    (True, False, None)
    """
    match answer:
        case None:
            return None
        case bool() | np.bool_() | int() | np.integer() if answer in (0, 1):
            return bool(answer)
    raise ModelError(f"gave {answer!r}; an answer is True, False, or None for unknown")


class Model(ABC):
    """Reads one column and answers one or more concepts, all at one cost.

    A model is pickled to the workers, so it holds how to get what it needs, not the thing itself;
    what is loaded is loaded once a process.
    """

    name: str
    """What messages and reports call it; no two models of a match share it."""
    version: str
    """Changes whenever an answer may change: answers are cached under it."""
    concepts: tuple[str, ...]
    """What it answers, in lower case, in the order of the columns of its answers."""
    reads: str | None = None
    """The only column that it reads; None for whichever column a subscription names."""
    cost: float = DEFAULT_COST
    """Milliseconds an event, as expected before any was measured."""
    selectivity: Mapping[str, float] = {}
    """How often a concept is true, as far as that is known beforehand."""

    @abstractmethod
    def predict(self, values: pa.Array) -> object:
        """Answer all concepts about some values.

        Gives Answers, or a matrix of Booleans (None for unknown) with a row for each value and a
        column for each concept.

        `values` is not empty, holds no nulls and each value once. The answers depend on the values
        alone, each on its own. A value that cannot be read is unknown, with a problem in `Answers`.
        If this raises, the values are asked again one by one, and those that raise again are
        unknown.
        """

    def load(self) -> None:  # noqa: B027
        """Load what `predict` needs, unless this process has it. It is not part of a value's cost.

        Raises ModelError or EnvironmentProblem; then no value can be asked about.
        """

    def content(self, value: object) -> bytes:
        """What the value is: values of equal content are asked about once. May raise Unreadable."""
        match value:
            case str():
                return b"str " + value.encode()
            case bytes():
                return b"bytes " + value
        return f"{type(value).__name__} {value!r}".encode()

    def check_reads(self, type_: pa.DataType) -> None:  # noqa: B027
        """Raise ModelError if the model cannot read a column of this type."""

    def by_reference(self, folder: str) -> Model:  # noqa: ARG002
        """The same model for shipping, with what is large in a folder that all workers see."""
        return self

    def carried_in(self, folder: str) -> Model:
        """The same model for workers that see no folder of ours: they get a copy of this one.

        So everything that workers cannot get themselves is put there.
        """
        return self.by_reference(folder)

    def found_in(self, folder: str) -> Model:  # noqa: ARG002
        """The same model on a worker, where the folder that it was shipped with lies here."""
        return self


def named(concepts: Sequence[str]) -> tuple[str, ...]:
    """Concept names in lower case, each once, as SQL can call them."""
    names = tuple(name.lower() for name in concepts)
    for name in names:
        if not name.isidentifier():
            raise ModelError(f"the concept {name!r} cannot be called in SQL; write it like 'beach'")
        if not is_plain_name(name):
            raise ModelError(f"the concept {name!r} is a word of SQL's own; call it otherwise")
        if names.count(name) > 1:
            raise ModelError(f"the concept {name!r} is answered twice by one model")
    if not names:
        raise ModelError("a model answers at least one concept")
    return names
