"""The keys of a stream and epoch, and what is derived from them.

    the stream's secret, the authority's alone
      ├── MatchingKey(epoch)      publishers and subscribers: filters, tokens, points
      └── ContentKey(epoch)       subscribers: opens every publisher's payloads
            └── SealingKey        one publisher: seals its own

Each is HKDF-SHA256 of the one above it, so that none leads back, nor to another epoch or stream. A
secret never shows itself: its `repr` names what it is for.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from caddis.arrays import Bytes, Int32s
from caddis.sealed.design import MOST_HASHES, StreamDesign

SECRET_BYTES = 32
DIGEST_BYTES = 64

Randomness = Callable[[int], bytes]
"""So many random bytes that nobody can guess, such as os.urandom."""


def derived(secret: bytes, *labels: str | int) -> bytes:
    """Another secret of SECRET_BYTES for what the labels say."""
    info = b"caddis" + b"".join(framed(str(label).encode()) for label in labels)
    return HKDF(algorithm=SHA256(), length=SECRET_BYTES, salt=None, info=info).derive(secret)


def framed(part: bytes) -> bytes:
    """A part behind its length, so that parts put together can be told apart."""
    return len(part).to_bytes(4, "little") + part


@dataclass(frozen=True, slots=True)
class MatchingKey:
    """Seals what brokers compare; the same values under another key have nothing in common."""

    stream: str
    epoch: int
    secret: bytes = field(repr=False)

    @classmethod
    def of(cls, stream_secret: bytes, stream: str, epoch: int) -> MatchingKey:
        """A stream's, in an epoch."""
        return cls(stream, epoch, derived(stream_secret, "matching", stream, epoch))

    @property
    def transform_secret(self) -> bytes:
        """From which the matrix of an epoch is drawn."""
        return derived(self.secret, "transform")

    def hashing(self) -> KeyedHashing:
        """Hashes values of columns."""
        return KeyedHashing(derived(self.secret, "hashing"))


@dataclass(frozen=True, slots=True)
class SealingKey:
    """Seals the payloads of one publisher: an AES-256 key."""

    stream: str
    epoch: int
    publisher: str
    secret: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class ContentKey:
    """Opens the payloads of a stream in an epoch."""

    stream: str
    epoch: int
    secret: bytes = field(repr=False)

    @classmethod
    def of(cls, stream_secret: bytes, stream: str, epoch: int) -> ContentKey:
        """A stream's, in an epoch."""
        return cls(stream, epoch, derived(stream_secret, "content", stream, epoch))

    def sealing_key(self, publisher: str) -> SealingKey:
        """The key that this publisher seals with."""
        secret = derived(self.secret, "publisher", publisher)
        return SealingKey(self.stream, self.epoch, publisher, secret)


@dataclass(frozen=True, slots=True)
class PublisherKeys:
    """All that one publisher needs to seal events of a stream in an epoch."""

    name: str
    design: StreamDesign
    matching: MatchingKey
    sealing: SealingKey
    signing: Ed25519PrivateKey = field(repr=False)


@dataclass(frozen=True, slots=True)
class SubscriberKeys:
    """All that a subscriber needs to seal subscriptions of a stream in an epoch, and to open."""

    name: str
    design: StreamDesign
    matching: MatchingKey
    content: ContentKey


class KeyedHashing:
    """HMAC-SHA-512 of (column, value) pairs; of one digest, the parts are

    bytes 0-8     the token
    bytes 8-10    the cell, which is the value's coordinate
    bytes 16-64   the places in a Bloom filter, four bytes each
    """

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def values(self, path: tuple[str, ...], keys: Iterable[bytes]) -> Bytes:
        """By value of a column: its digest, a row."""
        start = b"value" + _path(path)
        return self._digests(start + framed(key) for key in keys)

    def presence(self, path: tuple[str, ...]) -> Bytes:
        """The digest of "this column is not null", one row."""
        return self._digests([b"known" + _path(path)])

    def _digests(self, messages: Iterable[bytes]) -> Bytes:
        secret = self._secret
        joined = b"".join(hmac.digest(secret, message, "sha512") for message in messages)
        return np.frombuffer(joined, np.uint8).reshape(-1, DIGEST_BYTES)


def tokens_of(digests: Bytes) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """By digest: its token."""
    return np.ascontiguousarray(digests[:, :8]).view("<u8").reshape(-1)


def cells_of(digests: Bytes) -> Int32s:
    """By digest: its cell, from 0 to 65,535."""
    return np.ascontiguousarray(digests[:, 8:10]).view("<u2").reshape(-1).astype(np.int32)


def places_of(digests: Bytes, bits: int, hashes: int) -> Int32s:
    """By digest: its places in a Bloom filter; some may coincide."""
    assert hashes <= MOST_HASHES
    words = np.ascontiguousarray(digests[:, 16:]).view("<u4")[:, :hashes]
    return (words % np.uint32(bits)).astype(np.int32)


def _path(path: tuple[str, ...]) -> bytes:
    return framed(b"".join(framed(part.encode()) for part in path))
