"""How many times a randomised test repeats itself.

`make test` is short. `make test-long` sets CADDIS_TEST_LONG=1 and repeats each of them as often as
it takes to find what is rare.
"""

import os

LONG = os.environ.get("CADDIS_TEST_LONG") == "1"


def times(few: int, many: int) -> int:
    """How often to repeat: `few` times in `make test`, `many` times in `make test-long`."""
    return many if LONG else few


def seeds(few: int, many: int) -> range:
    """The seeds of a test that is repeated with random input."""
    return range(times(few, many))
