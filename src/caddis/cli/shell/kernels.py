"""Compiling kernels while a verb does other things, with a bar if that takes long."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from caddis.errors import EnvironmentProblem

if TYPE_CHECKING:
    from caddis.cli.shell.running import Job
    from caddis.compiling import Compilation, Need


def needed_kernels(*, models: bool = False, policy: str | None = None) -> list[Need]:
    """The kernels that a match needs, with models or without."""
    from caddis.matching import NEEDED

    if not models:
        return [NEEDED]
    from caddis.ordering import needed

    return [NEEDED, needed(policy)]


def begin_compiling(needs: Sequence[Need], job: Job) -> Compilation:
    """Compile in the background the kernels that this machine has not compiled yet."""
    from caddis.compiling import start_compiling

    compilation = start_compiling(*needs)
    job.resources.callback(compilation.stop)
    return compilation


def compile_kernels(needs: Sequence[Need], job: Job, *, portable: bool) -> int:
    """Compile missing kernels, with a bar, and return how many were compiled.

    portable: compile for nearly all processors rather than for this one.
    """
    from caddis.compiling import start_compiling

    compilation = start_compiling(*needs, portable=portable)
    job.resources.callback(compilation.stop)
    finish_compiling(compilation, job)
    if compilation.failed:
        names = " and ".join(need.name for need in compilation.failed)
        raise EnvironmentProblem(
            f"the kernels of {names} could not be compiled; --log-level warning before the verb "
            "says how to see why"
        )
    return compilation.compiled


def finish_compiling(compilation: Compilation, job: Job) -> None:
    """Wait for the kernels that are still being compiled, with a bar."""
    if not compilation.needs:
        return
    names = " and ".join(need.name for need in compilation.needs)
    with job.screen.step(f"Compiling the kernels of {names}") as step:
        compilation.wait(lambda done, total: step.update(f"{done} compiled", done, total))
        step.done = "Kernels compiled"
