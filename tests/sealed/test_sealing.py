"""What sealers make, what they refuse, and what they keep to themselves."""

from __future__ import annotations

import os
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from caddis.errors import EventError, InvalidSubscriptions, SealedError, SubscriptionTableError
from caddis.sealed.clauses import sealing
from caddis.sealed.clauses.sealing import SubscriptionSealer
from caddis.sealed.clauses.subscriptions import ClauseBlock, join, unpack_all
from caddis.sealed.design import Scheme, StreamDesign
from caddis.sealed.events.sealing import EventSealer
from caddis.sealed.events.wire import (
    NONCE_BYTES,
    ROUTING,
    Header,
    SealedRow,
    associated_data,
    sealed_rows,
    sealed_schema,
    signed_bytes,
)
from caddis.sealed.prefilter.prefilter import included
from caddis.sealed.prefilter.wire import decode
from caddis.sealed.values.aspe import decide_all, tolerance
from tests.sealed.sealed_workloads import publisher_keys, subscriber_keys, subscriptions

TYPES = (pa.string(), pa.string(), pa.int32(), pa.list_(pa.string()), pa.binary())
SCHEMA = pa.schema(zip(("event_id", "city", "price", "tags", "photo"), TYPES, strict=True))
EVENTS = pa.RecordBatch.from_pylist(
    [
        {"event_id": "a", "city": "Galway", "price": 150, "tags": ["sea", "sun"]},
        {"event_id": "b", "city": "Cork", "price": None, "tags": None},
        {"event_id": "c", "city": None, "price": 90, "tags": []},
    ],
    SCHEMA,
)


def design(scheme: Scheme = "aspe", **more: Any) -> StreamDesign:
    return StreamDesign.of("homes", SCHEMA, rate=1e-6, scheme=scheme, **more)


def seal_events(events: pa.RecordBatch = EVENTS, **more: Any) -> pa.RecordBatch:
    return EventSealer(publisher_keys(design()), randomness=os.urandom, **more).seal(events)


def seal_clauses(wheres: list[str], stream: StreamDesign) -> ClauseBlock:
    sealer = SubscriptionSealer(subscriber_keys(stream), randomness=os.urandom)
    blocks, problems = unpack_all(sealer.seal(subscriptions(wheres)).table["where"])
    assert not problems
    return blocks[0]


def passing(where: str, stream: StreamDesign, events: pa.RecordBatch = EVENTS) -> list[int]:
    """The rows that pass some clause, by the three conditions as plainly as can be."""
    sealed = EventSealer(publisher_keys(stream), randomness=os.urandom).seal(events)
    filters, sound = decode(sealed.column("filter"), stream.bits)
    assert sound.all()
    tokens = [np.frombuffer(one, "<u8") for one in sealed.column("tokens").to_pylist()]
    points = np.array([np.frombuffer(one, "<f8") for one in sealed.column("point").to_pylist()])
    block = seal_clauses([where], stream)
    decided = decide_all(block.vectors, block.vector_starts, points, tolerance(stream.dimensions))
    rows = set()
    for clause in range(len(block)):
        asked = block.tokens[block.token_starts[clause] : block.token_starts[clause + 1]]
        for row in range(len(points)):
            held = included(block.filters[clause : clause + 1], filters[row : row + 1])[0]
            if held and decided[row, clause] and np.isin(asked, tokens[row]).all():
                rows.add(row)
    return sorted(rows)


@pytest.mark.parametrize("scheme", ["aspe", "tokens"])
@pytest.mark.parametrize(
    ("where", "rows"),
    [
        ("city = 'Galway'", [0]),
        ("city IN ('Cork', 'Galway', 'Bray')", [0, 1]),
        ("city = 'Bray' OR price < 100", [2]),
        ("price BETWEEN 90 AND 150", [0, 2]),
        ("price = 150 AND city = 'Galway'", [0]),
        ("price = 150 AND city = 'Cork'", []),
        ("array_contains(tags, 'sun')", [0]),
        ("tags IS NOT NULL", [0, 2]),
        ("price IS NULL", [0, 1, 2]),
        ("TRUE", [0, 1, 2]),
    ],
)
def test_a_broker_can_tell_what_is_tested(where, rows, scheme):
    assert passing(where, design(scheme)) == rows


