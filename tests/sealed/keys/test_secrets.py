"""Keys that lead one way only, and hashes that mean nothing without theirs."""

from __future__ import annotations

import hmac
import pickle
from hashlib import sha512

import numpy as np

from caddis.sealed.keys.secrets import ContentKey, MatchingKey, cells_of, places_of, tokens_of

SECRET = bytes(range(32))


def test_every_stream_epoch_and_purpose_has_a_secret_of_its_own():
    secrets = [
        kind.of(SECRET, stream, epoch).secret
        for kind in (MatchingKey, ContentKey)
        for stream in ("a", "b", "a1")
        for epoch in (1, 2, 11)
    ]
    content = ContentKey.of(SECRET, "a", 1)
    secrets += [content.sealing_key(name).secret for name in ("ann", "bo")]
    assert len(set(secrets)) == len(secrets) == 20
    assert all(len(secret) == 32 for secret in secrets)


def test_keys_are_the_same_wherever_they_are_derived():
    assert MatchingKey.of(SECRET, "a", 1) == MatchingKey.of(SECRET, "a", 1)


def test_no_key_shows_its_secret():
    content = ContentKey.of(SECRET, "a", 1)
    for key in (MatchingKey.of(SECRET, "a", 1), content, content.sealing_key("ann")):
        shown = repr(key)
        assert "secret" not in shown
        assert key.secret.hex() not in shown
        assert repr(key.secret) not in shown
        assert pickle.loads(pickle.dumps(key)) == key


def test_a_digest_is_hmac_sha_512_of_the_framed_parts():
    from caddis.sealed.keys.secrets import derived, framed

    key = MatchingKey.of(SECRET, "a", 1)
    path = framed(framed(b"at") + framed(b"city"))
    message = b"value" + path + framed(b"Galway")
    expected = hmac.new(derived(key.secret, "hashing"), message, sha512).digest()
    [digest] = key.hashing().values(("at", "city"), [b"Galway"])
    assert digest.tobytes() == expected


def test_parts_of_a_digest_do_not_overlap():
    digests = np.arange(128, dtype=np.uint8).reshape(2, 64)
    assert tokens_of(digests).tolist() == [0x0706050403020100, 0x4746454443424140]
    assert cells_of(digests).tolist() == [0x0908, 0x4948]
    assert places_of(digests, 1 << 30, 2).tolist() == [
        [0x13121110, 0x17161514],
        [0x53525150 % (1 << 30), 0x57565554 % (1 << 30)],
    ]


def test_columns_and_values_cannot_be_confused():
    hashing = MatchingKey.of(SECRET, "a", 1).hashing()
    digests = np.concatenate(
        [
            hashing.values(("ab",), [b"c", b"", b"cc"]),
            hashing.values(("a",), [b"bc", b"b"]),
            hashing.values(("a", "b"), [b"c"]),
            hashing.presence(("ab",)),
            hashing.presence(("a", "b")),
        ]
    )
    assert len({row.tobytes() for row in digests}) == len(digests) == 8


def test_places_are_spread_evenly():
    hashing = MatchingKey.of(SECRET, "a", 1).hashing()
    digests = hashing.values(("city",), [str(n).encode() for n in range(4_000)])
    counts = np.bincount(places_of(digests, 64, 4).ravel(), minlength=64)
    expected = 4_000 * 4 / 64
    chi_squared = ((counts - expected) ** 2 / expected).sum()
    assert chi_squared < 63 + 5 * np.sqrt(2 * 63)
