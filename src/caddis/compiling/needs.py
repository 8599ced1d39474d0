"""Which kernels a room needs, and whether this machine has compiled them.

A room's door has a function `warm_up` that calls its kernels on something small, or only a share of
them, so that processes can compile the shares side by side. Once it has run, a mark beside the
compiled kernels says so, under a digest of all of the package's sources: as long as none of them
changes, nobody has to import anything to know that nothing is to be done.
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
class Part:
    """Some of a room's kernels, which one process compiles.

    words: what the room's `warm_up` is given, so that it calls these kernels.
    """

    room: str
    words: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What is compiled, in a few words.

        >>> Part("caddis.matching").name, Part("caddis.ordering", ("emec", "split")).name
        ('matching', 'ordering-emec-split')
        """
        return "-".join([self.room.partition(".")[2], *self.words])

    def compile(self) -> None:
        """Compile the kernels in this process, and note that it is done."""
        import_module(self.room).warm_up(*self.words)
        mark(self._mark())

    def is_met(self, *, portable: bool = False) -> bool:
        """Whether all of its kernels are compiled.

        portable: for nearly all processors, rather than in any way that runs on this one.
        """
        return marked(self._mark(), [portable_target()] if portable else usable_targets())

    def _mark(self) -> str:
        return f"{self.name}-{_sources()}.ready"


@dataclass(frozen=True, slots=True)
class Need:
    """The kernels of one room.

    room: the package whose `warm_up` calls them.
    choice: what `warm_up` is given first, if not all of the room's kernels are needed.
    shares: what it is given next, each for a share of the kernels that can be compiled beside the
        others; those that take longest come first.
    """

    room: str
    choice: str = ""
    shares: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What is needed, in a word or two.

        >>> Need("caddis.matching").name, Need("caddis.ordering", "emec").name
        ('matching', 'ordering-emec')
        """
        return Part(self.room, self._choice).name

    @property
    def parts(self) -> tuple[Part, ...]:
        """What is compiled side by side."""
        if not self.shares:
            return (Part(self.room, self._choice),)
        return tuple(Part(self.room, (*self._choice, share)) for share in self.shares)

    def compile(self) -> None:
        """Compile the kernels in this process, and note that it is done."""
        for part in self.parts:
            part.compile()

    def is_met(self, *, portable: bool = False) -> bool:
        """Whether all has been compiled, so that nothing is left to do.

        portable: for nearly all processors, rather than in any way that runs on this one.
        """
        return all(part.is_met(portable=portable) for part in self.parts)

    @property
    def _choice(self) -> tuple[str, ...]:
        return (self.choice,) if self.choice else ()


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
