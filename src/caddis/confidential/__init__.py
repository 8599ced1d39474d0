"""Sealed events and subscriptions: brokers match what they cannot read.

An `Authority` registers parties, grants them topics and issues their keys. Publishers seal events,
subscribers seal subscriptions, a broker matches the two with the public `Directory` alone, and a
subscriber opens what reached it and decides for itself:

    >>> import os
    >>> import pyarrow as pa
    >>> from caddis.confidential import Authority, Gate, Identity, KeyRing, TopicDesign
    >>> from caddis.confidential import EventSealer, Inbox, SealedMatcher, SubscriptionSealer
    >>> schema = pa.schema([("city", pa.string()), ("price", pa.int32())])
    >>> pat, ann = Identity.new("pat", os.urandom), Identity.new("ann", os.urandom)
    >>> authority = Authority.new(os.urandom).register(pat.public).register(ann.public)
    >>> authority = authority.add_topic(TopicDesign.of("homes", schema), os.urandom)
    >>> authority = authority.grant("pat", "homes", "publisher")
    >>> authority = authority.grant("ann", "homes", "subscriber")
    >>> directory = authority.directory()

    >>> keys = KeyRing.open(pat, authority.issue("pat")).publisher_keys("homes")
    >>> homes = {"event_id": [1, 2, 3], "city": ["Galway", "Cork", None], "price": [150, 90, 80]}
    >>> sealed_events = EventSealer(keys, randomness=os.urandom).seal(pa.record_batch(homes))

    >>> ring = KeyRing.open(ann, authority.issue("ann"))
    >>> wheres = ["city = 'Galway' AND price < 200", "city LIKE '%k'"]
    >>> plain = pa.table({"subscription_id": ["west", "south"], "where": wheres})
    >>> sealer = SubscriptionSealer(ring.subscriber_keys("homes"), randomness=os.urandom)
    >>> sealed_subscriptions = sealer.seal(plain).table

    >>> broker = SealedMatcher.compile(sealed_subscriptions, gate=Gate(directory))
    >>> found = broker.match(sealed_events)
    >>> reached = sealed_events.take(pa.array(sorted(set(found.rows.tolist()))))

    >>> mine = plain.append_column("topic", pa.array(["homes", "homes"]))
    >>> received = Inbox(ring, directory, mine).receive(reached)
    >>> received.subscription_ids.to_pylist()
    ['west', 'south']
    >>> received.events["homes"].events.column("city").to_pylist()
    ['Galway', 'Cork']

What a broker learns, and what it can find out if it knows some plain events, is told in
docs/confidential.md. Names are imported when they are first used: who only handles keys does not
wait for compiled kernels.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from caddis.confidential.authority import Authority
    from caddis.confidential.broker_clauses import sealed_clauses_of
    from caddis.confidential.bundles import Bundle
    from caddis.confidential.design import Outline, Scheme, TopicDesign
    from caddis.confidential.directory import Directory
    from caddis.confidential.gate import Admission, Gate, Refusal
    from caddis.confidential.identities import Identity, PublicIdentity
    from caddis.confidential.key_rings import KeyRing
    from caddis.confidential.matcher import SealedMatcher, SealedMatches
    from caddis.confidential.opening import Inbox, Opened, Opener, Received, TopicEvents
    from caddis.confidential.replays import NoMemory, ReplayMemory
    from caddis.confidential.sealed_events import sealed_schema
    from caddis.confidential.sealed_subscriptions import as_text, from_text, join
    from caddis.confidential.sealing import EventSealer, SealedSubscriptions, SubscriptionSealer

__all__ = [
    "Admission",
    "Authority",
    "Bundle",
    "Directory",
    "EventSealer",
    "Gate",
    "Identity",
    "Inbox",
    "KeyRing",
    "NoMemory",
    "Opened",
    "Opener",
    "Outline",
    "PublicIdentity",
    "Received",
    "Refusal",
    "ReplayMemory",
    "Scheme",
    "SealedMatcher",
    "SealedMatches",
    "SealedSubscriptions",
    "SubscriptionSealer",
    "TopicDesign",
    "TopicEvents",
    "as_text",
    "from_text",
    "join",
    "sealed_clauses_of",
    "sealed_schema",
]

_HOMES = {
    "authority": ("Authority",),
    "broker_clauses": ("sealed_clauses_of",),
    "bundles": ("Bundle",),
    "design": ("Outline", "Scheme", "TopicDesign"),
    "directory": ("Directory",),
    "gate": ("Admission", "Gate", "Refusal"),
    "identities": ("Identity", "PublicIdentity"),
    "key_rings": ("KeyRing",),
    "matcher": ("SealedMatcher", "SealedMatches"),
    "opening": ("Inbox", "Opened", "Opener", "Received", "TopicEvents"),
    "replays": ("NoMemory", "ReplayMemory"),
    "sealed_events": ("sealed_schema",),
    "sealed_subscriptions": ("as_text", "from_text", "join"),
    "sealing": ("EventSealer", "SealedSubscriptions", "SubscriptionSealer"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'caddis.confidential' has no attribute {name!r}")
    return getattr(import_module(f"caddis.confidential.{_HOME_OF[name]}"), name)
