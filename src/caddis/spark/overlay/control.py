"""A broker's control plane: it reads control messages from logs and appends its own to logs.

    clients' log ─┐                          ┌─▶ log to a neighbour
    log from one ─┼─▶ journal ─▶ Routing ────┼─▶ log to another
    and another  ─┘                          └─▶ tables, from which the routing graph is compiled

What has arrived is written to the journal, in the order in which it will be handled, before
anything else happens. `Routing` always answers the same input with the same output. So a restarted
broker replays its journal, compares what it must have sent with what the logs hold, and appends
what is missing: control messages are neither lost nor doubled, wherever the broker was stopped.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

from caddis.errors import OverlayError, SubscriptionError
from caddis.overlay import (
    Advertise,
    Control,
    Join,
    Leave,
    Link,
    Neighbour,
    PublicationRoutingGraph,
    Publisher,
    Read,
    Routing,
    Subscribe,
    Subscriber,
    Unadvertise,
    Unsubscribe,
)
from caddis.spark.overlay.logs import Log, Record
from caddis.spark.overlay.settling import CLIENTS, Settling, Signal

logger = logging.getLogger(__name__)

DECLARED: Record = {"kind": "Declared"}
"""Among the clients' records: all that the overlay file says about the broker came before it."""
SIGNALS = ("Declared", "Probe", "Echo")
"""Kinds of records that are for `Settling` and change no table."""
_KINDS: dict[str, type[Control]] = {
    kind.__name__: kind for kind in (Advertise, Unadvertise, Subscribe, Unsubscribe, Join, Leave)
}


def to_record(message: Control) -> Record:
    """Turn a control message into a record of a log.

    >>> to_record(Subscribe("ann", "price < 9"))["kind"]
    'Subscribe'
    """
    return {"kind": type(message).__name__, **asdict(message)}


def from_record(record: Record) -> Control:
    """Turn a record back into a control message."""
    fields = {name: value for name, value in record.items() if name not in ("kind", "by")}
    if fields.get("clauses") is not None:
        fields["clauses"] = tuple(fields["clauses"])
    try:
        return _KINDS[record["kind"]](**fields)
    except (KeyError, TypeError) as problem:
        raise OverlayError(
            f"a log holds a record that is no control message: {record}"
        ) from problem


def client_of(message: Control) -> Link:
    """The link of the client of this broker who sends a message."""
    if isinstance(message, Subscribe | Unsubscribe):
        return Subscriber(message.subscription_id)
    if isinstance(message, Advertise | Unadvertise):
        return Publisher(message.publisher)
    raise OverlayError(f"only brokers send {type(message).__name__}")


@dataclass(frozen=True, slots=True)
class ControlLogs:
    """The logs that a control plane reads and writes."""

    journal: Log
    clients: Log
    incoming: Mapping[str, Log]
    outgoing: Mapping[str, Log]
    """Both by neighbour."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A control message that could not be used, and was skipped."""

    sender: str
    record: Record
    reason: str


