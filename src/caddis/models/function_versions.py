"""A function's version: equal for functions that answer alike, another once an answer may change.

Answers are kept by version for as long as a worker lives, so a version follows whatever a function
takes from outside of its body: defaults, variables around it, globals, and those of the functions
that it names. Plain values are told in words, which are the same in every process; other objects by
a digest of their pickle, so that a retrained classifier is another one; one that does not pickle is
never taken for the same. Not followed: what is reached through modules and classes, and what the
functions of installed packages take from outside.
"""

from __future__ import annotations

import hashlib
import pickle
import sysconfig
from collections.abc import Callable, Iterator
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

from caddis.models.model import Model

_CACHED = type(lru_cache(len))


def version_of(function: Callable[..., object]) -> str:
    """The version of a function, or of anything else that can be called."""
    try:
        told = _Words(function).of(function)
    except RecursionError:  # values that hold themselves
        told = uuid4().hex
    return hashlib.blake2b(told.encode(), digest_size=8).hexdigest()


class _Words:
    """Tells values in words; a function that was told already is told by its number."""

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
