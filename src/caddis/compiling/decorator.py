"""The decorators of kernels, so that one place decides how they are compiled and kept.

Half of what numba does for a small function goes into the ways to call it: from Python, which
unpacks every array of every argument, and from C. Nobody calls a kernel from C, and most kernels
are called by other kernels alone.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar, overload

from numba import njit
from numba.core.dispatcher import Dispatcher
from numba.core.registry import CPUDispatcher

from caddis.compiling.cache import KernelCache

F = TypeVar("F", bound=Callable[..., Any])
Options = dict[str, Any]
NO_C_ENTRY: Options = {"no_cfunc_wrapper": True}
NO_PYTHON_ENTRY: Options = {"no_cpython_wrapper": True}
_kernels: list[Dispatcher] = []


@overload
def kernel(function: F, /) -> F: ...
@overload
def kernel(**options: Any) -> Callable[[F], F]: ...
def kernel(function: F | None = None, /, **options: Any) -> F | Callable[[F], F]:
    """Compile a function when it is first called, unless that was done before.

    options: numba's, such as forceinline=True.
    """

    def compiled(function: F) -> F:
        dispatcher: F = njit(**NO_C_ENTRY, **options)(function)
        if isinstance(dispatcher, Dispatcher):  # a plain function under NUMBA_DISABLE_JIT
            # `cache=True` would do the same with numba's own cache, which refuses to import where
            # it finds no folder, and does not see that a callee has changed.
            dispatcher._cache = KernelCache(dispatcher)  # type: ignore[attr-defined] # noqa: SLF001
            _kernels.append(dispatcher)
        return dispatcher

    return compiled if function is None else compiled(function)


@overload
def inner_kernel(function: F, /) -> F: ...
@overload
def inner_kernel(**options: Any) -> Callable[[F], F]: ...
def inner_kernel(function: F | None = None, /, **options: Any) -> F | Callable[[F], F]:
    """Compile a function as a part of the kernels that call it, and keep it in theirs alone.

    options: as for `kernel`.
    """

    def compiled(function: F) -> F:
        inner: Any = njit(**NO_C_ENTRY, **NO_PYTHON_ENTRY, **options)(function)
        if isinstance(inner, Dispatcher):
            inner = InnerKernel(inner, options)
        dispatcher: F = inner
        return dispatcher

    return compiled if function is None else compiled(function)


class InnerKernel(CPUDispatcher):
    """A kernel without a way in from Python, which numba would let one call all the same."""

    def __init__(self, inner: Dispatcher[Any], options: Options) -> None:
        super().__init__(inner.py_func, targetoptions=inner.targetoptions)
        self._options = options
        _kernels.append(self)

    def __call__(self, *arguments: Any) -> Any:
        """Call it from Python, as tests do: it is compiled once more, as a kernel of its own."""
        return self._entry(*arguments)

    @cached_property
    def _entry(self) -> Callable[..., Any]:
        return kernel(**self._options)(self.py_func)


def kernels() -> int:
    """How many kernels have been imported."""
    return len(_kernels)
