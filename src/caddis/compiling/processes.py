"""Compiles kernels in separate processes, side by side, while this one goes on.

A process is this Python again, with `-m caddis.compiling`: it imports nothing of the program that
asks for it. As many as there are cores take the parts of what is needed one after the other, in the
order in which they were asked for. Whoever asks for what is being compiled already waits for it.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from threading import BoundedSemaphore, Event, Lock, Thread

from caddis.compiling.cache import chosen_folder
from caddis.compiling.folders import PACKAGE
from caddis.compiling.needs import Need, Part
from caddis.compiling.targets import PORTABLE_SETTINGS

logger = logging.getLogger(__name__)

Progress = Callable[[int, int], None]
"""Called with the number of kernels compiled so far, and about how many there are in all."""

SEATS = BoundedSemaphore(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2)
"""At most one process for each core compiles at a time."""
LOOK_EVERY = 0.1
DONE = "done"
"""What a process says when it has compiled a part."""


class Task:
    """A part that is to be compiled, and how far that is."""

    def __init__(self, part: Part, *, portable: bool) -> None:
        self.part, self.portable = part, portable
        self.compiled = self.kernels = 0
        self.ended, self.is_stopped = Event(), False
        self.process: Process | None = None

    def stop(self) -> None:
        """Do without it; what has been compiled stays compiled."""
        self.is_stopped = True
        if self.process is not None:
            self.process.end()

    def hear(self, line: str) -> None:
        """Note which kernel a process has compiled, and how many there are."""
        kernels, _, compiled = line.partition(" ")
        self.kernels = int(kernels)
        self.compiled += bool(compiled)


class Process:
    """A process that compiles one part after the other.

    It says how many kernels there are and which it has compiled, a line for each, and at last DONE.
    """

    def __init__(self, *, portable: bool) -> None:
        self.portable = portable
        self._running = _started(portable=portable)

    def compile(self, task: Task) -> bool:
        """Compile a part; gives whether that worked, for otherwise the process has ended."""
        told, heard = self._running.stdin, self._running.stdout
        assert told is not None
        assert heard is not None
        with suppress(BrokenPipeError):
            told.write(" ".join([task.part.room, *task.part.words]) + "\n")
            told.flush()
        for line in map(str.strip, heard):
            if line == DONE:
                return True
            task.hear(line)
        return False

    def end(self) -> None:
        """End it, whatever it does."""
        self._running.terminate()

    def close(self) -> None:
        """Let it end, and wait for that."""
        self._running.communicate()


class Compiler(Thread):
    """Has parts compiled as long as some are waiting, by one process at a time."""

    def __init__(self) -> None:
        super().__init__(name="caddis-compiling", daemon=True)
        self._process: Process | None = None

    def run(self) -> None:
        """Start a process when a core is free, and keep it until nothing is waiting."""
        with SEATS:
            while (task := _next()) is not None:
                try:
                    if not task.is_stopped:
                        self._compile(task)
                finally:
                    task.ended.set()
            self._close()

    def _compile(self, task: Task) -> None:
        began = time.monotonic()
        try:
            task.process = self._process_for(task)
            worked = not task.is_stopped and task.process.compile(task)
        except OSError as error:
            logger.debug("no process could be started: %s", error)
            worked = False
        task.process = None
        if worked:
            seconds = time.monotonic() - began
            logger.info("compiled the kernels of %s in %.1f s", task.part.name, seconds)
            return
        self._close()
        if not task.is_stopped:
            logger.warning(
                "the kernels of %s could not be compiled beforehand; each process compiles those "
                "that it calls (python -m caddis.compiling %s shows why)",
                task.part.name,
                " ".join([task.part.room, *task.part.words]),
            )

    def _process_for(self, task: Task) -> Process:
        """The process that there is, if it compiles for such processors, or a new one."""
        if self._process is not None and self._process.portable != task.portable:
            self._close()
        if self._process is None:
            self._process = Process(portable=task.portable)
        return self._process

    def _close(self) -> None:
        if self._process is not None:
            self._process.close()
        self._process = None


class Compilation:
    """Kernels that were missing, and are being compiled in the background."""

    def __init__(self, tasks: Mapping[Need, Sequence[Task]]) -> None:
        self._tasks = tasks

    @property
    def needs(self) -> tuple[Need, ...]:
        """What is still being compiled."""
        return tuple(
            need
            for need, tasks in self._tasks.items()
            if not all(task.ended.is_set() for task in tasks)
        )

    @property
    def compiled(self) -> int:
        """How many kernels have been compiled so far."""
        return sum(task.compiled for task in self._all())

    @property
    def failed(self) -> tuple[Need, ...]:
        """The needs that could not be compiled; known once all processes have ended."""
        return tuple(
            need
            for need, tasks in self._tasks.items()
            if not all(task.part.is_met(portable=task.portable) for task in tasks)
        )

    def wait(self, progress: Progress | None = None) -> None:
        """Wait until all is compiled."""
        for task in self._all():
            ended = False
            while not ended:
                ended = task.ended.wait(LOOK_EVERY)
                if progress is not None:
                    progress(self.compiled, max(some.kernels for some in self._all()))

    def stop(self) -> None:
        """End it, done or not."""
        for task in self._all():
            task.stop()

    def _all(self) -> Iterator[Task]:
        for tasks in self._tasks.values():
            yield from tasks


_tasks: dict[tuple[Part, bool], Task] = {}
_waiting: deque[Task] = deque()
_lock = Lock()


def start_compiling(*needs: Need, portable: bool = False) -> Compilation:
    """Begin to compile the kernels that this machine has not compiled yet.

    portable: compile for nearly all processors rather than for this one.
    """
    if chosen_folder() is None or not sys.executable:  # what others compile would be lost
        return Compilation({})
    missing = {
        need: [
            _task(part, portable=portable)
            for part in need.parts
            if not part.is_met(portable=portable)
        ]
        for need in needs
    }
    return Compilation({need: tasks for need, tasks in missing.items() if tasks})


def prepare(*needs: Need) -> None:
    """Compile the kernels that this machine has not compiled yet, and wait for them.

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


def _task(part: Part, *, portable: bool) -> Task:
    """The one that is to compile this already, or a new one."""
    with _lock:
        known = _tasks.get((part, portable))
        if known is not None and not (known.ended.is_set() or known.is_stopped):
            return known
        _tasks[part, portable] = task = Task(part, portable=portable)
        _waiting.append(task)
    # One that finds nothing left to do when it gets a seat starts no process.
    Compiler().start()
    return task


def _next() -> Task | None:
    """The part whose turn it is, if any is waiting."""
    with _lock:
        return _waiting.popleft() if _waiting else None


def _started(*, portable: bool) -> subprocess.Popen[str]:
    processor = PORTABLE_SETTINGS if portable else {}
    path = [str(PACKAGE.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    return subprocess.Popen(
        [sys.executable, "-m", "caddis.compiling"],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(path)} | processor,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