class ControlPlane:
    """The routing tables of one broker, as its journal makes them; safe for several threads.

    read: gives the clauses of a WHERE text.
    covering: whether neighbours are spared clauses that others cover; the same at every start.
    """

    def __init__(self, name: str, read: Read, logs: ControlLogs, covering: bool = True) -> None:
        self.name = name
        self.refusals: list[Refusal] = []
        self._read = read
        self._logs = logs
        self._routing = Routing(name, read, covering)
        self._settling = Settling(name)
        self._handled = dict.fromkeys([CLIENTS, *logs.incoming], 0)
        """How many records of each incoming log are in the journal."""
        self._unsent: dict[str, list[Record]] = {}
        """For each neighbour that this broker has joined: what is not in the outgoing log yet."""
        self._lock = threading.RLock()
        self._replay()

    @property
    def settled(self) -> bool:
        """Whether everyone has been heard of who wants what is published here."""
        return self._settling.settled

    @property
    def awaited(self) -> tuple[str, ...]:
        """The neighbours behind whom some broker has not been heard of yet."""
        return self._settling.awaited

    @property
    def version(self) -> int:
        """A number that grows when the tables change."""
        return self._routing.version

    def step(self) -> bool:
        """Handle what has arrived; return False if nothing has."""
        with self._lock:
            entries = [
                self._entry(sender, record)
                for sender, log in [(CLIENTS, self._logs.clients), *self._logs.incoming.items()]
                for record in log.read(self._handled[sender])
            ]
            # First the journal: what was handled and is not in it would be lost by a crash.
            self._logs.journal.append(entries)
            for entry in entries:
                self._handle(entry)
            self._send()
            return bool(entries)

    def graph(self) -> tuple[int, PublicationRoutingGraph]:
        """The version of the tables as they are now, and their routing graph."""
        with self._lock:
            return self._routing.version, PublicationRoutingGraph.compile(self._routing.table)

    def _replay(self) -> None:
        entries = self._logs.journal.read()
        gone = {entry["met"] for entry in entries if "met" in entry} - self._logs.outgoing.keys()
        if gone:
            raise OverlayError(
                f"broker {self.name!r} was linked with {min(gone)!r}, and the overlay file no "
                "longer says so; a link cannot be taken away, so begin with a new folder (--dir)"
            )
        for entry in entries:
            self._handle(entry)
        new = [{"met": name} for name in self._logs.outgoing if name not in self._unsent]
        self._logs.journal.append(new)
        for entry in new:
            self._handle(entry)
        for name, log in self._logs.outgoing.items():
            sent = len(log)
            if sent > len(self._unsent[name]):
                raise OverlayError(
                    f"broker {self.name!r} has sent more to {name!r} than its journal accounts "
                    "for; the journal is damaged"
                )
            del self._unsent[name][:sent]
        logger.debug("broker %s replayed %d entries of its journal", self.name, len(entries))
        self._send()

    def _entry(self, sender: str, record: Record) -> Record:
        """A record as the journal keeps it, with its sender and the reason if it is refused.

        Whether a text can be read is decided once, here: later the models may have changed, and a
        replay must come to the same result.
        """
        entry: Record = {"from": sender, "record": record}
        try:
            message = self._message(record)
            if isinstance(message, Advertise | Subscribe):
                self._read(message.where)
        except (OverlayError, SubscriptionError) as problem:
            entry["refused"] = str(problem)
        return entry

    def _message(self, record: Record) -> Control | None:
        return None if record.get("kind") in SIGNALS else from_record(record)

    def _handle(self, entry: Record) -> None:
        """Handle an entry of the journal, in the same way whenever it is replayed."""
        if "met" in entry:
            self._unsent[entry["met"]] = [to_record(Join())]
            self._settling.add(entry["met"])
        else:
            self._take(entry)
        for neighbour, signal in self._settling.due():
            self._unsent[neighbour].append(asdict(signal))

    def _take(self, entry: Record) -> None:
        sender, record = entry["from"], entry["record"]
        self._handled[sender] += 1
        if entry.get("refused"):
            self._refuse(sender, record, entry["refused"])
            return
        message = self._message(record)
        if message is not None:
            self._route(sender, record, message)
        elif sender == CLIENTS:
            self._settling.declare()
        else:
            self._settling.hear(sender, Signal(**record))

    def _refuse(self, sender: str, record: Record, reason: str) -> None:
        whom = f"broker {sender}" if sender else "a client"
        logger.warning("broker %s refused a record of %s: %s", self.name, whom, reason)
        self.refusals.append(Refusal(sender, record, reason))

    def _route(self, sender: str, record: Record, message: Control) -> None:
        try:
            link = client_of(message) if sender == CLIENTS else Neighbour(sender)
            answers = self._routing.handle(link, message)
        except OverlayError as problem:
            self._refuse(sender, record, str(problem))
            return
        except SubscriptionError as problem:
            raise OverlayError(
                f"broker {self.name!r} has a WHERE clause in its journal that can no longer be "
                f"read; have the models changed?\n{problem}"
            ) from problem
        if isinstance(message, Join):
            self._settling.meet(sender)
        if isinstance(message, Advertise) and sender == CLIENTS:
            self._settling.begin()
        for neighbour, answer in answers:
            self._unsent[neighbour.name].append(to_record(answer))

    def _send(self) -> None:
        for name, records in self._unsent.items():
            self._logs.outgoing[name].append(records)
            records.clear()


def declare(
    log: Log, name: str, subscriptions: Mapping[str, str], advertises: str | None
) -> Sequence[Record]:
    """Append to a clients' log what the overlay file says now and did not say before.

    What clients have subscribed to by themselves stays as it is.

    name: the broker's name, which its publisher has as well.
    subscriptions: WHERE texts by id.
    advertises: None if nothing is published there.
    """
    before = log.read()
    wanted, published = _declared(before)
    news: list[Control] = [
        Subscribe(one, where) for one, where in subscriptions.items() if wanted.get(one) != where
    ]
    news += [Unsubscribe(one) for one in wanted if one not in subscriptions]
    if advertises is not None and published.get(name) != advertises:
        news.append(Advertise(name, advertises))
    if advertises is None and name in published:
        news.append(Unadvertise(name))
    records = [{"by": "file", **to_record(one)} for one in news]
    records += [] if DECLARED in before else [DECLARED]
    log.append(records)
    return records


def subscribed(log: Log) -> dict[str, str]:
    """The WHERE texts of the subscriptions at a broker by id, according to its clients' log."""
    return _state_after(from_record(one) for one in log.read() if one.get("kind") in _KINDS)[0]


def _declared(records: Iterable[Record]) -> tuple[dict[str, str], dict[str, str]]:
    """What the overlay file declared last."""
    return _state_after(from_record(one) for one in records if one.get("by") == "file")


def _state_after(messages: Iterable[Control]) -> tuple[dict[str, str], dict[str, str]]:
    """The WHERE texts of subscriptions by id and of publishers by name, after these messages."""
    wanted: dict[str, str] = {}
    published: dict[str, str] = {}
    for message in messages:
        match message:
            case Subscribe():
                wanted[message.subscription_id] = message.where
            case Unsubscribe():
                wanted.pop(message.subscription_id, None)
            case Advertise():
                published[message.publisher] = message.where
            case Unadvertise():
                published.pop(message.publisher, None)
    return wanted, published
