"""Sealed subscriptions: what of a clause may be tested under seal, and its bytes.

    clauses         what a broker may test of each clause, without ever losing a match
    sealing         SubscriptionSealer: a subscriber's table becomes sealed subscriptions
    subscriptions   their bytes and texts, packed by subscribers and unpacked by brokers

A sealed clause is never stricter than the plain one that it stands for.
"""

from caddis.sealed.clauses.clauses import MOST_CLAUSES
from caddis.sealed.clauses.sealing import SealedSubscriptions, SubscriptionSealer
from caddis.sealed.clauses.subscriptions import (
    ClauseBlock,
    as_text,
    from_text,
    join,
    members_of,
    pack,
    unpack_all,
)
