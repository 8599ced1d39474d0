"""Subscribing at a broker, and taking it back: a record in the log that the broker reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from caddis.cli.overlay.order import OverlayOrder, PreparedOverlay, prepare_overlay
from caddis.errors import OverlayError

if TYPE_CHECKING:
    from caddis.spark.overlay import Log

LISTED = 10


@dataclass(frozen=True, slots=True)
class ClientSaid:
    """What a broker will hear from one who is there."""

    broker: str
    subscription_id: str
    where: str | None
    """None if it is taken back."""

    def as_json(self) -> dict[str, object]:
        """The same for a machine."""
        return {
            "broker": self.broker,
            "subscription_id": self.subscription_id,
            "where": self.where,
        }

    def show(self, console: Console) -> None:
        """One line."""
        what = "is no longer subscribed" if self.where is None else "is subscribed"
        console.print(
            Text(f"{self.subscription_id} {what} at {self.broker}, as soon as the broker hears it")
        )


def subscribe_at(order: OverlayOrder, broker: str, id_: str, where: str) -> ClientSaid:
    """Ask a broker for events."""
    prepared = prepare_overlay(order)
    log = _clients(prepared, broker)
    prepared.check_where(where, id_)
    from caddis.overlay import Subscribe
    from caddis.spark.overlay import to_record

    log.append([to_record(Subscribe(id_, where))])
    return ClientSaid(broker, id_, where)


def unsubscribe_at(order: OverlayOrder, broker: str, id_: str) -> ClientSaid:
    """Ask a broker for nothing more."""
    prepared = prepare_overlay(order)
    log = _clients(prepared, broker)
    from caddis.overlay import Unsubscribe
    from caddis.spark.overlay import subscribed, to_record

    there = subscribed(log)
    if id_ not in there:
        names = ", ".join(map(repr, list(there)[:LISTED])) or "nobody"
        more = ", ..." if len(there) > LISTED else ""
        raise OverlayError(
            f"nobody is subscribed at {broker!r} as {id_!r}; there is: {names}{more}"
        )
    log.append([to_record(Unsubscribe(id_))])
    return ClientSaid(broker, id_, None)


def _clients(prepared: PreparedOverlay, broker: str) -> Log:
    from caddis.spark.overlay import OverlayFolder

    prepared.entry(broker)
    order = prepared.order
    folder = OverlayFolder(order.folder)
    folder.prepare(prepared.schema, order.event_key, order.timezone, prepared.policy)
    return folder.clients(broker)
