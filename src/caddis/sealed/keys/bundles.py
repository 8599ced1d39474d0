"""What the authority sends to one party: a package for each topic, role and epoch.

Each package is wrapped to the party's key and the whole is signed by the authority, so that it may
go through any hands. They see for what it has keys, and nothing of the keys.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from caddis.errors import KeyFileError
from caddis.sealed.design import TopicDesign
from caddis.sealed.keys.documents import (
    Fields,
    Json,
    base64_text,
    sealed_document,
    signed_document,
    verified_document,
)
from caddis.sealed.keys.entitlements import ROLES
from caddis.sealed.keys.files import read_public, write_public
from caddis.sealed.keys.secrets import SECRET_BYTES
from caddis.sealed.keys.wrapping import Purpose

BUNDLE = "bundle"


@dataclass(frozen=True, slots=True)
class Package:
    """Wrapped keys, and what they are for."""

    purpose: Purpose
    wrapped: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Bundle:
    """All packages of a party; version: the directory's at that time."""

    recipient: str
    version: int
    packages: tuple[Package, ...]
    authority: bytes
    signature: bytes = field(repr=False)

    @classmethod
    def signed(
        cls, recipient: str, version: int, packages: tuple[Package, ...], key: Ed25519PrivateKey
    ) -> Bundle:
        """A new one, signed with the authority's key."""
        content = _content(recipient, version, packages)
        return cls.from_json(signed_document(BUNDLE, content, key))

    def as_json(self) -> Json:
        """Plain values, from which `from_json` makes the same."""
        content = _content(self.recipient, self.version, self.packages)
        return sealed_document(BUNDLE, content, self.authority, self.signature)

    @classmethod
    def from_json(cls, plain: object, authority: str | None = None) -> Bundle:
        """From what `as_json` gave, if its signature fits.

        authority: the fingerprint of the only one to believe; without it, any is.
        """
        content, signer, signature = verified_document(BUNDLE, plain, authority)
        recipient = content.text("recipient")
        packages = tuple(_package(one, recipient) for one in content.several("packages"))
        return cls(recipient, content.whole("version"), packages, signer, signature)

    @classmethod
    def read(cls, path: Path, authority: str | None = None) -> Bundle:
        """From a file."""
        return read_public(Path(path), lambda plain: cls.from_json(plain, authority))

    def write(self, path: Path, *, replace: bool = True) -> None:
        """Into a file, in place of the one that was there."""
        write_public(Path(path), self.as_json(), replace=replace)


@dataclass(frozen=True, slots=True)
class Material:
    """What is in a package: a topic's design, the matching key, and the content or sealing key."""

    design: TopicDesign
    matching: bytes = field(repr=False)
    content: bytes = field(repr=False)

    def as_bytes(self) -> bytes:
        """As it is wrapped."""
        plain = {
            "design": self.design.as_json(),
            "matching": base64_text(self.matching),
            "content": base64_text(self.content),
        }
        return json.dumps(plain).encode()

    @classmethod
    def from_bytes(cls, unwrapped: bytes) -> Material:
        """As it was unwrapped."""
        try:
            plain = json.loads(unwrapped)
        except (ValueError, RecursionError):
            plain = None
        fields = Fields(plain, "what is in a package")
        design = TopicDesign.from_json(fields.json("design"))
        matching = fields.data("matching", SECRET_BYTES)
        return cls(design, matching, fields.data("content", SECRET_BYTES))


def _content(recipient: str, version: int, packages: tuple[Package, ...]) -> Json:
    return {
        "recipient": recipient,
        "version": version,
        "packages": [
            {
                "topic": package.purpose.topic,
                "epoch": package.purpose.epoch,
                "role": package.purpose.role,
                "wrapped": base64_text(package.wrapped),
            }
            for package in packages
        ],
    }


def _package(fields: Fields, recipient: str) -> Package:
    named = fields.text("role")
    role = next((one for one in ROLES if one == named), None)
    if role is None:
        raise KeyFileError(f"a role is {' or '.join(ROLES)}")
    purpose = Purpose(fields.text("topic"), fields.whole("epoch", 1), role, recipient)
    return Package(purpose, fields.data("wrapped"))
