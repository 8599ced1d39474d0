"""A small stream, `homes`: its events, what is asked of them, and both sides sealed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from random import Random

import numpy as np
import pyarrow as pa

from caddis import Matcher
from caddis.language import Clause, ClauseTable, PredicateTable
from caddis.sealed.design import Scheme, StreamDesign
from caddis.sealed.events.opening import Inbox
from caddis.sealed.keys.directory import Directory
from caddis.sealed.matcher.search import SealedMatches
from tests.sealed.sealed_workloads import EVENT_KEY, Parties, subscriptions

SCHEMA = pa.schema([("city", pa.string()), ("price", pa.int32()), ("tags", pa.list_(pa.string()))])
EVENTS = pa.record_batch(
    [
        ["Galway", "Cork", "Galway", None, "Sligo", "Cork"],
        [10, 20, None, 30, 40, 25],
        [["sea"], [], ["sea", "old"], None, ["old", None], ["new"]],
    ],
    SCHEMA,
)
WHERES = [
    *("city = 'Galway'", "city = 'Cork' AND price < 22", "price >= 20", "city IS NULL"),
    *("city LIKE 'G%' OR price = 40", "array_contains(tags, 'sea')", "TRUE", "FALSE"),
    "city IN ('Cork', 'Galway') OR price > 10",
]

Pairs = set[tuple[int, int]]


@dataclass(frozen=True)
class Homes:
    """Pat publishes and Ann subscribes on one stream."""

    stream: str
    parties: Parties

    @property
    def directory(self) -> Directory:
        return self.parties.directory

    def seal(self, wheres: list[str]) -> pa.Table:
        return self.parties.subscription_sealer(self.stream).seal(subscriptions(wheres)).table

    def publish(self, events: pa.RecordBatch = EVENTS, first: int = 0) -> pa.RecordBatch:
        """Sealed in a run of their own; ids count from `first`."""
        ids = pa.array(range(first, first + events.num_rows), pa.int64())
        named = events.append_column(EVENT_KEY, ids)
        return self.parties.event_sealer(self.stream).seal(named, EVENT_KEY)

    def received(self, sent: pa.RecordBatch, wheres: list[str]) -> set[tuple[int, int]]:
        """Event ids and links that are left after Ann's own check of what she was sent."""
        mine = subscriptions(wheres)
        mine = mine.append_column("stream", pa.array([self.stream] * len(wheres)))
        found = Inbox(self.parties.ann, self.directory, mine).receive(sent)
        ids = sent.column("event_id").take(pa.array(found.rows)).to_pylist()
        return set(zip(ids, found.subscription_ids.to_pylist(), strict=True))


@cache
def homes(scheme: Scheme = "tokens", stream: str = "homes") -> Homes:
    design = StreamDesign.of(stream, SCHEMA, scheme=scheme)
    return Homes(stream, Parties.on([design], Random(stream)))


@cache
def sealed_wheres(scheme: Scheme = "tokens") -> pa.Table:
    return homes(scheme).seal(WHERES)


@cache
def sealed_events(scheme: Scheme = "tokens") -> pa.RecordBatch:
    return homes(scheme).publish()


def plainly(wheres: list[str], events: pa.RecordBatch = EVENTS) -> Pairs:
    """Rows and links that plain matching finds."""
    matches = Matcher.compile(subscriptions(wheres), events.schema).match(events)
    return set(zip(matches.rows.tolist(), matches.links.tolist(), strict=True))


def pairs(matches: SealedMatches) -> Pairs:
    found = list(zip(matches.rows.tolist(), matches.links.tolist(), strict=True))
    assert len(found) == len(set(found)), "a link came out twice"
    assert matches.rows.tolist() == sorted(matches.rows.tolist())
    assert matches.report.matches == len(found)
    return set(found)


def changed(events: pa.RecordBatch, row: int, part: str, value: object) -> pa.RecordBatch:
    """Events of which one has another value in a column."""
    values = events.column(part).to_pylist()
    values[row] = value
    place, field = events.schema.names.index(part), events.schema.field(part)
    return events.set_column(
        place, field.with_nullable(value is None), pa.array(values, field.type)
    )


def clause_table(read: list[tuple[Clause, ...]]) -> ClauseTable:
    """A table as a broker's graph makes it: each predicate occurs once."""
    numbers: dict[object, int] = {}
    owner, starts, members = [], [0], []
    for whose, clauses in enumerate(read):
        for clause in clauses:
            owner.append(whose)
            members += [numbers.setdefault(one, len(numbers)) for one in clause.predicates]
            starts.append(len(members))
    arrays = np.array(owner, np.int32), np.array(starts), np.array(members, np.int32)
    return ClauseTable(PredicateTable.of(numbers), *arrays)  # type: ignore[arg-type]
