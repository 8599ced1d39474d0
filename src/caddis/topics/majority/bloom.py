"""Bloom filters whose bits mean the same in every process, on every machine.

All nodes of a vote set and read the same bits for an element, so its places come from a keyed hash
(BLAKE2b, little-endian) and from nothing else; without the key nobody can tell them. Each place is
a slice of the digest of its own: filters here may be as small as fifty bits, where places computed
from two hashes would coincide too often.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from caddis.arrays import Bools, Int32s
from caddis.errors import TopicError

Element = str | bytes
PLACES_IN_A_DIGEST = 8


@dataclass(frozen=True, slots=True)
class Hashing:
    """Where elements stand among some bits; texts count as their UTF-8 bytes.

    >>> Hashing(bits=50, hashes=3).positions("jazz")
    array([30, 24, 48], dtype=int32)
    """

    bits: int
    hashes: int
    key: bytes = b""

    def __post_init__(self) -> None:
        if not (0 < self.bits < 1 << 31 and self.hashes > 0):
            raise TopicError(
                f"a Bloom filter needs a bit and a hash, not {self.bits} and {self.hashes}"
            )
        if len(self.key) > blake2b.MAX_KEY_SIZE:
            raise TopicError(
                f"a key has up to {blake2b.MAX_KEY_SIZE} bytes, not {len(self.key)}: hash it first"
            )

    def positions(self, element: Element) -> Int32s:
        """The places of an element; some may coincide."""
        return self.positions_of([element]).reshape(self.hashes)

    def positions_of(self, elements: Iterable[Element]) -> Int32s:
        """By element: its places."""
        digests = [self._digest(element) for element in listed(elements)]
        places = np.frombuffer(b"".join(digests), "<u8")
        rows = places.reshape(len(digests), self._blocks * PLACES_IN_A_DIGEST)
        return (rows[:, : self.hashes] % np.uint64(self.bits)).astype(np.int32)

    @property
    def _blocks(self) -> int:
        """The digests that an element's places take."""
        return -(-self.hashes // PLACES_IN_A_DIGEST)

    def _digest(self, element: Element) -> bytes:
        text = element.encode("utf-8", "surrogatepass") if isinstance(element, str) else element
        return b"".join(
            blake2b(
                text, key=self.key, salt=block.to_bytes(16, "little"), person=b"caddis bloom"
            ).digest()
            for block in range(self._blocks)
        )


def listed(elements: Iterable[Element]) -> list[Element]:
    """Many elements; a single one, which would be taken apart, is refused.

    >>> listed("jazz")
    Traceback (most recent call last):
    caddis.errors.TopicError: elements come as a list or a set, such as ['jazz'], not as 'jazz'
    """
    if isinstance(elements, str | bytes):
        raise TopicError(
            f"elements come as a list or a set, such as [{elements!r}], not as {elements!r}"
        )
    return list(elements)


class BloomFilter:
    """A set that may seem larger than it is, never smaller.

    >>> genres = BloomFilter(bits=50, hashes=3, elements=["jazz", "blues"])
    >>> "jazz" in genres, "metal" in genres
    (True, False)
    """

    def __init__(
        self, bits: int, hashes: int, key: bytes = b"", *, elements: Iterable[Element] = ()
    ) -> None:
        self.hashing = Hashing(bits, hashes, key)
        self.ones: Bools = np.zeros(bits, np.bool_)
        self.add(elements)

    def add(self, elements: Iterable[Element]) -> None:
        """Put elements in."""
        self.ones[self.hashing.positions_of(elements)] = True

    def __contains__(self, element: Element) -> bool:
        return bool(self.contains([element])[0])

    def contains(self, elements: Iterable[Element]) -> Bools:
        """By element: whether it may be in; False is sure."""
        return np.asarray(self.ones[self.hashing.positions_of(elements)].all(axis=1))

    def union(self, other: BloomFilter) -> BloomFilter:
        """The filter of what is in either.

        >>> west, east = BloomFilter(50, 3, elements=["jazz"]), BloomFilter(50, 3)
        >>> "jazz" in east.union(west)
        True
        """
        if self.hashing != other.hashing:
            raise TopicError("Bloom filters unite if bits, hashes and key are the same")
        return self.with_ones(self.ones | other.ones)

    def with_ones(self, ones: Bools) -> BloomFilter:
        """A filter with the same places, and these bits set."""
        other = BloomFilter(self.hashing.bits, self.hashing.hashes, self.hashing.key)
        other.ones[:] = ones
        return other
