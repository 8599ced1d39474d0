"""Key material on its way to one party: RFC 9180 (HPKE), as `cryptography` has it.

X25519 agrees on a secret with the recipient's public key, HKDF-SHA256 makes a key of it, and
AES-256-GCM seals. What the material is for is bound to it: a package that is passed off as one for
another topic, epoch, role or recipient does not open.
"""

from __future__ import annotations

from dataclasses import dataclass

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

from caddis.errors import AccessError
from caddis.sealed.keys.entitlements import Role
from caddis.sealed.keys.secrets import framed

SUITE = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_256_GCM)


@dataclass(frozen=True, slots=True)
class Purpose:
    """Whose keys a package holds, and for what."""

    topic: str
    epoch: int
    role: Role
    recipient: str

    def as_bytes(self) -> bytes:
        """One string of bytes for each purpose, and none for two."""
        parts = self.topic, str(self.epoch), self.role, self.recipient
        return b"caddis package 1" + b"".join(framed(part.encode()) for part in parts)


def wrapped(material: bytes, receiving: bytes, purpose: Purpose) -> bytes:
    """Key material that only the owner of this public X25519 key can unwrap."""
    try:
        key = X25519PublicKey.from_public_bytes(receiving)
        return SUITE.encrypt(material, key, info=purpose.as_bytes())
    except ValueError:
        raise AccessError(
            f"nothing can be wrapped to {purpose.recipient!r}: its key is no X25519 key"
        ) from None


def unwrapped(package: bytes, receiving: X25519PrivateKey, purpose: Purpose) -> bytes:
    """The key material again."""
    try:
        return SUITE.decrypt(package, receiving, info=purpose.as_bytes())
    except (InvalidTag, ValueError):
        raise AccessError(
            f"the package of {purpose.topic!r}, epoch {purpose.epoch}, does not open with the keys "
            f"of {purpose.recipient!r}: it was wrapped to other keys, or changed"
        ) from None
