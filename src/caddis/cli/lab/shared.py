"""The app of `caddis lab`, the options that all its verbs have, and how each runs its study."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from caddis.cli.shell import AsJson, Job, Master, Result, run
from caddis.errors import CaddisError

if TYPE_CHECKING:
    from caddis.lab.figures import Study

app = typer.Typer(
    name="lab",
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="""Redraw the figures of the papers, next to ours.

    There is one verb for each paper. It runs the paper's experiments with
    Caddis's own code on Spark's workers; every choice that the paper leaves
    open is an option.
    """,
)
OPEN, SIZE = "What the paper leaves open", "Size"


def size(what: str, default: str, most: int | None = None) -> object:
    """A whole number that says how large a run is."""
    return typer.Option(
        min=1,
        max=most,
        metavar="N",
        help=f"{what} \\[default: {default}]",
        show_default=False,
        rich_help_panel=SIZE,
    )


def sizes(what: str, default: str) -> object:
    """Several of them, with commas between."""
    return typer.Option(
        metavar="LIST",
        help=f"{what} \\[default: {default}]",
        show_default=False,
        rich_help_panel=SIZE,
    )


def figures_option(names: str) -> object:
    """A list of figures to draw; these are the names that there are."""
    return typer.Option(
        metavar="LIST",
        help=f"Which figures to draw, all of them by default: {names}.",
        show_default=False,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyOptions(ABC):
    """What a study needs, whichever paper it is of."""

    out: Annotated[
        Path,
        typer.Option(
            metavar="FOLDER",
            help="The folder for PNG and CSV files. Runs that it already holds are not run again; "
            "it must not hold runs under other conditions.",
            show_default=False,
        ),
    ]
    seed: Annotated[
        int,
        typer.Option(
            min=0, metavar="N", help="The seed; another one draws other trees and workloads."
        ),
    ] = 1
    as_json: AsJson = False
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Make a small run, of about a minute.", rich_help_panel=SIZE),
    ] = False
    master: Master = "local[*]"

    @abstractmethod
    def study(self) -> Study:
        """What these options ask for."""


def redraw_study(options: StudyOptions) -> None:
    """Run what is missing of a study on Spark, draw its figures and show its tables."""

    def work(job: Job) -> Result:
        from caddis.cli.lab.redraw import redraw

        return redraw(options.study(), options.out, options.master, job)

    run(work, as_json=options.as_json)


def words(text: str) -> tuple[str, ...]:
    """A list as it is given to an option.

    >>> words("3a, 3b,3a")
    ('3a', '3b')
    """
    found = (word.strip() for word in text.split(","))
    return tuple(dict.fromkeys(word for word in found if word))


def numbers(text: str | None, option: str) -> tuple[int, ...]:
    """A list of whole numbers as it is given to an option, in ascending order.

    >>> numbers("1000, 500", "--subscriptions")
    (500, 1000)
    """
    given = words(text or "")
    for word in given:
        if not word.isdigit() or int(word) == 0:
            raise CaddisError(f"{option}: {word!r} is not a number; write them as 500,1000,2000")
    return tuple(sorted(map(int, given)))


def up_to(largest: int | None, usual: tuple[float, ...]) -> tuple[float, ...]:
    """The usual sizes that are smaller than the largest, and the largest; all without one.

    >>> up_to(50_000, (1e3, 1e4, 1e5))
    (1000.0, 10000.0, 50000.0)
    """
    if largest is None:
        return usual
    return *(size for size in usual if size < largest), float(largest)
