"""Runs of an experiment as CSV: a line each, appended when it is done, and read to go on from."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import astuple, fields
from typing import TYPE_CHECKING, Any, Generic, Literal, TextIO, TypeVar, get_args, get_origin
from typing import get_type_hints as hints

from caddis.errors import CaddisError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    R = TypeVar("R", bound=DataclassInstance)
else:
    R = TypeVar("R")


class RunTable(Generic[R]):
    """How runs of one kind are written and read.

    kind: a dataclass of texts, literals, whole numbers and floats, which are kept to six digits.
    error: what is raised for a file that holds something else.
    """

    def __init__(self, kind: type[R], error: type[CaddisError]) -> None:
        self._kind, self._error = kind, error
        self.fields = tuple(field.name for field in fields(kind))
        self._types = hints(kind)

    def write_header(self, file: TextIO) -> None:
        """The names of the columns."""
        csv.writer(file, lineterminator="\n").writerow(self.fields)

    def write(self, file: TextIO, runs: Iterable[R]) -> None:
        """A line for each run."""
        csv.writer(file, lineterminator="\n").writerows(map(self.told, runs))

    def told(self, run: R) -> list[str | int]:
        """A run's fields, as they are written."""
        return [f"{value:.6g}" if isinstance(value, float) else value for value in astuple(run)]

    def read(self, file: TextIO, name: str) -> list[R]:
        """What was written; a last line that was cut short does not count."""
        lines = file.read().splitlines(keepends=True)
        whole = [line for line in lines if line.endswith("\n")]
        rows = list(csv.reader(whole))
        if not rows or tuple(rows[0]) != self.fields:
            raise self._error(f"{name}: the first line does not name the columns of runs")
        return [self._read(row, f"{name}, line {at}") for at, row in enumerate(rows[1:], 2)]

    def _read(self, row: list[str], where: str) -> R:
        try:
            given = dict(zip(self.fields, row, strict=True))
            return self._kind(
                **{name: _value(self._types[name], text) for name, text in given.items()}
            )
        except ValueError as error:
            raise self._error(f"{where}: not a run: {error}") from None


def _value(kind: Any, text: str) -> str | int | float:
    if get_origin(kind) is Literal and text not in get_args(kind):
        raise ValueError(f"{text!r} is none of {', '.join(get_args(kind))}")
    return kind(text) if kind in (int, float) else text
