"""Control messages and the links of a broker's own clients, as JSON and back."""

from __future__ import annotations

from dataclasses import asdict

from caddis.errors import OverlayError
from caddis.overlay import Control, Link, Publisher, Subscriber, messages
from caddis.spark.overlay.logs import Record

_KINDS = ("Advertise", "Unadvertise", "Subscribe", "Unsubscribe", "Join", "Leave")


def to_record(message: Control) -> Record:
    """A message as JSON.

    >>> to_record(messages.Subscribe("ann", "price < 9"))["kind"]
    'Subscribe'
    """
    return {"kind": type(message).__name__, **asdict(message)}


def from_record(record: Record) -> Control:
    """The message again."""
    fields = {name: value for name, value in record.items() if name not in ("kind", "by")}
    if record.get("kind") not in _KINDS:
        raise OverlayError(f"a log holds what is no control message: {record}")
    if fields.get("clauses") is not None:
        fields["clauses"] = tuple(fields["clauses"])
    try:
        message: Control = getattr(messages, record["kind"])(**fields)
    except TypeError as problem:
        raise OverlayError(f"a log holds what is no control message: {record}") from problem
    return message


def client_of(message: Control) -> Link:
    """The link of the one at this broker who says something."""
    if isinstance(message, messages.Subscribe | messages.Unsubscribe):
        return Subscriber(message.subscription_id)
    if isinstance(message, messages.Advertise | messages.Unadvertise):
        return Publisher(message.publisher)
    raise OverlayError(f"only brokers say {type(message).__name__}")
