"""Files cut into pieces of about the same size, so that all cores have work.

A piece is a range of bytes. Whoever reads it takes the row groups (or record batches) that would
begin in that range if all of them were of one size. So cutting needs the files' sizes alone, and no
footer is read beforehand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from caddis.files.columnar.listing import DataFile

LEAST_BYTES, MOST_BYTES = 4 << 20, 64 << 20
"""A task costs some tens of milliseconds in any case; one of 64 MiB takes seconds."""
TASKS = 32
"""Small inputs are cut into this many tasks, if each then has LEAST_BYTES."""
OPENING_BYTES = 1 << 18
"""Opening a file takes as long as reading this many bytes."""


@dataclass(frozen=True, slots=True)
class Piece:
    """The part of a file that begins between two bytes."""

    file: DataFile
    begin: int
    end: int

    def groups(self, count: int) -> list[int]:
        """Which of the file's `count` groups of rows are in the piece."""
        size = self.file.size
        return [at for at in range(count) if self.begin <= at * size // count < self.end]


def split(files: Sequence[DataFile]) -> list[tuple[Piece, ...]]:
    """Tasks of one or more pieces each, the largest first."""
    total = sum(file.size + OPENING_BYTES for file in files)
    size = min(max(total // TASKS, LEAST_BYTES), MOST_BYTES)
    pieces = [piece for file in files for piece in _pieces(file, size)]
    tasks: list[list[Piece]] = [[] for _ in range(min(len(pieces), -(-total // size)))]
    # Each piece, the largest first, goes to the task that has least to do so far.
    least = [(0, at) for at in range(len(tasks))]
    for piece in sorted(pieces, key=_cost, reverse=True):
        cost, at = heappop(least)
        tasks[at].append(piece)
        heappush(least, (cost + _cost(piece), at))
    return [tuple(tasks[at]) for cost, at in sorted(least, reverse=True)]


def _pieces(file: DataFile, size: int) -> list[Piece]:
    count = max(1, round(file.size / size))
    edges = [file.size * at // count for at in range(count + 1)]
    return [Piece(file, edges[at], edges[at + 1]) for at in range(count)]


def _cost(piece: Piece) -> int:
    return piece.end - piece.begin + OPENING_BYTES
