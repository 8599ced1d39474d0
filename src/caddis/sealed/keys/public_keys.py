"""Public keys that are worth nothing: points of small order, which anybody can make up.

Under an Ed25519 key of small order a made-up signature may fit whatever was signed, and with an
X25519 key of small order everybody agrees on the same secret, zero. Honest keys are never such.

An Ed25519 key is the y of a point, little-endian, and the sign of its x. Eight points of the curve
have an order that divides 8; their ys are 0, 1, -1, and two more that differ in their sign. A y may
be written in two ways if it is below 19, so it is taken modulo the prime.
"""

from __future__ import annotations

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

PRIME = 2**255 - 19
OF_ORDER_8 = 0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826
SMALL_ORDER = frozenset({0, 1, PRIME - 1, OF_ORDER_8, PRIME - OF_ORDER_8})
ANY_KEY = X25519PrivateKey.from_private_bytes(bytes(32))


def is_weak_verifying_key(key: bytes) -> bool:
    """Whether an Ed25519 key has small order.

    >>> is_weak_verifying_key(bytes(32))
    True
    """
    return int.from_bytes(key, "little") % 2**255 % PRIME in SMALL_ORDER


def is_weak_receiving_key(key: bytes) -> bool:
    """Whether an X25519 key has small order: then all private keys agree with it on zero.

    >>> is_weak_receiving_key(bytes(32))
    True
    """
    try:
        ANY_KEY.exchange(X25519PublicKey.from_public_bytes(key))
    except ValueError:
        return True
    return False
