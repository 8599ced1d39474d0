"""TODO."""

from caddis.sealed.events.gate import Admission, Gate, Refusal, event_id_of
from caddis.sealed.events.payloads import Payloads
from caddis.sealed.events.replays import NoMemory, ReplayMemory
from caddis.sealed.events.routing import EventRouting, Routing
from caddis.sealed.events.wire import (
    NONCE_BYTES,
    ROUTING,
    Header,
    SealedRow,
    associated_data,
    sealed_rows,
    sealed_schema,
    shown,
    signed_bytes,
)

__all__ = [
    "NONCE_BYTES",
    "ROUTING",
    "Admission",
    "EventRouting",
    "Gate",
    "Header",
    "NoMemory",
    "Payloads",
    "Refusal",
    "ReplayMemory",
    "Routing",
    "SealedRow",
    "associated_data",
    "event_id_of",
    "sealed_rows",
    "sealed_schema",
    "shown",
    "signed_bytes",
]
