"""Publishers seal events, subscribers seal subscriptions: whole batches at a time.

events          ─`event_routing`─▶ filters, tokens, points          what brokers compare
                ─row by row─▶ AES-256-GCM ─▶ payloads ─▶ Ed25519    what subscribers open
subscriptions   ─language─▶ clauses ─`sealed_clauses`─▶ ─`clause_sealing`─▶ bytes
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from caddis.errors import EventError, InvalidSubscriptions, SealedError, SubscriptionError
from caddis.language import Concept, is_text, parse_all, sql_type
from caddis.matching import OnInvalid, named_errors, subscription_ids_of
from caddis.sealed.clauses import ClauseSealing, pack, sealable
from caddis.sealed.events import (
    NONCE_BYTES,
    EventRouting,
    Header,
    Payloads,
    Routing,
    associated_data,
    sealed_schema,
    signed_bytes,
)
from caddis.sealed.keys import PublisherKeys, Randomness, SubscriberKeys

AT_A_TIME = 10_000
"""Subscriptions that are sealed together: their vectors take some kilobytes each."""

MOST_RUNS = 1 << 63


class EventSealer:
    """Seals the events of a publisher on one stream in one epoch.

    randomness: os.urandom; anything else is for tests.
    run: the number of this run; a random one, unless it is given. No two sealers may share one.
    compressed: whether filters are sent in their shorter form.
    """

    def __init__(
        self,
        keys: PublisherKeys,
        *,
        randomness: Randomness,
        run: int | None = None,
        compressed: bool = False,
    ) -> None:
        self._keys = keys
        self._randomness = randomness
        self._compressed = compressed
        self._routing = EventRouting(keys.matching, keys.design)
        self._payloads = Payloads(keys.design)
        self._cipher = AESGCM(keys.sealing.secret)
        self._number = 0
        self.run = int.from_bytes(randomness(8), "little") >> 1 if run is None else run
        if not 0 <= self.run < MOST_RUNS:
            raise SealedError(f"the number of a run is a BIGINT from 0 on, not {run}")

    def seal(self, batch: pa.RecordBatch, event_key: str = "event_id") -> pa.RecordBatch:
        """Sealed events, row by row those of the batch."""
        ids = _event_ids(batch, event_key)
        rows = self._payloads.rows_of(batch, event_key)
        routing = self._routing.of(rows, self._randomness, compressed=self._compressed)
        headers = [self._next_header(event_id) for event_id in ids.to_pylist()]
        payloads = list(self._sealed_payloads(rows, headers, routing))
        sign = self._keys.signing.sign
        signatures = [
            sign(signed_bytes(*parts)) for parts in zip(headers, routing, payloads, strict=True)
        ]
        columns = [[getattr(header, name) for header in headers] for name in Header.__slots__[1:]]
        columns += [list(parts) for parts in zip(*routing, strict=True)] or [[], [], []]
        columns += [payloads, signatures]
        schema = sealed_schema(ids.type)
        typed = zip(columns, schema.types[1:], strict=True)
        arrays = [ids, *(pa.array(column, type_) for column, type_ in typed)]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    def _next_header(self, event_id: str | int) -> Header:
        key, number = self._keys.matching, self._number
        self._number += 1
        return Header(event_id, key.stream, key.epoch, self._keys.name, self.run, number)

    def _sealed_payloads(
        self, rows: pa.RecordBatch, headers: list[Header], routing: list[Routing]
    ) -> Iterator[bytes]:
        """Nonces are random: of fewer than 2^32 events in an epoch no two have the same."""
        nonces = self._randomness(NONCE_BYTES * len(headers))
        events = zip(headers, routing, self._payloads.written(rows), strict=True)
        for row, (header, compared, plain) in enumerate(events):
            nonce = nonces[NONCE_BYTES * row : NONCE_BYTES * (row + 1)]
            yield nonce + self._cipher.encrypt(nonce, plain, associated_data(header, compared))


@dataclass(frozen=True, slots=True)
class SealedSubscriptions:
    """A table of `subscription_id` and sealed `where`, without those that cannot be used."""

    table: pa.Table
    invalid: tuple[SubscriptionError, ...]


class SubscriptionSealer:
    """Seals the subscriptions of a subscriber on one stream in one epoch.

    randomness: os.urandom; anything else is for tests.
    """

    def __init__(self, keys: SubscriberKeys, *, randomness: Randomness) -> None:
        self._design = keys.design
        self._randomness = randomness
        self._sealing = ClauseSealing(keys.matching, keys.design)

    def seal(self, table: pa.Table, on_invalid: OnInvalid = "raise") -> SealedSubscriptions:
        """Seal a table of `subscription_id` and `where`; no other column is kept.

        on_invalid: "raise" InvalidSubscriptions, or "report" them in `invalid` and go on.
        """
        ids = subscription_ids_of(table)
        wheres = table["where"].to_pylist()
        errors: dict[int, SubscriptionError] = {}
        chunks: list[pa.Array] = []
        for first in range(0, len(wheres), AT_A_TIME):
            blobs, wrong = self._sealed(wheres[first : first + AT_A_TIME])
            usable = [blob for row, blob in enumerate(blobs) if row not in wrong]
            chunks.append(pa.array(usable, pa.binary()))
            errors |= {first + row: error for row, error in wrong.items()}
        named = named_errors(errors, ids)
        if named and on_invalid == "raise":
            raise InvalidSubscriptions(named)
        kept = pa.array([row not in errors for row in range(len(wheres))], pa.bool_())
        sealed = pa.chunked_array(chunks, pa.binary())
        table = pa.table({"subscription_id": ids.filter(kept), "where": sealed})
        return SealedSubscriptions(table, named)

    def _sealed(self, wheres: list[str | None]) -> tuple[list[bytes], dict[int, SubscriptionError]]:
        """The bytes of each subscription, and the errors of those that cannot be used."""
        design = self._design
        table = parse_all(wheres, design.schema, timezone=design.timezone)
        clauses = sealable(table, design)
        errors = dict(table.errors)
        for row, concept in clauses.concepts.items():
            errors[row] = _calls_a_model(concept, wheres[row] or "")
        block = self._sealing.block(clauses, self._randomness)
        return pack(block, len(wheres)), dict(sorted(errors.items()))


def _calls_a_model(concept: Concept, where: str) -> SubscriptionError:
    at = where.lower().find(concept.name.lower())
    span = (at, at + len(concept.name)) if at >= 0 else None
    problem = (
        f"{concept.name!r} needs a model, and models cannot read sealed events; a publisher may "
        "publish the answer as a column"
    )
    return SubscriptionError(problem, where, span)


def _event_ids(batch: pa.RecordBatch, event_key: str) -> pa.Array:
    """The events' ids, as STRING or BIGINT."""
    names = batch.schema.names
    if names.count(event_key) != 1:
        raise EventError(f"events need one column {event_key!r}; these have {', '.join(names)}")
    ids = batch.column(names.index(event_key))
    type_ = ids.type.value_type if pa.types.is_dictionary(ids.type) else ids.type
    if not (is_text(type_) or pa.types.is_integer(type_)):
        raise EventError(f"ids of events are texts or whole numbers, not {sql_type(type_)}")
    if ids.null_count:
        raise EventError(f"{ids.null_count:,} events have a null {event_key}")
    try:
        return ids.cast(pa.string() if is_text(type_) else pa.int64())
    except pa.ArrowInvalid:
        raise EventError(f"{event_key!r} has numbers that are no BIGINT") from None
