"""What a kernel is made from: its own code, and everything that it refers to, in whatever file.

To numba, a global is a constant: the kernels that a kernel calls, numbers, named tuples. A
fingerprint covers all of them by value, through every kernel that is called in turn, so it changes
exactly if what would be compiled changes: when a constant in another file does, and not when a
comment does.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from functools import cache
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy as np
from numba.core import config
from numba.core.dispatcher import Dispatcher
from numba.core.types import Type

SETTINGS = (
    "OPT",
    "BOUNDSCHECK",
    "DEBUGINFO_DEFAULT",
    "ENABLE_AVX",
    "LOOP_VECTORIZE",
    "SLP_VECTORIZE",
)
"""The settings of numba that change what it compiles."""
PLAIN = (int, float, complex, bool, str, bytes, type(None), type(Ellipsis))


class UnknownGlobal(TypeError):
    """A kernel refers to something that has no comparable value, so it must not be kept."""


class Made(NamedTuple):
    """What one kernel is made from, apart from the kernels that it calls, and these kernels."""

    text: str
    calls: tuple[Dispatcher, ...]


def fingerprint(kernel: Dispatcher) -> str:
    """A digest of a kernel and of everything that it refers to.

    Raises UnknownGlobal if some of that is not a value that can be compared.
    """
    parts = sorted(_made(one).text for one in reachable(kernel))
    settings = [(name, getattr(config, name, None)) for name in SETTINGS]
    whole = repr((_made(kernel).text, parts, settings))
    return hashlib.sha256(whole.encode()).hexdigest()


def reachable(kernel: Dispatcher) -> list[Dispatcher]:
    """A kernel and all kernels that it calls, directly or not."""
    found = {kernel: None}
    waiting = [kernel]
    while waiting:
        for callee in _made(waiting.pop()).calls:
            if callee not in found:
                found[callee] = None
                waiting.append(callee)
    return list(found)


def described(types: Iterable[Type]) -> str:
    """A text that distinguishes types of arguments from all others, with named tuples' fields."""
    return ", ".join(map(_described, types))


def _described(one: Any) -> str:
    parts = getattr(one, "types", None)
    text = str(one) if parts is None else f"({described(parts)})"
    named = getattr(one, "instance_class", None)
    return (
        text if named is None else f"{named.__module__}.{named.__qualname__}{named._fields}{text}"
    )


def name_of(kernel: Dispatcher) -> str:
    """The module and the name of a kernel, without the package that all kernels share."""
    function = kernel.py_func
    return f"{function.__module__.removeprefix('caddis.')}.{function.__qualname__}"


@cache
def _made(kernel: Dispatcher) -> Made:
    function: Any = kernel.py_func
    calls: list[Dispatcher] = []
    parts = [
        name_of(kernel),
        repr(sorted(kernel.targetoptions.items())),
        _code(function.__code__, function.__doc__),
        *(_value(default, calls) for default in function.__defaults__ or ()),
    ]
    parts += [f"{name}={_value(value, calls)}" for name, value in _globals(function)]
    return Made("\n".join(parts), tuple(calls))


def _code(code: CodeType, doc: str | None = None) -> str:
    """The instructions and the literals of a function, without their place in a file."""
    constants = [
        _code(constant) if isinstance(constant, CodeType) else repr(constant)
        for constant in code.co_consts
        if constant != doc or doc is None
    ]
    shape = code.co_argcount, code.co_varnames, code.co_freevars, code.co_names, code.co_flags
    return repr((code.co_code.hex(), code.co_exceptiontable.hex(), constants, shape))


def _globals(function: FunctionType) -> Iterator[tuple[str, object]]:
    """The values that a function takes from its surroundings, by name."""
    cells = function.__closure__ or ()
    for name, cell in zip(function.__code__.co_freevars, cells, strict=True):
        yield name, cell.cell_contents
    known = function.__globals__
    yield from ((name, known[name]) for name in sorted(_names(function.__code__)) if name in known)


def _names(code: CodeType) -> set[str]:
    inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return set(code.co_names).union(*map(_names, inner))


def _value(value: object, calls: list[Dispatcher]) -> str:
    """A text that distinguishes a value from all others; kernels are added to `calls`."""
    if isinstance(value, Dispatcher):
        calls.append(value)
        return name_of(value)
    if isinstance(value, np.generic | np.ndarray):
        return f"{value.dtype.str}{value.shape}{value.tobytes().hex()}"
    if isinstance(value, tuple):
        return f"{type(value).__qualname__}({', '.join(_value(one, calls) for one in value)})"
    if isinstance(value, np.dtype):
        return repr(value)
    fields = getattr(value, "_fields", None)
    if isinstance(value, type) and fields is not None:
        return f"{value.__module__}.{value.__qualname__}{fields}"
    if isinstance(value, type | ModuleType) and not _is_ours(value):
        return value.__name__
    if isinstance(value, PLAIN):
        return f"{type(value).__name__} {value!r}"
    raise UnknownGlobal(f"a kernel that refers to {value!r} cannot be kept")


def _is_ours(value: type | ModuleType) -> bool:
    """Whether the source of a class or module can change without a change of any version."""
    home = value.__name__ if isinstance(value, ModuleType) else value.__module__
    return home.partition(".")[0] == "caddis"
