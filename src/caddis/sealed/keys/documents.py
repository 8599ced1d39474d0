"""Public keys that are worth nothing: points of small order, which anybody can make up.

Under an Ed25519 key of small order a made-up signature may fit whatever was signed, and with an
X25519 key of small order everybody agrees on the same secret, zero. Honest keys are never such.

An Ed25519 key is the y of a point, little-endian, and the sign of its x. Eight points of the curve
have an order that divides 8; their ys are 0, 1, -1, and two more that differ in their sign. A y may
be written in two ways if it is below 19, so it is taken modulo the prime.

The JSON forms of keys, bundles and directories: what each says that it is, and who signed it.

    {"caddis": "directory", "format": 1, "content": {...}, "signer": "...", "signature": "..."}

A signature (Ed25519) covers the kind and the content, in one form of bytes: keys sorted, no spaces,
ASCII. That it fits shows that the signer wrote it; who the signer is, its fingerprint tells, and
whoever knows the one of their authority can ask for it here. What is read may come from anyone:
every field is checked before it is used, and messages show nothing of it but fingerprints and a
party's name.
"""

from __future__ import annotations

import base64
import binascii
import json
from hashlib import sha256
from typing import TypeAlias, TypeGuard

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey,
    Ed25519PublicKey,
)
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from caddis.errors import KeyFileError
from caddis.sealed.keys.secrets import framed

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


Json: TypeAlias = dict[str, object]

KINDS = ("authority", "identity", "public identity", "bundle", "directory", "replay memory")
FORMAT = 1
KEY_BYTES = 32
SIGNATURE_BYTES = 64
FINGERPRINT_DIGITS = 24
LONGEST_NAME = 200
GREATEST = 2**63 - 1


class Fields:
    """The fields of a JSON object, each of the type that it must have."""

    def __init__(self, plain: object, what: str) -> None:
        if not isinstance(plain, dict):
            raise KeyFileError(f"{what} is no JSON object")
        self.plain: Json = plain
        self._what = what

    def text(self, name: str) -> str:
        """A string."""
        value = self.plain.get(name)
        if not isinstance(value, str):
            raise self._wrong(name, "a text")
        return value

    def texts(self, name: str) -> list[str]:
        """A list of strings."""
        value = self.plain.get(name)
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise self._wrong(name, "a list of texts")
        return value

    def whole(self, name: str, least: int = 0) -> int:
        """A whole number."""
        value = self.plain.get(name)
        if not _is_whole(value, least):
            raise self._wrong(name, f"a whole number from {least} on")
        return value

    def wholes(self, name: str) -> list[int]:
        """A list of whole numbers."""
        value = self.plain.get(name)
        if not isinstance(value, list) or not all(_is_whole(one, 0) for one in value):
            raise self._wrong(name, "a list of whole numbers from 0 on")
        return value

    def flag(self, name: str) -> bool:
        """True or false."""
        value = self.plain.get(name)
        if not isinstance(value, bool):
            raise self._wrong(name, "true or false")
        return value

    def data(self, name: str, size: int | None = None) -> bytes:
        """Bytes, written as base64; exactly so many, if a size is given."""
        try:
            value = base64.b64decode(self.text(name), validate=True)
        except (binascii.Error, ValueError):
            value = None
        if value is None or (size is not None and len(value) != size):
            count = "" if size is None else f"{size} "
            raise self._wrong(name, f"{count}bytes as base64")
        return value

    def json(self, name: str) -> Json:
        """An object as it is."""
        value = self.plain.get(name)
        if not isinstance(value, dict):
            raise self._wrong(name, "an object")
        return value

    def one(self, name: str) -> Fields:
        """An object."""
        return Fields(self.json(name), f"{self._what}, {name}")

    def several(self, name: str) -> list[Fields]:
        """A list of objects."""
        value = self.plain.get(name)
        if not isinstance(value, list):
            raise self._wrong(name, "a list")
        return [Fields(one, f"{self._what}, {name}") for one in value]

    def has(self, name: str) -> bool:
        """Whether there is such a field that is not null."""
        return self.plain.get(name) is not None

    def _wrong(self, name: str, right: str) -> KeyFileError:
        state = "should be" if name in self.plain else "is missing; it should be"
        return KeyFileError(f"{self._what}: {name!r} {state} {right}")


def _is_whole(value: object, least: int) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= GREATEST


def base64_text(data: bytes) -> str:
    """Bytes as JSON holds them."""
    return base64.b64encode(data).decode()


