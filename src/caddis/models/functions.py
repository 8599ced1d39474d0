"""Models that are plain Python functions: `@caddis.concept(reads="photo")`."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import CodeType

import numpy as np
import pyarrow as pa

from caddis.errors import ModelError
from caddis.models.model import DEFAULT_COST, Model, named


class FunctionModel(Model):
    """A function of one value, or of a whole Arrow array of them if `batch`."""

    def __init__(
        self,
        function: Callable[..., object],
        *,
        reads: str | None,
        answers: Sequence[str],
        cost: float,
        selectivity: Mapping[str, float],
        batch: bool,
        version: str | None,
    ) -> None:
        self.function = function
        self.name = getattr(function, "__name__", type(function).__name__)
        self.__doc__ = function.__doc__
        self.concepts = named(answers or [self.name])
        self.reads = reads
        self.cost = checked_cost(self.name, cost)
        self.selectivity = dict(selectivity)
        self.batch = batch
        self.version = version or _version_of(function)

    def __call__(self, value: object) -> object:
        """The function itself, so that it can still be called and tested."""
        return self.function(value)

    def predict(self, values: pa.Array) -> object:
        if self.batch:
            found = self.function(values)
            return _columns(found) if len(self.concepts) == 1 else found
        return [self._row(self.function(value)) for value in values.to_pylist()]

    def _row(self, answer: object) -> list[bool | None]:
        if len(self.concepts) == 1:
            return [_truth(answer)]
        if isinstance(answer, Mapping):
            return [_truth(answer.get(concept)) for concept in self.concepts]
        if isinstance(answer, Sequence) and len(answer) == len(self.concepts):
            return [_truth(one) for one in answer]
        raise ModelError(
            f"gave {answer!r}; it answers {len(self.concepts)} concepts: give a mapping of "
            f"{', '.join(self.concepts)} to True, False or None"
        )


def concept(
    *,
    reads: str | None = None,
    answers: Sequence[str] = (),
    cost: float = DEFAULT_COST,
    selectivity: Mapping[str, float] | None = None,
    batch: bool = False,
    version: str | None = None,
) -> Callable[[Callable[..., object]], FunctionModel]:
    """Make a function answer the concept of its name: True, False, or None for unknown.

    reads: the column whose values it gets; None: whichever a subscription names.
    answers: if it answers several concepts, their names; it then gives a mapping of names to
        answers, or as many answers in order.
    cost: milliseconds a value, as a first guess; measured while running.
    batch: it gets an Arrow array of values, and gives a list or matrix of answers.
    version: change it when answers may change; by default it changes with the function's code.

    >>> @concept(reads="title", cost=0.1)
    ... def shouts(title):
    ...     return title.isupper()
    >>> shouts("SALE"), shouts.concepts
    (True, ('shouts',))
    """

    def make(function: Callable[..., object]) -> FunctionModel:
        return FunctionModel(
            function,
            reads=reads,
            answers=answers,
            cost=cost,
            selectivity=selectivity or {},
            batch=batch,
            version=version,
        )

    return make


def checked_cost(name: str, cost: float) -> float:
    """A cost that a model can have."""
    if not 0 < cost < float("inf"):
        raise ModelError(f"the model {name!r} costs {cost} ms; a cost is positive")
    return float(cost)


def _truth(answer: object) -> bool | None:
    return None if answer is None else bool(answer)


def _columns(found: object) -> object:
    """One answer a value, as a matrix of one column."""
    if getattr(found, "ndim", 1) == 2:
        return found
    given: object = found
    if isinstance(found, pa.Array | pa.ChunkedArray):
        given = found.to_pylist()
    elif isinstance(found, np.ndarray):
        given = found.tolist()
    if not isinstance(given, Iterable):
        raise ModelError(f"gave {given!r}; a batch of values needs a list of answers")
    return [one if isinstance(one, list | tuple) else [_truth(one)] for one in given]


def _version_of(function: Callable[..., object]) -> str:
    code = getattr(function, "__code__", None)
    told = _code_text(code) if code is not None else repr(type(function))
    return hashlib.blake2b(told.encode(), digest_size=8).hexdigest()


def _code_text(code: CodeType) -> str:
    """The code and its constants, without what differs from process to process."""
    constants = [
        _code_text(one) if isinstance(one, CodeType) else repr(one) for one in code.co_consts
    ]
    return f"{code.co_code.hex()} {code.co_names} {constants}"
