"""Processes that have numba from the start.

To import numba takes longer than nearly anything that these tests do. So one process imports it,
and nothing of Caddis, and gives birth to those that run a test's code: they differ from a process
of their own in nothing but the time that they take.

It reads a line for each: its code, its environment and the file that it prints into. When the code
has run, it says with what status.
"""

import json
import os
import sys
import traceback
from pathlib import Path

import numba


def live(code: str, environment: dict[str, str], output: str) -> int:
    """Run the code, and give the status that a process of its own would have."""
    os.environ.clear()
    os.environ.update(environment)
    sys.path[:0] = [environment["PYTHONPATH"]]
    with Path(output).open("w") as sys.stdout:
        try:
            exec(code, {"__name__": "__main__"})
        except BaseException:  # whatever it is, this process must not go on as its parent
            traceback.print_exc()
            return 1
    return 0


def have_numba_ready() -> None:
    """Have numba do what it does before it compiles anything."""
    numba.njit(lambda number: number + 1)(1)


if __name__ == "__main__":
    have_numba_ready()
    for line in sys.stdin:
        child = os.fork()
        if not child:
            os._exit(live(*json.loads(line)))
        sys.stdout.write(f"{os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])}\n")
        sys.stdout.flush()
