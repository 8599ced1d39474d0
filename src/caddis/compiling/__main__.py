"""Compiles what the arguments name, or else whatever the lines of its input name.

    python -m caddis.compiling [ROOM [WORD]...]

To import a room takes a process as long as to compile a few kernels, so one goes on with the next
line when it is done with the last.
"""

import sys

from numba.core.event import Event, Listener, register

from caddis.compiling.decorator import kernels
from caddis.compiling.needs import Part
from caddis.compiling.processes import DONE


class Narrator(Listener):
    """Prints how many kernels there are, and the name of each when it is compiled."""

    def on_start(self, event: Event) -> None:
        """Do nothing: only the end is of interest."""

    def on_end(self, event: Event) -> None:
        """Say which kernel was compiled."""
        print(kernels(), event.data["dispatcher"].py_func.__qualname__, flush=True)  # noqa: T201


if __name__ == "__main__":
    register("numba:compile", Narrator())
    for line in [sys.argv[1:]] if len(sys.argv) > 1 else map(str.split, sys.stdin):
        Part(line[0], tuple(line[1:])).compile()
        print(DONE, flush=True)  # noqa: T201
