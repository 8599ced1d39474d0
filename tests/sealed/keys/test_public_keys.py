"""Keys of small order are refused, however they are written; all others are not."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caddis.errors import KeyFileError
from caddis.sealed.keys.documents import verified_document
from caddis.sealed.keys.identities import PUBLIC_IDENTITY, Identity, PublicIdentity
from caddis.sealed.keys.secrets import (
    PRIME,
    SMALL_ORDER,
    is_weak_receiving_key,
    is_weak_verifying_key,
)
from tests.sealed.parties import Chance

D = -121665 * pow(121666, -1, PRIME) % PRIME
"""The constant of the curve -x² + y² = 1 + D x² y²."""

Point = tuple[int, int]


def added(one: Point, other: Point) -> Point:
    (x, y), (u, v) = one, other
    product = D * x * y * u * v % PRIME
    across = (x * v + y * u) * pow(1 + product, -1, PRIME) % PRIME
    up = (y * v + x * u) * pow(1 - product, -1, PRIME) % PRIME
    return across, up


def point_of(y: int) -> Point:
    """The one with the even x."""
    square = (y * y - 1) * pow(D * y * y + 1, -1, PRIME) % PRIME
    root = pow(square, (PRIME + 3) // 8, PRIME)
    if root * root % PRIME != square:
        root = root * pow(2, (PRIME - 1) // 4, PRIME) % PRIME
    assert root * root % PRIME == square
    return (root if root % 2 == 0 else PRIME - root), y


def order_of(point: Point) -> int:
    order, at = 1, point
    while at != (0, 1):
        order, at = order + 1, added(at, point)
        assert order <= 8
    return order


ENCODED = [
    (y + extra + sign * 2**255).to_bytes(32, "little")
    for y in sorted(SMALL_ORDER)
    for extra in (0, PRIME)
    if y + extra < 2**255
    for sign in (0, 1)
]
RECEIVING = [
    *(number.to_bytes(32, "little") for number in (0, 1, PRIME - 1, PRIME, PRIME + 1)),
    bytes.fromhex("e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"),
    bytes.fromhex("5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157"),
]


def test_these_are_all_points_whose_order_divides_8():
    assert sorted(order_of(point_of(y)) for y in SMALL_ORDER) == [1, 2, 4, 8, 8]
    assert len(ENCODED) == 14


@pytest.mark.parametrize("key", ENCODED, ids=bytes.hex)
def test_an_ed25519_key_of_small_order_is_refused_in_every_form(key):
    assert is_weak_verifying_key(key)
    honest = Identity.new("ann", Chance()).public
    with pytest.raises(KeyFileError, match="they are of small order"):
        PublicIdentity("ann", key, honest.receiving, bytes(64))


@pytest.mark.parametrize("key", RECEIVING, ids=bytes.hex)
def test_an_x25519_key_of_small_order_is_refused(key):
    assert is_weak_receiving_key(key)
    honest = Identity.new("ann", Chance()).public
    with pytest.raises(KeyFileError, match="they are of small order"):
        PublicIdentity("ann", honest.verifying, key, bytes(64))


@given(st.binary(min_size=32, max_size=32))
def test_honest_keys_are_fine(seed):
    public = Identity.new("ann", lambda size: seed[:size]).public
    assert not is_weak_verifying_key(public.verifying)
    assert not is_weak_receiving_key(public.receiving)


def test_the_zero_key_signs_nothing_whatever_its_signature_says():
    """A signature of zeros fits about every fourth text under the key of zeros."""
    for number in range(40):
        forged = {
            "caddis": PUBLIC_IDENTITY,
            "format": 1,
            "content": {"name": f"x{number}"},
            "signer": base64.b64encode(bytes(32)).decode(),
            "signature": base64.b64encode(bytes(64)).decode(),
        }
        with pytest.raises(KeyFileError, match="does not fit"):
            verified_document(PUBLIC_IDENTITY, forged)
