"""Random streams, and both sides of them with keys that an authority has issued."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import numpy as np
import pyarrow as pa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from caddis.errors import SealedError
from caddis.sealed.clauses.sealing import SubscriptionSealer
from caddis.sealed.design import Scheme, StreamDesign
from caddis.sealed.events.sealing import EventSealer
from caddis.sealed.keys.authority import Authority
from caddis.sealed.keys.directory import Directory
from caddis.sealed.keys.identities import Identity
from caddis.sealed.keys.rings import KeyRing
from caddis.sealed.keys.secrets import ContentKey, MatchingKey, PublisherKeys, SubscriberKeys
from tests.oracle.clauses import Clauses, Node
from tests.oracle.events import random_batch, random_schema

EVENT_KEY = "number of event"


def publisher_keys(
    design: StreamDesign, epoch: int = 1, secret: bytes = bytes(32)
) -> PublisherKeys:
    """Keys that nobody has issued."""
    matching = MatchingKey.of(secret, design.stream, epoch)
    sealing = ContentKey.of(secret, design.stream, epoch).sealing_key("pat")
    signing = Ed25519PrivateKey.from_private_bytes(bytes(32))
    return PublisherKeys("pat", design, matching, sealing, signing)


def subscriber_keys(
    design: StreamDesign, epoch: int = 1, secret: bytes = bytes(32)
) -> SubscriberKeys:
    """Keys that nobody has issued."""
    matching = MatchingKey.of(secret, design.stream, epoch)
    return SubscriberKeys("ann", design, matching, ContentKey.of(secret, design.stream, epoch))


def random_design(random: Random, schema: pa.Schema, scheme: Scheme, stream: str) -> StreamDesign:
    """With any of what a design may choose."""
    columns = StreamDesign.of(stream, schema).columns
    texts = [one.column for one in columns if one.column.type == pa.string()]
    singles = [column.name for column in texts if not column.repeated]
    return StreamDesign.of(
        stream,
        schema,
        rate=random.choice((0.3, 0.01, 0.0001)),
        scheme=scheme,
        presence=random.random() < 0.7,
        padding=random.choice((0, 2, 8)),
        ordered_texts=[name for name in singles if random.random() < 0.5],
    )


def random_stream_schema(random: Random) -> pa.Schema:
    """A schema of which some column can be sealed."""
    while True:
        schema = random_schema(random)
        try:
            StreamDesign.of("any", schema)
        except SealedError:
            continue
        return schema


@dataclass
class Parties:
    """Pat publishes on some streams, Ann subscribes."""

    pat: KeyRing
    ann: KeyRing
    directory: Directory
    random: Random

    @classmethod
    def on(cls, designs: list[StreamDesign], random: Random) -> Parties:
        pat, ann = (Identity.new(name, random.randbytes) for name in ("pat", "ann"))
        authority = Authority.new(random.randbytes).register(pat.public).register(ann.public)
        for design in designs:
            authority = authority.add_stream(design, random.randbytes)
            authority = authority.grant("pat", design.stream, "publisher")
            authority = authority.grant("ann", design.stream, "subscriber")
        pats, anns = (KeyRing.open(one, authority.issue(one.name)) for one in (pat, ann))
        return cls(pats, anns, authority.directory(), random)

    def event_sealer(self, stream: str, *, compressed: bool = False) -> EventSealer:
        keys = self.pat.publisher_keys(stream)
        return EventSealer(keys, randomness=self.random.randbytes, compressed=compressed)

    def subscription_sealer(self, stream: str) -> SubscriptionSealer:
        keys = self.ann.subscriber_keys(stream)
        return SubscriptionSealer(keys, randomness=self.random.randbytes)


@dataclass(frozen=True)
class RandomStreams:
    """Events and subscriptions of every type and syntax, and a stream for each scheme, named so."""

    batches: list[pa.RecordBatch]
    subscriptions: pa.Table
    parties: Parties

    @classmethod
    def of(
        cls, seed: int, schemes: Sequence[Scheme], *, clauses: int, rows: int, batches: int = 1
    ) -> RandomStreams:
        random = Random(seed)
        schema = random_stream_schema(random)
        drawn = [random_batch(random, schema, rows) for _ in range(batches)]
        events = pa.Table.from_batches(drawn).combine_chunks().to_batches()[0]
        table = subscriptions([node.text for node in random_nodes(random, events, clauses)])
        designs = [random_design(random, schema, scheme, scheme) for scheme in schemes]
        return cls(drawn, table, Parties.on(designs, random))

    @property
    def schema(self) -> pa.Schema:
        return self.batches[0].schema

    def sealed(self, batch: pa.RecordBatch, stream: str, *, compressed: bool) -> pa.RecordBatch:
        sealer = self.parties.event_sealer(stream, compressed=compressed)
        return sealer.seal(numbered(batch), EVENT_KEY)


def numbered(batch: pa.RecordBatch) -> pa.RecordBatch:
    """With a column of ids that the stream does not know."""
    return batch.append_column(EVENT_KEY, pa.array(range(batch.num_rows), pa.int64()))


def subscriptions(wheres: list[str]) -> pa.Table:
    return pa.table(
        {"subscription_id": np.arange(len(wheres)), "where": pa.array(wheres, "string")}
    )


def random_nodes(random: Random, batch: pa.RecordBatch, count: int) -> list[Node]:
    clauses = Clauses(random, batch)
    return [clauses.tree(depth=random.choice((1, 2, 3))) for _ in range(count)]