def test_sealed_events_have_the_columns_of_sealed_events():
    sealed = seal_events()
    assert sealed.schema == sealed_schema(pa.string())
    assert sealed.column("event_id").to_pylist() == ["a", "b", "c"]
    assert set(sealed.column("stream").to_pylist()) == {"homes"}
    assert set(sealed.column("publisher").to_pylist()) == {"pat"}


def test_signatures_and_payloads_cover_all_of_an_event():
    keys = publisher_keys(design())
    cipher, verify = AESGCM(keys.sealing.secret), keys.signing.public_key().verify
    for row in sealed_rows(seal_events()):
        assert isinstance(row, SealedRow)
        verify(row.signature, signed_bytes(row.header, row.routing, row.payload))
        nonce, sealed = row.payload[:NONCE_BYTES], row.payload[NONCE_BYTES:]
        assert cipher.decrypt(nonce, sealed, associated_data(row.header, row.routing))


def test_numbers_count_on_from_batch_to_batch():
    sealer = EventSealer(publisher_keys(design()), randomness=os.urandom)
    numbers = [n for _ in range(2) for n in sealer.seal(EVENTS).column("number").to_pylist()]
    assert numbers == [0, 1, 2, 3, 4, 5]


def test_every_sealer_has_a_run_of_its_own():
    runs = {EventSealer(publisher_keys(design()), randomness=os.urandom).run for _ in range(20)}
    assert len(runs) == 20
    assert all(0 <= run < 2**63 for run in runs)
    assert seal_events(run=17).column("run").to_pylist() == [17] * 3


@pytest.mark.parametrize("run", [-1, 1 << 63])
def test_a_run_that_no_event_could_have_is_refused(run: int):
    with pytest.raises(SealedError, match=f"a BIGINT of 0 or more, not {run}"):
        seal_events(run=run)


def test_equal_events_have_different_points_and_payloads():
    twice = pa.concat_batches([EVENTS.slice(0, 1)] * 2)
    sealed = seal_events(twice)
    for name in ("point", "payload", "signature"):
        first, second = sealed.column(name).to_pylist()
        assert first != second
    nonces = [payload[:NONCE_BYTES] for payload in sealed.column("payload").to_pylist()]
    assert len(set(nonces)) == 2


def test_compressed_filters_say_the_same():
    plain, short = seal_events(), seal_events(compressed=True)
    bits = design().bits
    assert np.array_equal(
        decode(plain.column("filter"), bits)[0], decode(short.column("filter"), bits)[0]
    )


def test_no_events_give_no_sealed_events():
    assert seal_events(EVENTS.slice(0, 0)).num_rows == 0


@pytest.mark.parametrize("type_", [pa.int8(), pa.uint32(), pa.int64()], ids=str)
def test_whole_numbers_are_ids(type_):
    ids = pa.array([1, 2, 3], type_)
    batch = EVENTS.drop_columns(["event_id"]).append_column("id", ids)
    sealer = EventSealer(publisher_keys(design()), randomness=os.urandom)
    assert sealer.seal(batch, "id").column("event_id").equals(pa.array([1, 2, 3]))


def test_texts_of_all_kinds_are_ids():
    ids = EVENTS.column("event_id").dictionary_encode()
    batch = EVENTS.set_column(0, "event_id", ids)
    assert seal_events(batch).column("event_id").type == pa.string()


@pytest.mark.parametrize(
    ("ids", "problem"),
    [
        (pa.array(["a", None, "c"]), "1 events have a null event_id"),
        (pa.array([1.0, 2.0, 3.0]), "texts or whole numbers, not DOUBLE"),
        (pa.array([1, 2, 2**64 - 1], pa.uint64()), "too large for BIGINT"),
    ],
)
def test_ids_that_name_nothing_are_refused(ids, problem):
    with pytest.raises(EventError, match=problem):
        seal_events(EVENTS.set_column(0, "event_id", ids))


def test_events_without_ids_are_refused():
    with pytest.raises(EventError, match="events need one column 'event_id'"):
        seal_events(EVENTS.drop_columns(["event_id"]))


def test_invalid_subscriptions_are_raised_or_reported():
    sealer = SubscriptionSealer(subscriber_keys(design()), randomness=os.urandom)
    table = subscriptions(["citty = 'Cork'", "price = 1", "beach(photo)", "price = 'x'"])
    with pytest.raises(InvalidSubscriptions, match="unknown column 'citty'"):
        sealer.seal(table)
    sealed = sealer.seal(table, on_invalid="skip")
    assert sealed.table["subscription_id"].to_pylist() == [1]
    assert [error.subscription_id for error in sealed.invalid] == [0, 2, 3]
    assert "models cannot read sealed events" in str(sealed.invalid[1])
    assert sealed.invalid[1].span == (0, len("beach"))


