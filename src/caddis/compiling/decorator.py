"""The one decorator of kernels, so that one place decides where compiled code is kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, overload

from numba import njit
from numba.core.dispatcher import Dispatcher

from caddis.compiling.cache import KernelCache

F = TypeVar("F", bound=Callable[..., Any])


@overload
def kernel(function: F, /) -> F: ...
@overload
def kernel(**options: Any) -> Callable[[F], F]: ...
def kernel(function: F | None = None, /, **options: Any) -> F | Callable[[F], F]:
    """Compile a function when it is first called, unless that was done before.

    options: numba's, such as forceinline=True.
    """

    def compiled(function: F) -> F:
        dispatcher: F = njit(**options)(function)
        if isinstance(dispatcher, Dispatcher):  # a plain function under NUMBA_DISABLE_JIT
            # `cache=True` would do the same with numba's own cache, which refuses to import where
            # it finds no folder, and does not see that a callee has changed.
            dispatcher._cache = KernelCache(dispatcher)  # type: ignore[attr-defined] # noqa: SLF001
        return dispatcher

    return compiled if function is None else compiled(function)
