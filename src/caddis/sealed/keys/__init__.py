"""Who may seal and open what: identities, the authority that grants, and the keys that follow.

    identities   a party's private keys, and the public half that it shows to the authority
    authority    parties, streams and grants; issues bundles, rotates epochs, revokes
    directory    what everybody may know of that, signed: all that a broker needs
    rings        a party's bundle of wrapped keys, and the KeyRing that it opens
    secrets      the keys of a stream and epoch, and the keyed hashes made with them
    documents    the JSON forms of all of these, signatures, and files with mode 0600

Nothing here waits for compiled kernels.
"""

from caddis.sealed.keys.authority import (
    AUTHORITY,
    Authority,
    Change,
    change_authority,
    create_authority,
    read_authority,
)
from caddis.sealed.keys.directory import (
    DIRECTORY,
    FIRST_EPOCH,
    ROLES,
    Directory,
    Role,
    Span,
    as_text,
    covers,
    is_open,
    spans_of,
)
from caddis.sealed.keys.documents import (
    Fields,
    Json,
    document,
    fingerprint,
    locked,
    opened_document,
    read_public,
    write_public,
)
from caddis.sealed.keys.identities import IDENTITY, PUBLIC_IDENTITY, Identity, PublicIdentity
from caddis.sealed.keys.rings import BUNDLE, Bundle, KeyRing
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
