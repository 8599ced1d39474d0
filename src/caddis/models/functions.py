"""Models that are plain Python functions: `@caddis.concept(reads="photo")`.

Answers are cached by a model's version for as long as a worker lives, so a function's version must
change whenever its answers may. It follows whatever the function takes from outside of its body:
defaults, variables around it, globals, and those of the functions that it names. Plain values are
spelled out, which is the same in every process; other objects are represented by a digest of their
pickle, so that a retrained classifier is a new version. An object that cannot be pickled is never
taken for the same. What is reached through modules and classes is not followed, nor what the
functions of installed packages take from outside.
"""

from __future__ import annotations

import hashlib
import pickle
import sysconfig
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from pathlib import Path
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    MethodType,
    ModuleType,
    SimpleNamespace,
)
from uuid import uuid4

import numpy as np
import pyarrow as pa

from caddis.errors import ModelError
from caddis.models.model import DEFAULT_COST, Answers, Model, named, truth

_CACHED = type(lru_cache(len))


def version_of(function: Callable[..., object]) -> str:
    """The version of a function, or of anything else that can be called."""
    try:
        spelling = _Spelling(function).of(function)
    except RecursionError:  # values that hold themselves
        spelling = uuid4().hex
    return hashlib.blake2b(spelling.encode(), digest_size=8).hexdigest()


class _Spelling:
    """Spells values out; a function that was spelled already is represented by its number."""

    def __init__(self, root: Callable[..., object]) -> None:
        self.root = root
        self.seen: dict[FunctionType, int] = {}

    def of(self, value: object) -> str:
        match value:
            case None | bool() | int() | float() | complex() | str() | bytes():
                return repr(value)
            case tuple() | list():
                return f"[{', '.join(map(self.of, value))}]"
            case frozenset() | set():
                return f"{{{', '.join(sorted(map(self.of, value)))}}}"
            case dict():
                return self.of(list(value.items()))
            case CodeType():
                return f"{value.co_code.hex()} {value.co_names} {self.of(value.co_consts)}"
            case ModuleType():
                return f"module {value.__name__}"
            case type():
                return f"class {value.__module__}.{value.__qualname__}"
        return self._callable(value)

    def _callable(self, value: object) -> str:
        match value:
            case FunctionType():
                return self._function(value)
            case MethodType():
                return self.of((value.__func__, value.__self__))
            case BuiltinFunctionType():
                return self.of((value.__qualname__, value.__self__))
            case partial():
                return self.of((value.func, value.args, value.keywords))
            case Model(name=name, version=version):
                return f"model {name} {version}"
        if isinstance(value, _CACHED):
            return self.of(value.__wrapped__)
        return self._object(value)

    def _function(self, function: FunctionType) -> str:
        if function in self.seen:
            return f"function {self.seen[function]}"
        self.seen[function] = len(self.seen)
        followed = function is self.root or not _is_installed(function.__code__)
        outside = list(_outside(function)) if followed else []
        return f"{self.of(function.__code__)} {self.of(outside)}"

    def _object(self, value: object) -> str:
        """An object's state, and the code that runs when it is called."""
        called = getattr(type(value), "__call__", None)  # noqa: B004
        code = self.of(called) if isinstance(called, FunctionType) else ""
        return f"{_digest(value)} {code}"


def _outside(function: FunctionType) -> Iterator[tuple[str, object]]:
    """What a function takes from outside of its body: defaults, variables around it, globals."""
    code = function.__code__
    yield "defaults", (function.__defaults__, function.__kwdefaults__)
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        with suppress(ValueError):  # a cell is empty while its variable has no value yet
            yield name, cell.cell_contents
    for name in dict.fromkeys(_names(code)):
        if name != code.co_qualname:  # by its own name it calls itself
            yield name, function.__globals__.get(name)


def _names(code: CodeType) -> Iterator[str]:
    """The names in some code, and in what is written within it: lambdas, comprehensions."""
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names(inner)


def _digest(value: object) -> str:
    digest = hashlib.blake2b(digest_size=16)
    try:
        pickle.Pickler(SimpleNamespace(write=digest.update), protocol=5).dump(value)
    except Exception:
        # An object's own way of being pickled may raise anything.
        return uuid4().hex
    return digest.hexdigest()


