"""Subscribers open what reached them, and decide for themselves whether they had asked for it.

Brokers are not trusted: the reader checks each event as a broker's gate does, but against what the
publisher was entitled to in the event's own epoch, and then opens its payload. The last step is the
plain Matcher on one's own subscriptions, which stops what a broker passed on by a false positive;
so what is received is exactly what plain matching would have given.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from caddis.arrays import Int32s
from caddis.errors import AccessError, SealedEventError, SubscriptionTableError, TamperedEvent
from caddis.matching import Matcher, subscription_ids_of
from caddis.sealed.events.gate import Gate, Refusal, event_id_of
from caddis.sealed.events.payloads import Payloads
from caddis.sealed.events.replays import ReplayMemory
from caddis.sealed.events.wire import (
    NONCE_BYTES,
    Header,
    SealedRow,
    associated_data,
    sealed_rows,
    shown,
)
from caddis.sealed.keys import Directory, KeyRing


class StreamEvents(NamedTuple):
    """Events of one stream as they were published, and their rows among the sealed ones."""

    rows: Int32s
    events: pa.RecordBatch


@dataclass(frozen=True, slots=True)
class Opened:
    """What could be opened of a batch.

    rows: of the batch, ascending.
    events: by stream.
    refused: the other rows, and why.
    """

    rows: Int32s
    events: Mapping[str, StreamEvents]
    refused: tuple[Refusal, ...]


class Opener:
    """Opens sealed events with the keys of one subscriber.

    publishers: the authority's signed directory of them.
    memory: what was opened already, which is refused; by default a new one. `NoMemory()` is for
        those who open the same events again.
    """

    def __init__(
        self, ring: KeyRing, publishers: Directory, *, memory: ReplayMemory | None = None
    ) -> None:
        check_authority(ring, publishers)
        self._ring = ring
        self._gate = Gate(publishers, memory=memory, past=True)
        self._ciphers: dict[tuple[str, int, str], AESGCM] = {}
        self._payloads: dict[str, Payloads] = {}

    def update(self, ring: KeyRing, publishers: Directory) -> None:
        """Go on with newer keys of the same party, and a newer directory."""
        check_authority(ring, publishers)
        if ring.name != self._ring.name:
            raise AccessError(f"these are the keys of {ring.name!r}, not of {self._ring.name!r}")
        if ring.version < self._ring.version:
            raise AccessError(
                f"the keys of version {ring.version} are older than those in use, "
                f"of version {self._ring.version}"
            )
        self._gate.update(publishers)
        self._ring = ring

    def open(self, batch: pa.RecordBatch) -> Opened:
        """The events of a batch that are genuine and that the subscriber is entitled to."""
        refused: list[Refusal] = []
        opened: dict[str, tuple[list[int], list[pa.RecordBatch]]] = {}
        for row, event in enumerate(sealed_rows(batch)):
            try:
                genuine = self._gate.checked(event)
                plain = self._opened(genuine)
            except SealedEventError as error:
                refused.append(Refusal(row, event_id_of(event), error))
                continue
            self._gate.remember(genuine)
            rows, events = opened.setdefault(genuine.header.stream, ([], []))
            rows.append(row)
            events.append(plain)
        by_stream = {
            stream: StreamEvents(np.array(rows, np.int32), self._payloads[stream].together(events))
            for stream, (rows, events) in opened.items()
        }
        all_rows = [stream_events.rows for stream_events in by_stream.values()]
        together = np.sort(np.concatenate([np.zeros(0, np.int32), *all_rows]))
        return Opened(together, by_stream, tuple(refused))

    def _opened(self, event: SealedRow) -> pa.RecordBatch:
        header, payload = event.header, event.payload
        cipher = self._cipher(header)
        data = associated_data(header, event.routing)
        try:
            plain = cipher.decrypt(payload[:NONCE_BYTES], payload[NONCE_BYTES:], data)
        except InvalidTag:
            raise TamperedEvent(
                f"event {shown(header.event_id)} of {shown(header.publisher)}: the seal of its "
                "payload does not fit"
            ) from None
        return self._payloads[header.stream].read(plain)

    def _cipher(self, header: Header) -> AESGCM:
        """What opens an event; NotEntitled if the subscriber has no key of its epoch."""
        named = header.stream, header.epoch, header.publisher
        keys = self._ring.subscriber_keys(header.stream, header.epoch)
        if named not in self._ciphers:
            self._payloads[header.stream] = Payloads(keys.design)
            secret = keys.content.sealing_key(header.publisher).secret
            self._ciphers[named] = AESGCM(secret)
        return self._ciphers[named]


def check_authority(ring: KeyRing, publishers: Directory) -> None:
    """Refuse a directory of another authority: it could call anybody's key a publisher's."""
    if ring.authority != publishers.authority:
        raise AccessError(
            f"the keys of {ring.name!r} are of the authority {ring.fingerprint}, and the directory "
            f"is of another one, {publishers.fingerprint}"
        )


@dataclass(frozen=True, slots=True)
class Received:
    """Which rows satisfy which of one's own subscriptions.

    rows, subscription_ids: one of each for each pair, rows ascending.
    events: all that could be opened, whether a subscription wants it or not.
    refused: what could not be opened, and why.
    """

    rows: Int32s
    subscription_ids: pa.Array
    events: Mapping[str, StreamEvents]
    refused: tuple[Refusal, ...]


class Inbox:
    """Where sealed events arrive: opens them, and runs the final check.

    subscriptions: a table of `subscription_id`, `stream` and `where`, in plain text as they were
        before they were sealed.
    publishers, memory: as for an Opener.
    """

    def __init__(
        self,
        ring: KeyRing,
        publishers: Directory,
        subscriptions: pa.Table,
        *,
        memory: ReplayMemory | None = None,
    ) -> None:
        self._opener = Opener(ring, publishers, memory=memory)
        if "stream" not in subscriptions.column_names:
            names = ", ".join(subscriptions.column_names)
            raise SubscriptionTableError(
                f"subscriptions need a column 'stream'; these have {names}"
            )
        self._id_type = subscription_ids_of(subscriptions).type
        self._matchers: dict[str, Matcher] = {}
        for stream in subscriptions["stream"].unique().to_pylist():
            mine = subscriptions.filter(pc.equal(subscriptions["stream"], stream))
            design = ring.subscriber_keys(stream).design
            self._matchers[stream] = Matcher.compile(mine, design.schema, timezone=design.timezone)

    def update(self, ring: KeyRing, publishers: Directory) -> None:
        """Go on with newer keys and a newer directory."""
        self._opener.update(ring, publishers)

    def receive(self, batch: pa.RecordBatch) -> Received:
        """The events of a sealed batch that one has asked for."""
        opened = self._opener.open(batch)
        rows = [np.zeros(0, np.int32)]
        ids = [pa.array([], self._id_type)]
        for stream, (of_batch, events) in opened.events.items():
            if stream not in self._matchers:
                continue
            matcher = self._matchers[stream]
            matches = matcher.match(events)
            rows.append(of_batch[matches.rows])
            ids.append(matcher.subscription_ids.take(pa.array(matches.links)))
        together = np.concatenate(rows)
        order = np.argsort(together, kind="stable")
        found = pa.concat_arrays(ids).take(pa.array(order))
        return Received(together[order], found, opened.events, opened.refused)
