"""Kernels are compiled by processes of their own, side by side, while others work.

A process is this Python again, with `-m caddis.compiling`: it imports nothing of the program that
asks for it. Whoever asks for what is being compiled already waits for the same process.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from threading import BoundedSemaphore, Lock, Thread

from caddis.compiling.cache import chosen_folder
from caddis.compiling.folders import PACKAGE
from caddis.compiling.needs import Need
from caddis.compiling.targets import PORTABLE_SETTINGS

logger = logging.getLogger(__name__)

Progress = Callable[[int, int], None]
"""Called with how many kernels have been compiled, and about how many there are."""

SEATS = BoundedSemaphore(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2)
"""No more processes compile at a time than there are cores."""
LOOK_EVERY = 0.1


class Compiler(Thread):
    """One process that compiles what one room needs, and the thread that listens to it.

    It says how many kernels there are, and then each that it has compiled, a line each.
    """

    def __init__(self, need: Need, *, portable: bool) -> None:
        super().__init__(name=f"caddis-compiling-{need.name}", daemon=True)
        self.need, self.portable = need, portable
        self.compiled = self.kernels = 0
        self._stopped = False
        self._process: subprocess.Popen[str] | None = None

    def run(self) -> None:
        """Start the process when a core is free, and listen until it ends."""
        with SEATS:
            if self._stopped:
                return
            began = time.monotonic()
            try:
                code = self._listen()
            except OSError as error:
                logger.debug("no process could be started: %s", error)
                code = None
            self._report(code, time.monotonic() - began)

    def stop(self) -> None:
        """End the process; what it has compiled stays compiled."""
        self._stopped = True
        if self._process is not None:
            self._process.terminate()

    def _listen(self) -> int:
        with _started(self.need, portable=self.portable) as self._process:
            for line in self._process.stdout or ():
                self._hear(line)
        return self._process.returncode

    def _hear(self, line: str) -> None:
        kernels, _, compiled = line.strip().partition(" ")
        self.kernels = int(kernels)
        self.compiled += bool(compiled)

    def _report(self, code: int | None, seconds: float) -> None:
        if code == 0:
            logger.info("compiled the kernels of %s in %.1f s", self.need.name, seconds)
        elif not self._stopped:
            logger.warning(
                "the kernels of %s could not be compiled beforehand; each process compiles those "
                "that it calls (python -m caddis.compiling %s shows why)",
                self.need.name,
                " ".join(self.need.arguments),
            )


class Compilation:
    """The kernels that were missing when it began; they are compiled in the background."""

    def __init__(self, compilers: Sequence[Compiler]) -> None:
        self._compilers = compilers

    @property
    def needs(self) -> tuple[Need, ...]:
        """What is still being compiled."""
        return tuple(one.need for one in self._compilers if one.is_alive())

    @property
    def compiled(self) -> int:
        """How many kernels have been compiled so far."""
        return sum(one.compiled for one in self._compilers)

    @property
    def failed(self) -> tuple[Need, ...]:
        """What could not be compiled, as known when all has ended."""
        return tuple(
            one.need for one in self._compilers if not one.need.is_met(portable=one.portable)
        )

    def wait(self, progress: Progress | None = None) -> None:
        """Wait until all is compiled."""
        for one in self._compilers:
            while one.is_alive():
                one.join(LOOK_EVERY)
                if progress is not None:
                    progress(self.compiled, sum(some.kernels for some in self._compilers))

    def stop(self) -> None:
        """End it, done or not."""
        for one in self._compilers:
            one.stop()


_compilers: dict[tuple[Need, bool], Compiler] = {}
_lock = Lock()


def start_compiling(*needs: Need, portable: bool = False) -> Compilation:
    """Begin to compile what has not been compiled on this machine.

    portable: compile for nearly all processors rather than for this one.
    """
    if chosen_folder() is None or not sys.executable:  # what others compile would be lost
        return Compilation(())
    missing = [need for need in dict.fromkeys(needs) if not need.is_met(portable=portable)]
    return Compilation([_compiler(need, portable=portable) for need in missing])


def prepare(*needs: Need) -> None:
    """Compile what has not been compiled on this machine, and wait until that is done.

    Called before worker processes start, so that they find the compiled kernels on disk instead
    of each compiling their own.
    """
    compilation = start_compiling(*needs)
    if compilation.needs:
        logger.info("compiling kernels: %s", ", ".join(need.name for need in compilation.needs))
    try:
        compilation.wait()
    except BaseException:
        compilation.stop()
        raise


def _compiler(need: Need, *, portable: bool) -> Compiler:
    """The one that compiles this already, or a new one."""
    with _lock:
        known = _compilers.get((need, portable))
        if known is not None and known.is_alive():
            return known
        _compilers[need, portable] = compiler = Compiler(need, portable=portable)
        compiler.start()
        return compiler


def _started(need: Need, *, portable: bool) -> subprocess.Popen[str]:
    processor = PORTABLE_SETTINGS if portable else {}
    path = [str(PACKAGE.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    return subprocess.Popen(
        [sys.executable, "-m", "caddis.compiling", *need.arguments],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(path)} | processor,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
