import sys

from numba.core.event import Event, Listener, register

from caddis.compiling.decorator import kernels
from caddis.compiling.needs import Need


class Narrator(Listener):
    """Prints how many kernels there are, and each that was compiled."""

    def on_start(self, event: Event) -> None:
        """Wait for the end."""

    def on_end(self, event: Event) -> None:
        """Say which kernel was compiled."""
        print(kernels(), event.data["dispatcher"].py_func.__qualname__, flush=True)  # noqa: T201


if __name__ == "__main__":
    room, *choice = sys.argv[1:]
    register("numba:compile", Narrator())
    Need(room, *choice).compile()
