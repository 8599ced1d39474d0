"""The arithmetic of Bloom filters: how large one must be, and how often it errs.

A filter of m bits that holds n elements, each with k places, has a given bit set with probability
p = 1 - exp(-kn/m); an element that is not in it seems to be with probability p^k.
"""

from __future__ import annotations

from math import ceil, exp, log, log2

from caddis.errors import FilterError


def false_positive_rate(elements: float, bits: int, hashes: int) -> float:
    """The share of elements that a filter seems to hold though they are not among its `elements`.

    >>> round(false_positive_rate(1000, *size_for(1000, 0.01)), 4)
    0.01
    """
    return float((1 - exp(-hashes * elements / bits)) ** hashes)


def size_for(elements: int, rate: float, *, most_hashes: int | None = None) -> tuple[int, int]:
    """The bits and hashes of the smallest filter whose false-positive rate is at most this.

    most_hashes: a limit; if the best number is above it, the filter is larger instead.

    >>> size_for(1000, 0.01), size_for(1000, 0.01, most_hashes=3)
    ((9593, 7), (12365, 3))
    """
    if elements < 1 or not 0 < rate < 1:
        raise FilterError(
            f"a rate above 0 and below 1 for at least one element, not {rate} for {elements}"
        )
    best = log2(1 / rate)
    near = {max(1, int(best)), int(best) + 1}
    allowed = near if most_hashes is None else {min(hashes, most_hashes) for hashes in near}
    return min(
        (ceil(-hashes * elements / log(1 - rate ** (1 / hashes))), hashes) for hashes in allowed
    )
