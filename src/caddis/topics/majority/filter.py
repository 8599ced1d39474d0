"""Majority filters: which elements are in the sets of at least a share λ of all nodes.

Section 2 of "Local Building Blocks for a Scalable Pub/Sub Infrastructure" (Shraer et al.). Every
node puts its set into a Bloom filter, and the nodes vote on each bit: the bits that enough of them
have set are the filter of the popular elements. An element that is in enough sets has all its bits
set in enough filters, so it is never missed. An unpopular one may seem popular, as others share its
bits (see `false_positives`).

All nodes must set and read the same bits for an element, in every process and on every machine. So
its places come from a keyed hash (BLAKE2b, little-endian) and from nothing else; without the key
nobody can tell them. Each place is a slice of the digest of its own: filters here may be as small
as fifty bits, where places computed from two hashes would coincide too often.

A cascade sorts elements by several thresholds: the part of a node's set that its first filter lets
through is the input of its second, and so on. A change of an early filter's outcome changes later
inputs, never the other way round, so the filters settle one after the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from caddis.arrays import Bools, Int32s
from caddis.errors import TopicError
from caddis.topics.links import Attentive, Link, Sent
from caddis.topics.majority.sign_voter import (
    Signs,
    SignVoter,
    Threshold,
    as_threshold,
    majority_input,
)

Element = str | bytes
PLACES_IN_A_DIGEST = 8
"""A digest of BLAKE2b has 64 bytes, and a place takes 8 of them."""


@dataclass(frozen=True, slots=True)
class Hashing:
    """The places of elements among some bits; texts count as their UTF-8 bytes.

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
        """The places of each element, a row each."""
        # Little-endian numbers of 8 bytes each, on every machine.
        digests = [self._digest(element) for element in listed(elements)]
        places = np.frombuffer(b"".join(digests), "<u8")
        rows = places.reshape(len(digests), self._blocks * PLACES_IN_A_DIGEST)
        return (rows[:, : self.hashes] % np.uint64(self.bits)).astype(np.int32)

    @property
    def _blocks(self) -> int:
        """How many digests an element's places take."""
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
    """Elements as a list; a single text, which would be taken apart, is refused.

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
        """Whether each element may be in the set; False is certain."""
        return np.asarray(self.ones[self.hashing.positions_of(elements)].all(axis=1))

    def union(self, other: BloomFilter) -> BloomFilter:
        """The filter of all that is in either set.

        >>> west, east = BloomFilter(50, 3, elements=["jazz"]), BloomFilter(50, 3)
        >>> "jazz" in east.union(west)
        True
        """
        if self.hashing != other.hashing:
            raise TopicError("Bloom filters can be united if bits, hashes and key are the same")
        return self.with_ones(self.ones | other.ones)

    def with_ones(self, ones: Bools) -> BloomFilter:
        """A filter with the same places, and these bits set."""
        other = BloomFilter(self.hashing.bits, self.hashing.hashes, self.hashing.key)
        other.ones[:] = ones
        return other


class MajorityFilter(SignVoter):
    """A node's part in finding the elements that at least a share `threshold` of all nodes hold.

    The nodes hold one vote for each bit. All of them use the same bits, hashes, threshold and key.

    >>> west, east = MajorityFilter(64, 3, "0.6"), MajorityFilter(64, 3, "0.6")
    >>> _ = west.set_elements(["jazz", "blues"]), east.set_elements(["jazz"])
    >>> [(_, message)] = west.neighbour_joined("east")
    >>> [(_, answer)] = east.neighbour_joined("west")
    >>> west.handle("east", answer), east.handle("west", message)
    ([], [])
    >>> "jazz" in west, "blues" in west
    (True, False)
    """

    def __init__(self, bits: int, hashes: int, threshold: Threshold, key: bytes = b"") -> None:
        self.threshold = as_threshold(threshold)
        self.input = BloomFilter(bits, hashes, key)
        super().__init__(bits)

    @property
    def hashing(self) -> Hashing:
        return self.input.hashing

    @property
    def output(self) -> BloomFilter:
        """The popular elements, as far as this node knows."""
        return self.input.with_ones(self.signs)

    def popular(self, element: Element) -> bool:
        """Whether enough nodes seem to hold an element."""
        return element in self.output

    def __contains__(self, element: Element) -> bool:
        return self.popular(element)

    def set_elements(self, elements: Iterable[Element]) -> Sent:
        """Say which elements this node holds; it votes again on the bits that change."""
        return self.set_places(self.hashing.positions_of(elements))

    def set_places(self, places: Int32s) -> Sent:
        """Do the same for elements whose places are known."""
        ones = np.zeros(self.hashing.bits, np.bool_)
        ones[places] = True
        changed = np.flatnonzero((ones != self.input.ones) | ~self._open).astype(np.int32)
        self.input = self.input.with_ones(ones)
        return self.set_input(majority_input(ones[changed], self.threshold), changed)


class LevelSigns(NamedTuple):
    """A message between the filters of one level of a cascade."""

    level: int
    signs: Signs

    @property
    def votes(self) -> Int32s:
        return self.signs.votes

    @property
    def nbytes(self) -> int:
        return 1 + self.signs.nbytes


class MajorityCascade(Attentive):
    """A node's part in sorting elements by how many of some thresholds their support reaches.

    Each level hashes with a key of its own, so that elements which share bits at one level need
    not share them at the next.

    >>> node = MajorityCascade(["0.2", "0.6"], bits=64, hashes=3)
    >>> _ = node.set_elements(["jazz"])
    >>> node.level("jazz"), node.level("metal")
    (2, 0)
    """

    def __init__(
        self, thresholds: Sequence[Threshold], bits: int, hashes: int, key: bytes = b""
    ) -> None:
        steps = [as_threshold(threshold) for threshold in thresholds]
        if not steps or any(one >= other for one, other in pairwise(steps)):
            given = ", ".join(map(str, thresholds))
            raise TopicError(f"a cascade needs ascending thresholds, not [{given}]")
        self.filters = [
            MajorityFilter(bits, hashes, step, _level_key(key, level))
            for level, step in enumerate(steps)
        ]
        self._places: list[Int32s] | None = None
        """The places of this node's elements at each level, once it has said which it holds."""

    def level(self, element: Element) -> int:
        """How many thresholds an element's support seems to reach."""
        reached = 0
        while reached < len(self.filters) and element in self.filters[reached]:
            reached += 1
        return reached

    def set_elements(self, elements: Iterable[Element]) -> Sent:
        """Say which elements this node holds."""
        held = listed(elements)
        self._places = [one.hashing.positions_of(held) for one in self.filters]
        return self._pass_on()

    def neighbour_joined(self, link: Link, *, up: bool = False) -> Sent:
        """Vote with a neighbour from now on, at every level."""
        sent: Sent = []
        for level, one in enumerate(self.filters):
            sent += _labelled(level, one.neighbour_joined(link, up=up))
        return sent

    def neighbour_left(self, link: Link) -> Sent:
        """Vote without a neighbour; what it had brought may change what passes a level."""
        sent: Sent = []
        for level, one in enumerate(self.filters):
            sent += _labelled(level, one.neighbour_left(link))
        return sent + self._pass_on()

    def handle_all(self, heard: Sequence[tuple[Link, LevelSigns]]) -> Sent:
        """Take in what neighbours said at one time about bits of some levels, then answer."""
        for link, message in heard:
            self._check_level(link, message.level)
        sent: Sent = []
        for level, one in enumerate(self.filters):
            of_level = [(link, message.signs) for link, message in heard if message.level == level]
            if of_level:
                sent += _labelled(level, one.handle_all(of_level))
        return sent + self._pass_on()

    def _check_level(self, link: Link, level: int) -> None:
        if not 0 <= level < len(self.filters):
            raise TopicError(
                f"{link!r} votes on level {level}, and this node's last is {len(self.filters) - 1}:"
                " all nodes of a tree use the same thresholds"
            )

    def _pass_on(self) -> Sent:
        """Give each filter what the one before it lets through."""
        sent: Sent = []
        if self._places is None:
            return sent
        # An outcome changes only the inputs of later filters, so one pass in order is enough.
        alive: Bools = np.ones(len(self._places[0]), np.bool_)
        for level, (one, places) in enumerate(zip(self.filters, self._places, strict=True)):
            sent += _labelled(level, one.set_places(places[alive]))
            alive &= one.output.ones[places].all(axis=1)
        return sent


def _labelled(level: int, sent: Sent) -> Sent:
    return [(link, LevelSigns(level, signs)) for link, signs in sent]


def _level_key(key: bytes, level: int) -> bytes:
    return blake2b(level.to_bytes(4, "little"), key=key, person=b"caddis cascade").digest()
