"""The decorators of kernels: the one place that decides how they are compiled and kept.

Half of what numba does for a small function goes into its entry points: for Python, which
unpacks every array of every argument, and for C. Nobody calls a kernel from C, and most kernels
are called by other kernels alone.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar, overload

from numba import njit
from numba.core.dispatcher import Dispatcher

from caddis.compiling.cache import KernelCache
from caddis.compiling.dispatching import KernelDispatcher

F = TypeVar("F", bound=Callable[..., Any])
Options = dict[str, Any]
NO_C_ENTRY: Options = {"no_cfunc_wrapper": True}
NO_PYTHON_ENTRY: Options = {"no_cpython_wrapper": True}
_kernels: list[KernelDispatcher] = []


@overload
def kernel(function: F, /) -> F: ...
@overload
def kernel(**options: Any) -> Callable[[F], F]: ...
def kernel(function: F | None = None, /, **options: Any) -> F | Callable[[F], F]:
    """Compile a function when it is first called, unless that was done before.

    options: numba's, such as forceinline=True.
    """

    def compiled(function: F) -> F:
        dispatcher: Any = njit(**NO_C_ENTRY, **options)(function)
        if isinstance(dispatcher, Dispatcher):  # a plain function under NUMBA_DISABLE_JIT
            dispatcher = KernelDispatcher(function, targetoptions=dispatcher.targetoptions)
            # `cache=True` would do the same with numba's own cache, which refuses to import where
            # it finds no folder, and does not see that a callee has changed.
            dispatcher._cache = KernelCache(dispatcher)  # noqa: SLF001
            _kernels.append(dispatcher)
        marked: F = dispatcher
        return marked

    return compiled if function is None else compiled(function)


@overload
def inner_kernel(function: F, /) -> F: ...
@overload
def inner_kernel(**options: Any) -> Callable[[F], F]: ...
def inner_kernel(
    function: F | None = None, /, *, borrows: bool = False, **options: Any
) -> F | Callable[[F], F]:
    """Compile a function as a part of the kernels that call it, and nowhere else.

    borrows: whether it makes no arrays, gives none back, and calls no inner kernel that does. What
        it is given stays its caller's, so nothing has to count who refers to it, which saves much.
    options: as for `kernel`.
    """
    counting: Options = {"_nrt": not borrows}

    def compiled(function: F) -> F:
        dispatcher: Any = njit(**NO_C_ENTRY, **NO_PYTHON_ENTRY, **counting, **options)(function)
        if isinstance(dispatcher, Dispatcher):
            dispatcher = InnerKernel(function, targetoptions=dispatcher.targetoptions)
            dispatcher.options = options
            _kernels.append(dispatcher)
        marked: F = dispatcher
        return marked

    return compiled if function is None else compiled(function)


class InnerKernel(KernelDispatcher):
    """A kernel without an entry point for Python, though numba would let Python call it."""

    options: Options

    def __call__(self, *arguments: Any) -> Any:
        """Call it from Python, as tests do: it is compiled again, as a kernel of its own."""
        return self._entry(*arguments)

    @cached_property
    def _entry(self) -> Callable[..., Any]:
        return kernel(**self.options)(self.py_func)


def kernels() -> int:
    """How many kernels have been imported."""
    return len(_kernels)
