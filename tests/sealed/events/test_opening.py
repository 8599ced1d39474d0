"""Readers open what is genuine and theirs; all the rest is reported, row by row."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from caddis.errors import (
    AccessError,
    NotEntitled,
    ReplayedEvent,
    SubscriptionTableError,
    TamperedEvent,
    TruncatedEvent,
    UnknownPublisher,
    WrongEpoch,
)
from caddis.matching import Matcher
from caddis.sealed.design import SCHEMES
from caddis.sealed.events.opening import Inbox, Opened, Opener
from caddis.sealed.events.replays import NoMemory, ReplayMemory
from caddis.sealed.events.sealing import EventSealer
from caddis.sealed.events.wire import SealedRow, sealed_rows, sealed_schema, signed_bytes
from caddis.sealed.keys.rings import KeyRing
from tests.runs import seeds
from tests.sealed.parties import Chance, World, world
from tests.sealed.sealed_workloads import RandomStreams, subscriptions

CITIES = ["Galway", "Cork", "Bray", "Sligo", "Kerry"]


@pytest.fixture
def homes() -> World:
    """Pat publishes on homes and cars, Ann subscribes to both, Bo to neither."""
    made = world(("pat", "ann", "bo", "quin"), ("homes", "cars"))
    for stream in ("homes", "cars"):
        made.grant("pat", "publisher", stream)
        made.grant("ann", "subscriber", stream)
    return made


def ring(homes: World, name: str) -> KeyRing:
    return KeyRing.open(homes.identities[name], homes.authority.issue(name))


def opener(homes: World, name: str = "ann") -> Opener:
    return Opener(ring(homes, name), homes.authority.directory())


def events(count: int = 5) -> pa.RecordBatch:
    ids = pa.array([f"e{n}" for n in range(count)], pa.string())
    cities = pa.array(CITIES[:count], pa.string())
    prices = pa.array(range(100, 100 + count), pa.int32())
    return pa.record_batch({"event_id": ids, "city": cities, "price": prices})


def seal(homes: World, batch: pa.RecordBatch, stream: str = "homes") -> pa.RecordBatch:
    keys = ring(homes, "pat").publisher_keys(stream)
    return EventSealer(keys, randomness=homes.chance).seal(batch)


def changed(sealed: pa.RecordBatch, row: int, **values: Any) -> pa.RecordBatch:
    rows = sealed.to_pylist()
    rows[row] |= values
    return pa.RecordBatch.from_pylist(rows, sealed_schema(pa.string()))


def resigned(homes: World, sealed: pa.RecordBatch, row: int, **values: Any) -> pa.RecordBatch:
    """Changed by the publisher itself, who signs what comes out."""
    batch = changed(sealed, row, **values)
    event = list(sealed_rows(batch))[row]
    assert isinstance(event, SealedRow)
    signing = homes.identities["pat"].signing
    signature = signing.sign(signed_bytes(event.header, event.routing, event.payload))
    return changed(batch, row, signature=signature)


def refusals(opened: Opened) -> list[tuple[int, type[Exception]]]:
    return [(one.row, type(one.error)) for one in opened.refused]


def test_events_come_back_as_they_were_by_stream(homes):
    homes_, cars = seal(homes, events(3)), seal(homes, events(2), "cars")
    opened = opener(homes).open(pa.concat_batches([homes_.slice(0, 2), cars, homes_.slice(2)]))
    assert not opened.refused
    assert opened.rows.tolist() == [0, 1, 2, 3, 4]
    assert opened.events["homes"].rows.tolist() == [0, 1, 4]
    assert opened.events["cars"].rows.tolist() == [2, 3]
    assert opened.events["homes"].events.equals(events(3).drop_columns(["event_id"]))
    assert opened.events["cars"].events.equals(events(2).drop_columns(["event_id"]))


def test_nothing_opens_to_nothing(homes):
    opened = opener(homes).open(seal(homes, events(0)))
    assert (len(opened.rows), opened.events, opened.refused) == (0, {}, ())


def test_each_wrong_event_has_its_own_error_and_the_rest_is_opened(homes):
    sealed = seal(homes, events(5))
    payload = sealed.column("payload")[0].as_py()
    batch = changed(sealed, 0, payload=payload[:-1])
    batch = changed(batch, 1, publisher="nobody")
    batch = changed(batch, 2, epoch=9)
    batch = changed(batch, 3, payload=b"short")
    opened = opener(homes).open(pa.concat_batches([batch, batch.slice(4)]))
    assert refusals(opened) == [
        (0, TamperedEvent),
        (1, UnknownPublisher),
        (2, WrongEpoch),
        (3, TruncatedEvent),
        (5, ReplayedEvent),
    ]
    assert [one.event_id for one in opened.refused] == ["e0", "e1", "e2", "e3", "e4"]
    assert opened.rows.tolist() == [4]
    assert opened.events["homes"].events.column("city").to_pylist() == ["Kerry"]


@pytest.mark.parametrize("cut", [1, 16, 17, 40])
def test_a_truncated_ciphertext_is_refused_even_if_it_is_signed(homes, cut):
    sealed = seal(homes, events(2))
    payload = sealed.column("payload")[0].as_py()
    opened = opener(homes).open(resigned(homes, sealed, 0, payload=payload[:-cut]))
    assert refusals(opened) == [(0, TamperedEvent)]
    assert "seal of its payload" in str(opened.refused[0].error)
    assert opened.rows.tolist() == [1]


@pytest.mark.parametrize("left", [0, 1, 12, 27])
def test_a_payload_without_room_for_its_seal_is_truncated(homes, left):
    sealed = seal(homes, events(2))
    payload = sealed.column("payload")[0].as_py()
    opened = opener(homes).open(changed(sealed, 0, payload=payload[:left]))
    assert refusals(opened) == [(0, TruncatedEvent)]
    assert opened.rows.tolist() == [1]


@pytest.mark.parametrize("name", ["filter", "tokens", "point"])
def test_a_payload_belongs_to_what_brokers_compared(homes, name):
    """Whoever routes an event as another one is found out, even the publisher itself."""
    first, second = seal(homes, events(1)), seal(homes, events(2)).slice(1)
    part = second.column(name)[0].as_py() or bytes(8)
    opened = opener(homes).open(resigned(homes, first, 0, **{name: part}))
    assert refusals(opened) == [(0, TamperedEvent)]


def test_a_payload_that_holds_no_event_of_its_stream_is_refused(homes):
    keys = ring(homes, "pat").publisher_keys("homes")
    strange = replace(keys.design, schema=pa.schema([("city", pa.bool_()), ("price", pa.int64())]))
    assert strange.outline == keys.design.outline
    sealer = EventSealer(replace(keys, design=strange), randomness=homes.chance)
    sealed = sealer.seal(pa.record_batch({"event_id": ["x"], "city": [True], "price": [2**40]}))
    opened = opener(homes).open(sealed)
    assert refusals(opened) == [(0, TamperedEvent)]
    assert "no event of stream 'homes'" in str(opened.refused[0].error)


def test_without_a_key_one_is_not_entitled(homes):
    assert refusals(opener(homes, "bo").open(seal(homes, events(1)))) == [(0, NotEntitled)]
    homes.grant("bo", "subscriber", "cars")
    both = pa.concat_batches([seal(homes, events(1)), seal(homes, events(1), "cars")])
    opened = opener(homes, "bo").open(both)
    assert refusals(opened) == [(0, NotEntitled)]
    assert opened.rows.tolist() == [1]


def test_a_revoked_subscriber_opens_what_is_older_and_nothing_later(homes):
    before = seal(homes, events(1))
    homes.revoke("ann")
    homes.rotate()
    after = seal(homes, events(2)).slice(1)
    opened = opener(homes).open(pa.concat_batches([before, after]))
    assert opened.rows.tolist() == [0]
    assert refusals(opened) == [(1, NotEntitled)]


def test_a_new_subscriber_opens_nothing_older(homes):
    before = seal(homes, events(1))
    homes.rotate()
    homes.grant("bo", "subscriber")
    after = seal(homes, events(2)).slice(1)
    opened = opener(homes, "bo").open(pa.concat_batches([before, after]))
    assert opened.rows.tolist() == [1]
    assert refusals(opened) == [(0, NotEntitled)]


def test_an_event_is_readable_however_long_its_epoch_is_over(homes):
    old = seal(homes, events(1))
    homes.rotate(times=5)
    assert opener(homes).open(old).rows.tolist() == [0]


def test_what_a_publisher_sealed_before_it_was_revoked_is_readable(homes):
    old = seal(homes, events(1))
    homes.revoke("pat")
    homes.rotate(times=3)
    assert opener(homes).open(old).rows.tolist() == [0]


def test_a_publisher_of_another_stream_is_refused(homes):
    homes.grant("quin", "publisher", "cars")
    keys = ring(homes, "quin").publisher_keys("cars")
    sealed = EventSealer(keys, randomness=homes.chance).seal(events(1))
    batch = changed(sealed, 0, stream="homes")
    assert refusals(opener(homes).open(batch)) == [(0, UnknownPublisher)]


def test_an_opener_goes_on_with_newer_keys(homes):
    reader = opener(homes)
    old = seal(homes, events(1))
    assert reader.open(old).rows.tolist() == [0]
    homes.rotate()
    new = seal(homes, events(1))
    assert refusals(reader.open(new)) == [(0, WrongEpoch)]
    reader.update(ring(homes, "ann"), homes.authority.directory())
    assert reader.open(new).rows.tolist() == [0]
    assert refusals(reader.open(old)) == [(0, ReplayedEvent)]


def test_an_event_that_came_before_its_key_is_opened_when_the_key_is_there(homes):
    """It was refused once; that did not use up its number."""
    old = ring(homes, "ann")
    homes.rotate()
    new, publishers = seal(homes, events(1)), homes.authority.directory()
    reader = Opener(old, publishers)
    assert refusals(reader.open(new)) == [(0, NotEntitled)]
    reader.update(ring(homes, "ann"), publishers)
    assert reader.open(new).rows.tolist() == [0]
    assert refusals(reader.open(new)) == [(0, ReplayedEvent)]


def test_a_payload_that_does_not_open_uses_up_no_number(homes):
    reader, sealed = opener(homes), seal(homes, events(1))
    payload = sealed.column("payload")[0].as_py()
    assert refusals(reader.open(resigned(homes, sealed, 0, payload=payload[:-1]))) == [
        (0, TamperedEvent)
    ]
    assert reader.open(sealed).rows.tolist() == [0]


def test_keys_and_directory_are_of_one_authority(homes):
    other = world(("zoe",)).authority.new(Chance(9)).directory()
    with pytest.raises(AccessError, match="is of another one"):
        Opener(ring(homes, "ann"), other)
    reader = opener(homes)
    with pytest.raises(AccessError, match="is of another one"):
        reader.update(ring(homes, "ann"), other)


def test_an_opener_goes_on_with_newer_keys_of_its_own_party_alone(homes):
    old_ring, old_directory = ring(homes, "ann"), homes.authority.directory()
    homes.rotate()
    reader = opener(homes)
    with pytest.raises(AccessError, match="keys of 'pat', not of 'ann'"):
        reader.update(ring(homes, "pat"), homes.authority.directory())
    with pytest.raises(AccessError, match="are older than those in use"):
        reader.update(old_ring, homes.authority.directory())
    with pytest.raises(AccessError, match="older than the one in use"):
        reader.update(ring(homes, "ann"), old_directory)
    assert reader.open(seal(homes, events(1))).rows.tolist() == [0]


def test_a_reader_goes_on_with_what_it_had_opened(homes):
    memory, sealed = ReplayMemory(), seal(homes, events(2))
    keys, directory = ring(homes, "ann"), homes.authority.directory()
    assert Opener(keys, directory, memory=memory).open(sealed).rows.tolist() == [0, 1]
    again = Opener(keys, directory, memory=memory).open(sealed)
    assert refusals(again) == [(0, ReplayedEvent), (1, ReplayedEvent)]
    reader = Opener(keys, directory, memory=NoMemory())
    assert [reader.open(sealed).rows.tolist() for _ in range(2)] == [[0, 1]] * 2


def inbox(homes: World, wheres: dict[str, tuple[str, str]]) -> Inbox:
    streams, texts = zip(*wheres.values(), strict=True)
    table = pa.table({"subscription_id": list(wheres), "stream": streams, "where": texts})
    return Inbox(ring(homes, "ann"), homes.authority.directory(), table)


def test_an_inbox_receives_what_was_asked_for(homes):
    box = inbox(
        homes,
        {
            "west": ("homes", "city IN ('Galway', 'Sligo')"),
            "cheap": ("homes", "price < 102"),
            "cars": ("cars", "price < 101"),
        },
    )
    batch = pa.concat_batches([seal(homes, events(2), "cars"), seal(homes, events(4))])
    received = box.receive(batch)
    assert list(
        zip(received.rows.tolist(), received.subscription_ids.to_pylist(), strict=True)
    ) == [
        (0, "cars"),
        (2, "west"),
        (2, "cheap"),
        (3, "cheap"),
        (5, "west"),
    ]
    assert not received.refused
    assert refusals_of(box, batch) == [ReplayedEvent] * 6


def refusals_of(box: Inbox, batch: pa.RecordBatch) -> list[type[Exception]]:
    return [type(one.error) for one in box.receive(batch).refused]


def test_an_inbox_opens_streams_that_it_did_not_ask_about(homes):
    box = inbox(homes, {"cheap": ("homes", "price < 102")})
    received = box.receive(seal(homes, events(2), "cars"))
    assert len(received.rows) == 0
    assert received.events["cars"].events.num_rows == 2


def test_subscriptions_of_an_inbox_name_their_streams(homes):
    table = subscriptions(["price < 5"])
    with pytest.raises(SubscriptionTableError, match="column 'stream'"):
        Inbox(ring(homes, "ann"), homes.authority.directory(), table)


def test_an_inbox_needs_the_keys_of_its_streams(homes):
    table = subscriptions(["price < 5"]).append_column("stream", pa.array(["boats"]))
    with pytest.raises(NotEntitled, match="boats"):
        Inbox(ring(homes, "ann"), homes.authority.directory(), table)


@pytest.mark.no_cover
@pytest.mark.parametrize("seed", seeds(4, 12))
def test_an_inbox_receives_exactly_the_plain_answer(seed):
    stream = SCHEMES[seed % 2]
    streams = RandomStreams.of(1000 + seed, [stream], clauses=12, rows=12)
    [batch], table, parties = streams.batches, streams.subscriptions, streams.parties
    sealed = streams.sealed(batch, stream, compressed=False)
    mine = table.append_column("stream", pa.array([stream] * len(table)))
    received = Inbox(parties.ann, parties.directory, mine).receive(sealed)
    plain = Matcher.compile(table, streams.schema).match(batch)
    pairs = zip(received.rows.tolist(), received.subscription_ids.to_pylist(), strict=True)
    assert set(pairs) == set(zip(plain.rows.tolist(), plain.links.tolist(), strict=True))
    assert len(received.rows) == len(plain.rows)
    assert np.all(np.diff(received.rows) >= 0)
