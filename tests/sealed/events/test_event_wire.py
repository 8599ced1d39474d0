"""What signatures and seals cover: every field, and no two events alike."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caddis.errors import EventError
from caddis.sealed.events.wire import Header, associated_data, sealed_schema, signed_bytes

HEADER = Header("e1", "homes", 3, "ann", 7, 12)
ROUTING = (b"filter", b"tokens", b"point")

headers = st.builds(
    Header,
    st.one_of(st.text(max_size=3), st.integers(-5, 5)),
    st.text(max_size=3),
    st.integers(-2, 2),
    st.text(max_size=3),
    st.integers(-2, 2),
    st.integers(-2, 2),
)
parts = st.tuples(*[st.binary(max_size=2)] * 3)


@given(headers, headers)
def test_no_two_headers_have_the_same_bytes(one, other):
    assert (one.as_bytes() == other.as_bytes()) == (one == other)


@given(headers, parts, st.binary(max_size=2), headers, parts, st.binary(max_size=2))
def test_a_signature_covers_everything(header, routing, payload, header2, routing2, payload2):
    same = (header, routing, payload) == (header2, routing2, payload2)
    assert (
        signed_bytes(header, routing, payload) == signed_bytes(header2, routing2, payload2)
    ) == (same)


def test_an_id_that_is_a_number_is_not_its_text():
    assert replace(HEADER, event_id="1").as_bytes() != replace(HEADER, event_id=1).as_bytes()


@pytest.mark.parametrize("place", range(3))
def test_a_payload_is_bound_to_what_brokers_compare(place):
    changed = tuple(part + b"!" * (at == place) for at, part in enumerate(ROUTING))
    assert associated_data(HEADER, ROUTING) != associated_data(HEADER, changed)


def test_a_payload_is_bound_to_its_header():
    for change in (
        {"event_id": "e2"},
        {"stream": "cars"},
        {"epoch": 4},
        {"publisher": "bo"},
        {"run": 8},
        {"number": 13},
    ):
        other = replace(HEADER, **change)
        assert associated_data(HEADER, ROUTING) != associated_data(other, ROUTING)


def test_ids_of_sealed_events_are_texts_or_whole_numbers():
    assert sealed_schema(pa.string()).names[0] == "event_id"
    with pytest.raises(EventError, match="STRING or BIGINT, not double"):
        sealed_schema(pa.float64())
