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
from typing import ClassVar, TypeVar

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from caddis.arrays import Bytes, Int32s
from caddis.sealed.design import MOST_HASHES, StreamDesign

SECRET_BYTES = 32
DIGEST_BYTES = 64

Randomness = Callable[[int], bytes]
"""Gives as many random bytes as it is asked for, which nobody can guess: os.urandom."""


def derived(secret: bytes, *labels: str | int) -> bytes:
    """Another secret of SECRET_BYTES, for the purpose that the labels name."""
    info = b"caddis" + b"".join(framed(str(label).encode()) for label in labels)
    return HKDF(algorithm=SHA256(), length=SECRET_BYTES, salt=None, info=info).derive(secret)


def framed(part: bytes) -> bytes:
    """A part behind its length, so that parts that are joined can be told apart again."""
    return len(part).to_bytes(4, "little") + part


Key = TypeVar("Key", bound="EpochKey")


@dataclass(frozen=True, slots=True)
class EpochKey:
    """A key of one stream in one epoch, derived from the stream's secret."""

    label: ClassVar[str]
    """What sets this kind of key apart from the others of the same epoch."""

    stream: str
    epoch: int
    secret: bytes = field(repr=False)

    @classmethod
    def of(cls: type[Key], stream_secret: bytes, stream: str, epoch: int) -> Key:
        """Derive the key of a stream in an epoch."""
        return cls(stream, epoch, derived(stream_secret, cls.label, stream, epoch))


class MatchingKey(EpochKey):
    """Seals what brokers compare; the same values under another key have nothing in common."""

    __slots__ = ()
    label = "matching"

    @property
    def transform_secret(self) -> bytes:
        """The secret from which the matrix of an epoch is drawn."""
        return derived(self.secret, "transform")

    def hashing(self) -> KeyedHashing:
        """What hashes the values of columns under this key."""
        return KeyedHashing(derived(self.secret, "hashing"))


class ContentKey(EpochKey):
    """Opens the payloads of a stream in an epoch."""

    __slots__ = ()
    label = "content"

    def sealing_key(self, publisher: str) -> SealingKey:
        """The key that this publisher seals with."""
        secret = derived(self.secret, "publisher", publisher)
        return SealingKey(self.stream, self.epoch, publisher, secret)


@dataclass(frozen=True, slots=True)
class SealingKey:
    """Seals the payloads of one publisher: an AES-256 key."""

    stream: str
    epoch: int
    publisher: str
    secret: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class SubscriberKeys:
    """All that a subscriber needs to seal subscriptions to a stream in an epoch, and to open it.

    name: the subscriber's.
    """

    name: str
    design: StreamDesign
    matching: MatchingKey
    content: ContentKey


@dataclass(frozen=True, slots=True)
class PublisherKeys:
    """All that a publisher needs to seal events of a stream in an epoch.

    name: the publisher's.
    signing: the private key of its identity.
    """

    name: str
    design: StreamDesign
    matching: MatchingKey
    sealing: SealingKey
    signing: Ed25519PrivateKey = field(repr=False)


class KeyedHashing:
    """HMAC-SHA-512 of (column, value) pairs. One digest serves all that is made of a value:

    bytes 0-8     the token
    bytes 8-10    the cell, which is the value's coordinate
    bytes 16-64   the places in a Bloom filter, four bytes each

    None of the parts tells anything about the others, so a broker that sees tokens learns no cells.
    """

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def values(self, path: tuple[str, ...], keys: Iterable[bytes]) -> Bytes:
        """The digest of each value of a column, a row each; path: the column's."""
        start = b"value" + _path(path)
        return self._digests(start + framed(key) for key in keys)

    def presence(self, path: tuple[str, ...]) -> Bytes:
        """The digest of "this column is not null", as one row."""
        return self._digests([b"known" + _path(path)])

    def _digests(self, messages: Iterable[bytes]) -> Bytes:
        secret = self._secret
        joined = b"".join(hmac.digest(secret, message, "sha512") for message in messages)
        return np.frombuffer(joined, np.uint8).reshape(-1, DIGEST_BYTES)


def tokens_of(digests: Bytes) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """The token in each digest."""
    return np.ascontiguousarray(digests[:, :8]).view("<u8").reshape(-1)


def cells_of(digests: Bytes) -> Int32s:
    """The cell in each digest, from 0 to 65,535."""
    return np.ascontiguousarray(digests[:, 8:10]).view("<u2").reshape(-1).astype(np.int32)


def places_of(digests: Bytes, bits: int, hashes: int) -> Int32s:
    """The places in a Bloom filter of each digest, a row each; some may coincide."""
    assert hashes <= MOST_HASHES
    words = np.ascontiguousarray(digests[:, 16:]).view("<u4")[:, :hashes]
    return (words % np.uint32(bits)).astype(np.int32)


def _path(path: tuple[str, ...]) -> bytes:
    return framed(b"".join(framed(part.encode()) for part in path))


# -- public keys that are worth nothing: points of small order, which anybody can make up

# An Ed25519 key is the y of a point, little-endian, and the sign of its x. Eight points of the
# curve have an order that divides 8; their ys are 0, 1, -1, and two more that differ in their sign.
# A y below 19 may be written in two ways, so it is taken modulo the prime.
PRIME = 2**255 - 19
OF_ORDER_8 = 0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826
SMALL_ORDER = frozenset({0, 1, PRIME - 1, OF_ORDER_8, PRIME - OF_ORDER_8})
ANY_KEY = X25519PrivateKey.from_private_bytes(bytes(32))


def is_weak_verifying_key(key: bytes) -> bool:
    """Whether an Ed25519 key has small order: a made-up signature may then fit anything.

    >>> is_weak_verifying_key(bytes(32))
    True
    """
    return int.from_bytes(key, "little") % 2**255 % PRIME in SMALL_ORDER


def is_weak_receiving_key(key: bytes) -> bool:
    """Whether an X25519 key has small order: all private keys then agree with it on zero.

    >>> is_weak_receiving_key(bytes(32))
    True
    """
    try:
        ANY_KEY.exchange(X25519PublicKey.from_public_bytes(key))
    except ValueError:
        return True
    return False