def document(kind: str, content: Json) -> Json:
    """The form of something that is not signed."""
    return {"caddis": kind, "format": FORMAT, "content": content}


def opened_document(kind: str, plain: object) -> Fields:
    """The content of a document, if it is of this kind."""
    return _checked(kind, plain).one("content")


def signed_document(kind: str, content: Json, key: Ed25519PrivateKey) -> Json:
    """The form of something that this key signs."""
    signer = key.public_key().public_bytes_raw()
    return sealed_document(kind, content, signer, key.sign(_signed_bytes(kind, content)))


def sealed_document(kind: str, content: Json, signer: bytes, signature: bytes) -> Json:
    """The form of something that has been signed."""
    return {
        **document(kind, content),
        "signer": base64_text(signer),
        "signature": base64_text(signature),
    }


def verified_document(
    kind: str, plain: object, believed: str | None = None
) -> tuple[Fields, bytes, bytes]:
    """Content, signer and signature; believed: the fingerprint of the only signer to believe."""
    whole = _checked(kind, plain)
    signer, signature = whole.data("signer", KEY_BYTES), whole.data("signature", SIGNATURE_BYTES)
    verify(kind, whole.json("content"), signer, signature, believed)
    return whole.one("content"), signer, signature


def verify(
    kind: str, content: Json, signer: bytes, signature: bytes, believed: str | None = None
) -> None:
    """Refuse what the signer did not sign, or what another than the believed one did."""
    check_signer(kind, signer, believed)
    try:
        if is_weak_verifying_key(signer):
            raise ValueError("anybody can sign with it")
        key = Ed25519PublicKey.from_public_bytes(signer)
        key.verify(signature, _signed_bytes(kind, content))
    except (InvalidSignature, ValueError, RecursionError):
        raise KeyFileError(
            f"the signature of this {kind} does not fit: it was changed after it was signed"
        ) from None


def check_signer(kind: str, signer: bytes, believed: str | None) -> None:
    """Refuse another signer than the one with this fingerprint, if one is given."""
    if believed is None:
        return
    expected, found = checked_fingerprint(believed), fingerprint(signer)
    if found != expected:
        raise KeyFileError(f"this {kind} is signed by {found}, not by {expected}")


def fingerprint(*keys: bytes) -> str:
    """A short name of public keys that people can compare.

    >>> fingerprint(bytes(32))
    '6668-7aad-f862-bd77-6c8f-c18b'
    """
    digest = sha256(b"".join(map(framed, keys)) if len(keys) > 1 else keys[0]).hexdigest()
    return _grouped(digest[:FINGERPRINT_DIGITS])


def checked_fingerprint(text: str) -> str:
    """A fingerprint as people write it.

    >>> checked_fingerprint("66687AAD F862BD77 6C8FC18B")
    '6668-7aad-f862-bd77-6c8f-c18b'
    """
    digits = text.replace("-", "").replace(" ", "").lower()
    if len(digits) != FINGERPRINT_DIGITS or not set(digits) <= set("0123456789abcdef"):
        raise KeyFileError(
            f"{text[:LONGEST_NAME]!r} is no fingerprint: it has {FINGERPRINT_DIGITS} digits, such "
            "as 6668-7aad-f862-bd77-6c8f-c18b"
        )
    return _grouped(digits)


def _grouped(digits: str) -> str:
    return "-".join(digits[place : place + 4] for place in range(0, len(digits), 4))


def checked_name(name: str, what: str = "a party") -> str:
    """A name that can be shown, and be part of a file's name."""
    fine = name.isprintable() and name == name.strip() and "/" not in name
    if not name or not fine or name[0] in ".-" or len(name.encode()) > LONGEST_NAME:
        raise KeyFileError(
            f"{name[:LONGEST_NAME]!r} is no name of {what}: it has printable characters, 1 to "
            f"{LONGEST_NAME} bytes of UTF-8, no slash, and begins with no dot, hyphen or space"
        )
    return name


def _checked(kind: str, plain: object) -> Fields:
    whole = Fields(plain, f"this {kind}")
    if not whole.has("caddis"):
        raise KeyFileError(f"this is no {kind}")
    found = whole.text("caddis")
    if found != kind:
        but = f", but {found!r}" if found in KINDS else ""
        raise KeyFileError(f"this is no {kind}{but}")
    if whole.whole("format") != FORMAT:
        raise KeyFileError(f"this {kind} has a format that this version of Caddis does not know")
    return whole


def _signed_bytes(kind: str, content: Json) -> bytes:
    plain = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return b"caddis document" + framed(kind.encode()) + framed(plain.encode())
