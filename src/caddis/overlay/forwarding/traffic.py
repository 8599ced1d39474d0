"""What passes with events: between brokers, and between a broker and its models and clock.

A broker neither waits nor looks at a clock. It asks the link MODELS to run a model and the link
CLOCK to be woken, and hears from them like from anybody else; who drives it decides what time is.

What is known of an event is an array of marks, one for each concept, which nobody changes once it
is in a message. Models are numbers; a charge is the models that the receiver is to run from now on.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

import pyarrow as pa

from caddis.models import Marks
from caddis.overlay.messages import Control


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
