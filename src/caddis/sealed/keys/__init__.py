"""TODO."""

from caddis.sealed.keys.authority import Authority
from caddis.sealed.keys.authority_files import (
    AUTHORITY,
    Change,
    change_authority,
    create_authority,
    read_authority,
)
from caddis.sealed.keys.directory import DIRECTORY, Directory
from caddis.sealed.keys.documents import Fields, Json, document, fingerprint, opened_document
from caddis.sealed.keys.entitlements import (
    FIRST_EPOCH,
    ROLES,
    Role,
    Span,
    as_text,
    covers,
    is_open,
    spans_of,
)
from caddis.sealed.keys.files import locked, read_public, write_public
from caddis.sealed.keys.identities import IDENTITY, PUBLIC_IDENTITY, Identity, PublicIdentity
from caddis.sealed.keys.rings import BUNDLE, Bundle, KeyRing, Material
from caddis.sealed.keys.secrets import (
    DIGEST_BYTES,
    KeyedHashing,
    MatchingKey,
    PublisherKeys,
    Randomness,
    SealingKey,
    SubscriberKeys,
    cells_of,
    framed,
    places_of,
    tokens_of,
)

__all__ = [
    "AUTHORITY",
    "BUNDLE",
    "DIGEST_BYTES",
    "DIRECTORY",
    "FIRST_EPOCH",
    "IDENTITY",
    "PUBLIC_IDENTITY",
    "ROLES",
    "Authority",
    "Bundle",
    "Change",
    "Directory",
    "Fields",
    "Identity",
    "Json",
    "KeyRing",
    "KeyedHashing",
    "MatchingKey",
    "Material",
    "PublicIdentity",
    "PublisherKeys",
    "Randomness",
    "Role",
    "SealingKey",
    "Span",
    "SubscriberKeys",
    "as_text",
    "cells_of",
    "change_authority",
    "covers",
    "create_authority",
    "document",
    "fingerprint",
    "framed",
    "is_open",
    "locked",
    "opened_document",
    "places_of",
    "read_authority",
    "read_public",
    "spans_of",
    "tokens_of",
    "write_public",
]
