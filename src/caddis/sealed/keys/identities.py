"""Who someone is: a name, a key to sign with (Ed25519) and one to receive keys with (X25519).

The private half never leaves its owner. The public half is signed with its own key, so that damage
is noticed. Whether it belongs to the name, people find out by comparing fingerprints.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from caddis.errors import KeyFileError
from caddis.sealed.keys.documents import (
    KEY_BYTES,
    Json,
    base64_text,
    checked_name,
    document,
    fingerprint,
    opened_document,
    read_public,
    read_secret,
    sealed_document,
    signed_document,
    verified_document,
    write_public,
    write_secret,
)
from caddis.sealed.keys.secrets import Randomness, is_weak_receiving_key, is_weak_verifying_key

IDENTITY = "identity"
PUBLIC_IDENTITY = "public identity"


@dataclass(frozen=True, slots=True)
class PublicIdentity:
    """What everybody may know of a party.

    verifying: the Ed25519 key with which its signatures are checked.
    receiving: the X25519 key to which keys are wrapped.
    signature: the party's own, over its name and both keys.
    """

    name: str
    verifying: bytes
    receiving: bytes
    signature: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if is_weak_verifying_key(self.verifying) or is_weak_receiving_key(self.receiving):
            raise KeyFileError(
                f"nobody may trust the public keys of {self.name!r}: they are of small order"
            )

    @property
    def fingerprint(self) -> str:
        """A short name for both keys."""
        return fingerprint(self.verifying, self.receiving)

    def as_json(self) -> Json:
        """Plain values, from which `from_json` makes the same public identity."""
        content = _public_content(self.name, self.receiving)
        return sealed_document(PUBLIC_IDENTITY, content, self.verifying, self.signature)

    @classmethod
    def from_json(cls, plain: object) -> PublicIdentity:
        """The public identity that `as_json` gave, if its signature fits."""
        content, verifying, signature = verified_document(PUBLIC_IDENTITY, plain)
        name = checked_name(content.text("name"))
        return cls(name, verifying, content.data("receiving", KEY_BYTES), signature)

    @classmethod
    def read(cls, path: Path) -> PublicIdentity:
        """The public identity in a file."""
        return read_public(path, cls.from_json)

    def write(self, path: Path, *, replace: bool = False) -> None:
        """Write it into a file that everybody may read."""
        write_public(path, self.as_json(), replace=replace)


@dataclass(frozen=True, slots=True)
class Identity:
    """A party's name and private keys; `public` is what others may know.

    >>> import os
    >>> Identity.new("ann", os.urandom)
    Identity(name='ann')
    """

    name: str
    signing: Ed25519PrivateKey = field(repr=False)
    receiving: X25519PrivateKey = field(repr=False)

    @classmethod
    def new(cls, name: str, randomness: Randomness) -> Identity:
        """An identity with new keys."""
        signing = Ed25519PrivateKey.from_private_bytes(randomness(KEY_BYTES))
        receiving = X25519PrivateKey.from_private_bytes(randomness(KEY_BYTES))
        return cls(checked_name(name), signing, receiving)

    @property
    def public(self) -> PublicIdentity:
        """The half that others may know."""
        receiving = self.receiving.public_key().public_bytes_raw()
        content = _public_content(self.name, receiving)
        plain = signed_document(PUBLIC_IDENTITY, content, self.signing)
        return PublicIdentity.from_json(plain)

    def as_json(self) -> Json:
        """Plain values, secrets among them, from which `from_json` makes the same identity."""
        content: Json = {
            "name": self.name,
            "signing": base64_text(self.signing.private_bytes_raw()),
            "receiving": base64_text(self.receiving.private_bytes_raw()),
        }
        return document(IDENTITY, content)

    @classmethod
    def from_json(cls, plain: object) -> Identity:
        """The identity that `as_json` gave."""
        if isinstance(plain, dict) and plain.get("caddis") == PUBLIC_IDENTITY:
            raise KeyFileError("this is the public half of an identity; its private one is needed")
        content = opened_document(IDENTITY, plain)
        signing = Ed25519PrivateKey.from_private_bytes(content.data("signing", KEY_BYTES))
        receiving = X25519PrivateKey.from_private_bytes(content.data("receiving", KEY_BYTES))
        return cls(checked_name(content.text("name")), signing, receiving)

    @classmethod
    def read(cls, path: Path) -> Identity:
        """The identity in a file that only its owner can read."""
        return read_secret(path, cls.from_json)

    def write(self, path: Path) -> None:
        """Write it into a new file that only its owner can read."""
        write_secret(path, self.as_json())


def _public_content(name: str, receiving: bytes) -> Json:
    return {"name": name, "receiving": base64_text(receiving)}