def _is_installed(code: CodeType) -> bool:
    """Whether code is the standard library's, or an installed package's."""
    file = Path(code.co_filename)
    return (
        code.co_filename.startswith("<frozen ")
        or file.is_relative_to(sysconfig.get_path("stdlib"))
        or not {"site-packages", "dist-packages"}.isdisjoint(file.parts)
    )


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
        self.selectivity = checked_selectivity(self.name, self.concepts, selectivity)
        self.batch = batch
        self.version = version or version_of(function)

    def __call__(self, value: object) -> object:
        """The function itself, so that it can still be called and tested."""
        return self.function(value)

    def predict(self, values: pa.Array) -> object:
        if not self.batch:
            return [self._row(self.function(value)) for value in values.to_pylist()]
        found = self.function(values)
        if isinstance(found, Answers) or getattr(found, "ndim", 1) == 2:
            return found
        return [self._row(one) for one in _listed(found)]

    def _row(self, answer: object) -> list[bool | None]:
        """The answers about one value, in the order of the concepts."""
        if isinstance(answer, Mapping):
            return self._by_name(answer)
        in_order = _in_order(answer)
        if in_order is not None and len(in_order) == len(self.concepts):
            return [truth(one) for one in in_order]
        if len(self.concepts) == 1:
            return [truth(answer)]
        raise ModelError(
            f"gave {answer!r}; it answers {len(self.concepts)} concepts: give a mapping of "
            f"{', '.join(self.concepts)} to True, False or None"
        )

    def _by_name(self, answer: Mapping[object, object]) -> list[bool | None]:
        given = {str(name).lower(): one for name, one in answer.items()}
        for name in given:
            if name not in self.concepts:
                raise ModelError(
                    f"gave an answer for {name!r}; it answers {', '.join(self.concepts)}"
                )
        return [truth(given.get(concept)) for concept in self.concepts]


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

    reads: the column whose values it gets; None for whichever column a subscription names.
    answers: the names of its concepts, if it answers several; it then returns a mapping of names
        to answers, or as many answers in order.
    cost: milliseconds a value, as a first guess; it is measured while running.
    selectivity: how often each concept is true, as a first guess.
    batch: whether it gets an Arrow array of values, and returns a list or matrix of answers.
    version: change it when answers may change; by default it follows the function's code, the
        objects and functions outside of it that it names, and theirs; what it reaches through
        modules, classes and installed packages is not followed.

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
    """The cost of a model, which must be positive."""
    if not 0 < cost < float("inf"):
        raise ModelError(f"the model {name!r} costs {cost} ms; a cost is positive")
    return float(cost)


def checked_selectivity(
    name: str, concepts: Sequence[str], selectivity: Mapping[str, float]
) -> dict[str, float]:
    """How often some of a model's concepts are true, by their names in lower case."""
    shares = {concept.lower(): float(share) for concept, share in selectivity.items()}
    for concept, share in shares.items():
        if concept not in concepts:
            raise ModelError(
                f"the model {name!r} has a selectivity for {concept!r}, but answers "
                f"{', '.join(concepts)}"
            )
        if not 0 <= share <= 1:
            raise ModelError(f"the concept {concept!r} is true of {share}; it is within 0–1")
    return shares


def _in_order(answer: object) -> Sequence[object] | None:
    """The answers about one value, if they are given one after the other."""
    if isinstance(answer, np.ndarray) and answer.ndim == 1:
        return list(answer.tolist())
    if isinstance(answer, Sequence) and not isinstance(answer, str | bytes | bytearray):
        return answer
    return None


def _listed(found: object) -> Iterable[object]:
    """What a function gave for a batch of values, one by one."""
    given: object = found
    if isinstance(found, pa.Array | pa.ChunkedArray | pa.RecordBatch | pa.Table):
        given = found.to_pylist()
    elif hasattr(found, "__array__"):
        given = np.asanyarray(found).tolist()
    if not isinstance(given, Iterable) or isinstance(given, str | bytes | bytearray | Mapping):
        raise ModelError(f"gave {given!r}; a batch of values needs a list of answers")
    return given
