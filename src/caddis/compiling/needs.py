"""What a room needs compiled, and whether that has been done on this machine.

A room's door has a function `warm_up` that calls its kernels on something small. Once it has run, a
mark beside the compiled kernels says so, under a digest of all of the package's sources: as long as
none of them changes, nobody has to import anything to know that nothing is to be done.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path

from caddis.compiling.cache import mark, marked
from caddis.compiling.folders import PACKAGE
from caddis.compiling.targets import portable_target, usable_targets


@dataclass(frozen=True, slots=True)
class Need:
    """The kernels of one room.

    room: the package whose `warm_up` calls them.
    choice: what `warm_up` is given, if not all of the room's kernels are needed.
    """

    room: str
    choice: str = ""

    @property
    def name(self) -> str:
        """What is needed, in a word or two.

        >>> Need("caddis.matching").name, Need("caddis.ordering", "emec").name
        ('matching', 'ordering-emec')
        """
        room = self.room.partition(".")[2]
        return f"{room}-{self.choice}" if self.choice else room

    @property
    def arguments(self) -> list[str]:
        """What a process is told that compiles it."""
        return [self.room, self.choice] if self.choice else [self.room]

    def compile(self) -> None:
        """Compile the kernels in this process, and note that it is done."""
        _, *choice = self.arguments
        import_module(self.room).warm_up(*choice)
        mark(self._mark())

    def is_met(self, *, portable: bool = False) -> bool:
        """Whether all has been compiled, so that nothing is left to do.

        portable: for nearly all processors, rather than in any way that runs on this one.
        """
        return marked(self._mark(), [portable_target()] if portable else usable_targets())

    def _mark(self) -> str:
        return f"{self.name}-{_sources()}.ready"


@cache
def _sources() -> str:
    """A digest of the package's sources."""
    digest = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        digest.update(str(path.relative_to(PACKAGE)).encode())
        digest.update(_content(path))
    return digest.hexdigest()[:32]


def _content(path: Path) -> bytes:
    return hashlib.sha256(path.read_bytes()).digest()
