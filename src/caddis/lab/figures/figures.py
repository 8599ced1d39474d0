"""What is drawn of experiments: figures of lines, and lines of what was measured.

A line is one measure of an experiment in one setting, so what figures share is run once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from caddis.errors import CaddisError


@dataclass(frozen=True, slots=True)
class Line:
    """One measure of an experiment in one setting.

    against: another measure of the same runs, for a cloud of points instead of a line of means.
    over: another measure of the same runs, which each is divided by.
    """

    label: str
    experiment: str
    setting: str
    measure: str
    against: str = ""
    over: str = ""


@dataclass(frozen=True, slots=True)
class Figure:
    """Lines over one axis.

    most: the largest value that can be, if there is one.
    level: a value that lines are compared with, if there is one; the axis then need not show 0.
    room: how many times as high as its lines a logarithmic axis is, so that names stand above them.
    """

    name: str
    title: str
    axis: str
    unit: str
    lines: tuple[Line, ...]
    log_x: bool = True
    log_y: bool = False
    most: float | None = None
    level: float | None = None
    room: float = 1.0


def named(
    figures: Sequence[Figure], wanted: Sequence[str], error: type[CaddisError]
) -> tuple[Figure, ...]:
    """Some of them, in the order in which they are wanted; without a name, all."""
    made = {figure.name: figure for figure in figures}
    for name in wanted:
        if name not in made:
            raise error(f"there is no figure {name!r}; there is: {', '.join(made)}")
    return tuple(made[name] for name in wanted or made)