def test_tables_of_subscriptions_are_checked():
    sealer = SubscriptionSealer(subscriber_keys(design()), randomness=os.urandom)
    with pytest.raises(SubscriptionTableError, match="need a column 'where'"):
        sealer.seal(pa.table({"subscription_id": [1]}))


def test_only_the_two_columns_are_handed_on():
    sealer = SubscriptionSealer(subscriber_keys(design()), randomness=os.urandom)
    table = subscriptions(["price = 1"]).append_column("secret", pa.array(["plain text"]))
    assert sealer.seal(table).table.column_names == ["subscription_id", "where"]


def test_no_subscriptions_give_an_empty_table():
    sealer = SubscriptionSealer(subscriber_keys(design()), randomness=os.urandom)
    sealed = sealer.seal(subscriptions([]))
    assert sealed.table.num_rows == 0
    assert sealed.table["where"].type == pa.binary()


def test_very_many_subscriptions_keep_their_order(monkeypatch):
    monkeypatch.setattr(sealing, "AT_A_TIME", 100)
    count = 201
    sealer = SubscriptionSealer(subscriber_keys(design("tokens")), randomness=os.urandom)
    sealed = sealer.seal(subscriptions([f"price = {n}" for n in range(count)]))
    blocks, _ = unpack_all(sealed.table["where"])
    one = seal_clauses([f"price = {count - 1}"], design("tokens"))
    assert np.array_equal(blocks[0].owner, np.arange(count))
    assert blocks[0].tokens[-1] == one.tokens[0]


def test_the_order_of_predicates_does_not_show():
    """Either vector of two ranges comes first, whichever range was written first."""
    stream = StreamDesign.of("homes", pa.schema([("x", pa.int8()), ("y", pa.int8())]), padding=0)
    firsts = []
    for seed in range(60):
        keys, random = subscriber_keys(stream), Random(seed).randbytes
        table = subscriptions(["x > 100 AND y < -100"])
        sealed = SubscriptionSealer(keys, randomness=random).seal(table).table
        point = EventSealer(publisher_keys(stream), randomness=random).seal(
            pa.record_batch(
                {
                    "event_id": ["e"],
                    "x": pa.array([127], pa.int8()),
                    "y": pa.array([127], pa.int8()),
                }
            )
        )
        vectors = unpack_all(sealed["where"])[0][0].vectors
        firsts.append(bool(vectors[0] @ np.frombuffer(point.column("point")[0].as_py(), "<f8") > 0))
    assert 12 < sum(firsts) < 48


def test_clauses_of_a_subscription_are_shuffled():
    stream = design("tokens")
    first = seal_clauses(["city = 'Cork'"], stream).tokens[0]
    places = [
        int(np.flatnonzero(seal_clauses(["city = 'Cork' OR price = 5"], stream).tokens == first)[0])
        for _ in range(40)
    ]
    assert set(places) == {0, 1}


def test_a_subscription_for_two_epochs_matches_both():
    blobs = [
        SubscriptionSealer(subscriber_keys(design(), epoch), randomness=os.urandom)
        .seal(subscriptions(["city = 'Cork'"]))
        .table["where"][0]
        .as_py()
        for epoch in (1, 2)
    ]
    blocks, problems = unpack_all(pa.array([join(blobs)]))
    assert not problems
    assert [block.epoch for block in blocks] == [1, 2]
    assert not np.array_equal(blocks[0].filters, blocks[1].filters)


def test_secrets_are_in_nothing_that_is_handed_on():
    keys = publisher_keys(design(), secret=bytes(range(32)))
    sealed = EventSealer(keys, randomness=os.urandom).seal(EVENTS)
    data = b"".join(
        part for name in (*ROUTING, "payload", "signature") for part in sealed[name].to_pylist()
    )
    for secret in (keys.matching.secret, keys.sealing.secret, b"Galway", b"Cork"):
        assert secret not in data


def test_headers_are_what_is_signed():
    row = next(iter(sealed_rows(seal_events(run=5))))
    assert isinstance(row, SealedRow)
    assert row.header == Header("a", "homes", 1, "pat", 5, 0)
