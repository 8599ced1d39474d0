"""Sealed events and subscriptions: brokers match what they cannot read.

An `Authority` registers parties, grants them streams and issues their keys. Publishers seal events,
subscribers seal subscriptions, a broker matches the two with the public `Directory` alone, and a
subscriber opens what reached it and decides for itself:

    >>> import os
    >>> import pyarrow as pa
    >>> from caddis.sealed import Authority, Gate, Identity, KeyRing, StreamDesign
    >>> from caddis.sealed import EventSealer, Inbox, SealedMatcher, SubscriptionSealer
    >>> schema = pa.schema([("city", pa.string()), ("price", pa.int32())])
    >>> pat, ann = Identity.new("pat", os.urandom), Identity.new("ann", os.urandom)
    >>> authority = Authority.new(os.urandom).register(pat.public).register(ann.public)
    >>> authority = authority.add_stream(StreamDesign.of("homes", schema), os.urandom)
    >>> authority = authority.grant("pat", "homes", "publisher")
    >>> authority = authority.grant("ann", "homes", "subscriber")
    >>> publishers = authority.directory()

    >>> keys = KeyRing.open(pat, authority.issue("pat")).publisher_keys("homes")
    >>> homes = {"event_id": [1, 2, 3], "city": ["Galway", "Cork", None], "price": [150, 90, 80]}
    >>> sealed_events = EventSealer(keys, randomness=os.urandom).seal(pa.record_batch(homes))

    >>> ring = KeyRing.open(ann, authority.issue("ann"))
    >>> wheres = ["city = 'Galway' AND price < 200", "city LIKE '%k'"]
    >>> plain = pa.table({"subscription_id": ["west", "south"], "where": wheres})
    >>> sealer = SubscriptionSealer(ring.subscriber_keys("homes"), randomness=os.urandom)
    >>> sealed_subscriptions = sealer.seal(plain).table

    >>> broker = SealedMatcher.compile(sealed_subscriptions, publishers=publishers)
    >>> found = broker.match(sealed_events, Gate(publishers).admit(sealed_events))
    >>> reached = sealed_events.take(pa.array(sorted(set(found.rows.tolist()))))

    >>> mine = plain.append_column("stream", pa.array(["homes", "homes"]))
    >>> received = Inbox(ring, publishers, mine).receive(reached)
    >>> received.subscription_ids.to_pylist()
    ['west', 'south']
    >>> received.events["homes"].events.column("city").to_pylist()
    ['Galway', 'Cork']

docs/sealed.md says what a broker learns, and what it can find out if it knows some plain events.
The rooms build on each other: `design` and `keys`, then `prefilter`, `values`, `clauses` and
`events`, and last `matcher`. Names are imported when they are first used, so those who only handle
keys do not wait for compiled kernels.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
