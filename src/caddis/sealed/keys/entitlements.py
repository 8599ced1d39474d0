"""From which epoch to which one somebody is entitled: spans that neither overlap nor touch.

An open span has no last epoch: it goes on with every rotation. All that changes it is done here, so
that whoever was revoked and granted again has a gap where it was away.

Key material on its way to one party: RFC 9180 (HPKE), as `cryptography` has it.

X25519 agrees on a secret with the recipient's public key, HKDF-SHA256 makes a key of it, and
AES-256-GCM seals. What the material is for is bound to it: a package that is passed off as one for
another stream, epoch, role or recipient does not open.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

from caddis.errors import AccessError
from caddis.sealed.keys.secrets import framed

Role: TypeAlias = Literal["publisher", "subscriber"]
ROLES: tuple[Role, ...] = get_args(Role)

FIRST_EPOCH = 1


@dataclass(frozen=True, slots=True)
class Span:
    """Epochs, both ends included; open while there is no last one."""

    first: int
    last: int | None = None

    def __contains__(self, epoch: int) -> bool:
        return self.first <= epoch and (self.last is None or epoch <= self.last)

    def epochs(self, now: int) -> range:
        """Those that have begun."""
        return range(self.first, (now if self.last is None else self.last) + 1)


Spans: TypeAlias = tuple[Span, ...]


def is_open(spans: Spans) -> bool:
    """Whether the entitlement goes on."""
    return bool(spans) and spans[-1].last is None


def covers(spans: Spans, epoch: int) -> bool:
    """Whether an epoch is among them."""
    return any(epoch in span for span in spans)


def opened(spans: Spans, since: int) -> Spans:
    """From an epoch on, and what there was before.

    >>> opened((Span(1, 2),), since=5)
    (Span(first=1, last=2), Span(first=5, last=None))
    >>> opened((Span(1, 2),), since=3)
    (Span(first=1, last=None),)
    """
    before = [span for span in spans if span.last is not None and span.last < since - 1]
    joined = [span.first for span in spans if span not in before]
    return (*before, Span(min(since, *joined) if joined else since))


def ended(spans: Spans, last: int) -> Spans:
    """No longer open after this epoch.

    >>> ended((Span(1, 2), Span(5)), last=7)
    (Span(first=1, last=2), Span(first=5, last=7))
    """
    assert is_open(spans)
    return (*spans[:-1], Span(spans[-1].first, last))


def as_text(spans: Iterable[Span]) -> str:
    """For people.

    >>> as_text([Span(1, 2), Span(4, 4), Span(6)])
    '1–2, 4, from 6 on'
    """
    return ", ".join(map(_span_text, spans)) or "none"


def spans_of(epochs: Sequence[int]) -> Spans:
    """Of single epochs.

    >>> as_text(spans_of([1, 2, 5]))
    '1–2, 5'
    """
    spans: list[Span] = []
    for epoch in sorted(set(epochs)):
        if spans and spans[-1].last == epoch - 1:
            spans[-1] = Span(spans[-1].first, epoch)
        else:
            spans.append(Span(epoch, epoch))
    return tuple(spans)


def _span_text(span: Span) -> str:
    if span.last is None:
        return f"from {span.first} on"
    return str(span.first) if span.first == span.last else f"{span.first}–{span.last}"


SUITE = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_256_GCM)


@dataclass(frozen=True, slots=True)
class Purpose:
    """Whose keys a package holds, and for what."""

    stream: str
    epoch: int
    role: Role
    recipient: str

    def as_bytes(self) -> bytes:
        """One string of bytes for each purpose, and none for two."""
        parts = self.stream, str(self.epoch), self.role, self.recipient
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
            f"the package of {purpose.stream!r}, epoch {purpose.epoch}, does not open with the keys "
            f"of {purpose.recipient!r}: it was wrapped to other keys, or changed"
        ) from None
