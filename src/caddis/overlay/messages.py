"""Everything that passes between brokers, and between a broker and its clients, models and clock.

A link is where a message comes from or goes to. Control messages build the routing tables, and
each link keeps them in order. Subscriptions and publishers are named uniquely together with their
`home`, the broker that they are at; that broker fills it in.

A broker neither waits nor reads a clock. It asks the link MODELS to run a model and the link CLOCK
to wake it later, and hears from both as it hears from anybody else: whoever drives the broker
decides what time is.

An event travels with an array of marks, one for each concept, that nobody changes once it is in a
message. Models are numbers. A charge names the models that the receiver has to run from now on.
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
    """The link to a subscription at this broker; every subscription has a link of its own."""

    subscription_id: str


@dataclass(frozen=True, slots=True)
class Publisher:
    """The link from someone who publishes at this broker."""

    name: str


Link = Neighbour | Subscriber | Publisher


class Inside(Enum):
    """Links that lead to no other site."""

    MODELS = "models"
    CLOCK = "clock"


MODELS, CLOCK = Inside.MODELS, Inside.CLOCK


@dataclass(frozen=True, slots=True)
class Advertise:
    """A publisher announces which events it will publish."""

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
    """Someone wants events. It replaces an earlier subscription with the same id.

    clauses: the numbers of the WHERE text's clauses that matter on this link, as others cover the
        rest; None if all matter.
    """

    subscription_id: str
    where: str
    clauses: tuple[int, ...] | None = None
    home: str = ""


@dataclass(frozen=True, slots=True)
class Unsubscribe:
    """A subscription ends, or other subscriptions on the link cover all of it."""

    subscription_id: str
    home: str = ""


@dataclass(frozen=True, slots=True)
class Join:
    """A neighbour is there from now on, and knows nothing yet."""


@dataclass(frozen=True, slots=True)
class Leave:
    """A neighbour is gone, and everything that it sent is void."""


Control = Advertise | Unadvertise | Subscribe | Unsubscribe | Join | Leave


# The messages about events are tuples, not dataclasses: a simulation makes millions of them.


class Event(NamedTuple):
    """What is published.

    row: one row of columns; None if no predicate tests any.
    nbytes: its size on a link.
    """

    event_id: int
    row: pa.RecordBatch | None = None
    nbytes: int = 0


class Publish(NamedTuple):
    """An event, what is known about it, and the models that the receiver is in charge of."""

    event: Event
    known: Marks
    charge: tuple[int, ...] = ()


class Learnt(NamedTuple):
    """Later news about an event that was sent before.

    closed: the sender has decided the event, and so has every broker that it sent it to.
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
    """Return to an event after some time; `serial` tells whether anything has happened since."""

    event_id: int
    reason: str
    serial: int
    after_ms: float


Message = Control | Publish | Learnt | Notification | Ask | Answered | Wake
