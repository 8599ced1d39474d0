"""What passes between brokers, and between a broker and those who are at it.

A link is where a message comes from or goes to. Control messages build the routing tables; they
are kept in order on each link. Names are unique together with the broker that they are at: the
`home` of a subscription or a publisher, which its broker fills in.

What passes with events: between brokers, and between a broker and its models and clock.

A broker neither waits nor looks at a clock. It asks the link MODELS to run a model and the link
CLOCK to be woken, and hears from them like from anybody else; who drives it decides what time is.

What is known of an event is an array of marks, one for each concept, which nobody changes once it
is in a message. Models are numbers; a charge is the models that the receiver is to run from now on.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

import pyarrow as pa

from caddis.models import Marks


@dataclass(frozen=True, slots=True)
class Neighbour:
    """The link to another broker."""

    name: str


@dataclass(frozen=True, slots=True)
class Subscriber:
    """The link to one who subscribes at this broker: one for each subscription."""

    subscription_id: str


@dataclass(frozen=True, slots=True)
class Publisher:
    """The link from one who publishes at this broker."""

    name: str


Link = Neighbour | Subscriber | Publisher


@dataclass(frozen=True, slots=True)
class Advertise:
    """A publisher says which events it will publish."""

    publisher: str
    where: str = "TRUE"
    home: str = ""


@dataclass(frozen=True, slots=True)
class Unadvertise:
    """A publisher will publish no more."""

    publisher: str
    home: str = ""


@dataclass(frozen=True, slots=True)
class Subscribe:
    """Someone wants events; it takes the place of what was subscribed under the same id before.

    clauses: which clauses of the WHERE text matter on this link, the others being covered there;
        None for all.
    """

    subscription_id: str
    where: str
    clauses: tuple[int, ...] | None = None
    home: str = ""


@dataclass(frozen=True, slots=True)
class Unsubscribe:
    """Someone no longer wants events, or others on the link ask for them anyway."""

    subscription_id: str
    home: str = ""


@dataclass(frozen=True, slots=True)
class Join:
    """A neighbour is there from now on: it knows nothing yet."""


@dataclass(frozen=True, slots=True)
class Leave:
    """A neighbour is gone, and with it all that it said."""


Control = Advertise | Unadvertise | Subscribe | Unsubscribe | Join | Leave


class Inside(Enum):
    """Links that lead to no other site."""

    MODELS = "models"
    CLOCK = "clock"


MODELS, CLOCK = Inside.MODELS, Inside.CLOCK


class Event(NamedTuple):
    """What is published.

    row: one row of columns; None if no predicate looks at any.
    nbytes: its size on a link.
    """

    event_id: int
    row: pa.RecordBatch | None = None
    nbytes: int = 0


class Publish(NamedTuple):
    """An event, with what is known of it and the models that the receiver is in charge of."""

    event: Event
    known: Marks
    charge: tuple[int, ...] = ()


class Learnt(NamedTuple):
    """News of an event that was sent before.

    closed: the sender has decided it, and so has everyone whom it sent it to.
    """

    event_id: int
    concepts: tuple[int, ...] = ()
    marks: tuple[int, ...] = ()
    charge: tuple[int, ...] = ()
    closed: bool = False


class Notification(NamedTuple):
    """An event that reached a subscriber."""

    event_id: int


class Ask(NamedTuple):
    """Run a model on an event."""

    event_id: int
    model: int


class Answered(NamedTuple):
    """A model's marks, in the order of its concepts."""

    event_id: int
    model: int
    marks: tuple[int, ...]


class Wake(NamedTuple):
    """Come back to an event after some time, unless its `serial` has changed for this reason."""

    event_id: int
    reason: str
    serial: int
    after_ms: float


Message = Control | Publish | Learnt | Notification | Ask | Answered | Wake
