"""How numba compiles a kernel: as usual, but without two things that slow it down.

Every operator of a kernel is looked up in dozens of dictionaries whose keys contain the flags that
the kernel is compiled with. To numba the flags of any two functions have one hash, and to compare
them reads all thirty of them through properties: half the time of compiling went into that.

What numba makes on the way is kept until the end, and Python's collector goes through all of it
again and again to find next to nothing: a tenth of the time.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from numba.core.compiler import Compiler, CompileResult, Flags
from numba.core.dispatcher import _FunctionCompiler  # type: ignore[attr-defined]
from numba.core.registry import CPUDispatcher
from numba.core.types import Array, Type
from numba.core.types import Dispatcher as DispatcherType


class QuickFlags(Flags):
    """Flags that are compared by what was set, without going through properties."""

    __slots__ = ()

    def __hash__(self) -> int:
        return hash(QuickFlags)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, QuickFlags) and self._values == other._values


class KernelCompiler(_FunctionCompiler):  # type: ignore[misc]
    """Compiles a kernel for the types of its arguments."""

    def _customize_flags(self, flags: Flags) -> QuickFlags:
        return QuickFlags(flags)  # type: ignore[no-untyped-call]

    def _compile_core(self, args: Any, return_type: Any) -> CompileResult:
        compiled: CompileResult = super()._compile_core(args, return_type)
        if self.targetoptions.get("_nrt") is False:
            for given in arrays_given(compiled):
                raise TypeError(f"{self.py_func.__name__} cannot be one that borrows: {given}")
        return compiled


def arrays_given(compiled: CompileResult) -> Iterator[str]:
    """What is wrong with a kernel that borrows: arrays that it makes or returns."""
    if has_arrays(compiled.signature.return_type):  # type: ignore[attr-defined]
        yield "it gives back an array"
    found: Any = compiled.type_annotation  # type: ignore[attr-defined]
    for call, signature in found.calltypes.items():
        callee = found.typemap[call.func.name] if getattr(call, "op", None) == "call" else None
        if isinstance(callee, DispatcherType) and has_arrays(signature.return_type):
            yield f"{callee.dispatcher.py_func.__name__} gives it an array"


def has_arrays(one: Type) -> bool:
    """Whether values of a type hold arrays."""
    return isinstance(one, Array) or any(map(has_arrays, getattr(one, "types", ())))


class KernelDispatcher(CPUDispatcher):
    """A kernel, which finds or compiles the form for the types of its arguments."""

    def __init__(
        self,
        py_func: Callable[..., Any],
        locals: dict[str, Any] | None = None,  # noqa: A002
        targetoptions: dict[str, Any] | None = None,
        pipeline_class: type[Compiler] = Compiler,
    ) -> None:
        super().__init__(py_func, locals, targetoptions, pipeline_class)
        self._compiler = KernelCompiler(
            py_func, self.targetdescr, self.targetoptions, self.locals, pipeline_class
        )

    def compile(self, sig: Any) -> Any:
        """The compiled form for a signature."""
        with nothing_collected():
            return super().compile(sig)


@contextmanager
def nothing_collected() -> Iterator[None]:
    """Put off garbage collection, unless somebody has switched it off already."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
