"""`caddis warm`: compile all kernels ahead of time, as for an image."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from caddis.cli.shell import (
    AsJson,
    Job,
    Policy,
    compile_kernels,
    count,
    examples,
    fills,
    flag,
    needed_kernels,
    run,
)
from caddis.errors import EnvironmentProblem

if TYPE_CHECKING:
    from caddis.compiling import Need

EXAMPLES = examples("warm", "warm matching", "warm models --policy unit-price", "warm --portable")
app = typer.Typer()


class What(StrEnum):
    """The rooms that kernels can be compiled for, by the names that users know."""

    MATCHING = "matching"
    MODELS = "models"
    SEALED = "sealed"


@dataclass(frozen=True, slots=True)
class WarmOptions:
    """What to compile, and for which processor."""

    what: Annotated[
        list[What] | None,
        typer.Argument(
            metavar="[matching|models|sealed]...",
            help="What to compile kernels for. \\[default: all]",
        ),
    ] = None
    policy: Policy = None
    portable: Annotated[
        bool,
        flag(
            "--portable",
            "Compile for any x86-64 processor with AVX2 rather than for this machine's, so that "
            "an image can use the compiled kernels on other machines, too.",
        ),
    ] = False
    as_json: AsJson = False


@dataclass(frozen=True, slots=True)
class WarmSummary:
    """What was compiled, and where it is kept.

    kernels: how many had to be compiled.
    folder: where these are kept, and those that had been compiled before.
    """

    kernels: int
    folder: Path
    seconds: float

    def as_json(self) -> dict[str, object]:
        """The values that --json prints."""
        return asdict(self)

    def show(self, console: Console) -> None:
        """Say how long it took, and where the kernels are."""
        if self.kernels:
            done = f"{count(self.kernels, 'kernel')} compiled in {self.seconds:.1f} s"
        else:
            done = "All kernels were compiled already"
        console.print(f"{done}; they are kept in {self.folder}", soft_wrap=True, markup=False)


@app.command(name="warm", epilog=EXAMPLES)
@fills(WarmOptions)
def command(options: WarmOptions) -> None:
    """Compile the kernels ahead, so that the first match does not have to.

    They are kept beside the package if that is writable, else in the user's
    cache, unless CADDIS_CACHE_DIR names a folder. Run this when you build an
    image, with [bold]--portable[/bold] if the image runs on other machines.
    """
    run(lambda job: _warm(options, job), as_json=options.as_json)


def _warm(options: WarmOptions, job: Job) -> WarmSummary:
    from caddis.compiling import chosen_folder

    began = time.monotonic()
    folder = chosen_folder()
    if folder is None:
        raise EnvironmentProblem(
            "there is no folder to keep compiled kernels in; "
            "set CADDIS_CACHE_DIR to one that can be written to"
        )
    kernels = compile_kernels(_needs(options), job, portable=options.portable)
    return WarmSummary(kernels, folder.path, round(time.monotonic() - began, 3))


def _needs(options: WarmOptions) -> list[Need]:
    from caddis.sealed.matcher import NEEDED as SEALED

    matching, models = needed_kernels(models=True, policy=options.policy)
    needs = {What.MATCHING: matching, What.MODELS: models, What.SEALED: SEALED}
    return [needs[what] for what in options.what or needs]
