"""Sealed events: how publishers make them, gates admit them and subscribers open them.

    wire       the columns of a sealed event, what signature and seal cover, and reading them
    payloads   an event as bytes and back
    sealing    EventSealer: a publisher's batch becomes sealed events
    gate       Gate: which of them are genuine, new and current, for brokers and readers
    replays    ReplayMemory: which of them have been here
    opening    Opener and Inbox: a subscriber opens what it got, and decides for itself

Brokers use the gate alone; it needs no secret.
"""

from caddis.sealed.events.gate import Admission, Gate, Refusal
from caddis.sealed.events.opening import (
    Inbox,
    Opened,
    Opener,
    Received,
    StreamEvents,
    check_authority,
)
from caddis.sealed.events.replays import NoMemory, ReplayMemory
from caddis.sealed.events.sealing import EventSealer
from caddis.sealed.events.wire import ROUTING, sealed_schema
