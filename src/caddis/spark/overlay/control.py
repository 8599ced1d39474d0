"""Control messages and the links of a broker's own clients, as JSON and back.

A broker's control plane: it takes messages from logs, and appends to logs what must be sent on.

    clients' log ─┐                          ┌─▶ log to a neighbour
    log from one ─┼─▶ journal ─▶ Routing ────┼─▶ log to another
    and another  ─┘                          └─▶ tables, of which the routing graph is compiled

What has arrived is written to the journal, in the order in which it will be handled, before
anything else happens. `Routing` answers the same to the same, so that a broker that is started
again replays its journal, compares what it must have said with what the logs hold, and appends what
is missing: control messages are neither lost nor doubled, wherever the broker was stopped.
"""

from __future__ import annotations

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
    Publisher,
    Subscribe,
    Subscriber,
    Unadvertise,
    Unsubscribe,
)
from caddis.overlay.routing import PublicationRoutingGraph, Read, Routing
from caddis.spark.overlay.logs import Log, Record
from caddis.spark.overlay.settling import CLIENTS, Settling, Signal

_KINDS: dict[str, type[Control]] = {
    kind.__name__: kind for kind in (Advertise, Unadvertise, Subscribe, Unsubscribe, Join, Leave)
}


def to_record(message: Control) -> Record:
    """A message as JSON.

    >>> to_record(Subscribe("ann", "price < 9"))["kind"]
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
        return _KINDS[record["kind"]](**fields)
    except TypeError as problem:
        raise OverlayError(f"a log holds what is no control message: {record}") from problem


def client_of(message: Control) -> Link:
    """The link of the one at this broker who says something."""
    if isinstance(message, Subscribe | Unsubscribe):
        return Subscriber(message.subscription_id)
    if isinstance(message, Advertise | Unadvertise):
        return Publisher(message.publisher)
    raise OverlayError(f"only brokers say {type(message).__name__}")


DECLARED: Record = {"kind": "Declared"}
"""Among the clients' records: all that the overlay file says of this broker came before."""


@dataclass(frozen=True, slots=True)
class ControlLogs:
    """All that a control plane reads and writes."""

    journal: Log
    clients: Log
    incoming: Mapping[str, Log]
    """By neighbour."""
    outgoing: Mapping[str, Log]


@dataclass(frozen=True, slots=True)
class Refusal:
    """A message that could not be used, and was passed over."""

    sender: str
    record: Record
    reason: str


class ControlPlane:
    """The routing tables of one broker, as its journal makes them; safe for several threads.

    covering: whether neighbours are spared clauses that others cover; the same at every start.
    """

    def __init__(self, name: str, read: Read, logs: ControlLogs, covering: bool = True) -> None:
        self.name = name
        self.refusals: list[Refusal] = []
        self._read = read
        self._logs = logs
        self._routing = Routing(name, read, covering)
        self._settling = Settling(name)
        self._taken = dict.fromkeys([CLIENTS, *logs.incoming], 0)
        self._unsaid: dict[str, list[Record]] = {}
        self._lock = threading.RLock()
        self._replay()

    @property
    def settled(self) -> bool:
        """Whether all have arrived who want what is published here, as far as they were there."""
        return self._settling.settled

    @property
    def awaited(self) -> tuple[str, ...]:
        """The neighbours from whose side someone has not been heard of yet."""
        return self._settling.awaited

    @property
    def version(self) -> int:
        """Grows when the tables change."""
        return self._routing.version

    def step(self) -> bool:
        """Handle what has arrived; False if nothing has."""
        with self._lock:
            entries = [
                self._entry(sender, record)
                for sender, log in [(CLIENTS, self._logs.clients), *self._logs.incoming.items()]
                for record in log.read(self._taken[sender])
            ]
            self._logs.journal.append(entries)
            for entry in entries:
                self._handle(entry)
            self._say()
            return bool(entries)

    def graph(self) -> tuple[int, PublicationRoutingGraph]:
        """The routing graph of the tables as they are, and their version."""
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
        new = [{"met": name} for name in self._logs.outgoing if name not in self._unsaid]
        self._logs.journal.append(new)
        for entry in new:
            self._handle(entry)
        for name, log in self._logs.outgoing.items():
            said = len(log)
            if said > len(self._unsaid[name]):
                raise OverlayError(
                    f"broker {self.name!r} has said more to {name!r} than its journal tells of; "
                    "the journal is damaged"
                )
            del self._unsaid[name][:said]
        self._say()

    def _entry(self, sender: str, record: Record) -> Record:
        """A record as the journal keeps it: from whom, and why it is refused, if it is."""
        entry: Record = {"from": sender, "record": record}
        try:
            message = self._message(record)
            if isinstance(message, Advertise | Subscribe):
                self._read(message.where)
        except (OverlayError, SubscriptionError) as problem:
            entry["refused"] = str(problem)
        return entry

    def _message(self, record: Record) -> Control | None:
        return None if record.get("kind") in ("Declared", "Probe", "Echo") else from_record(record)

    def _handle(self, entry: Record) -> None:
        """One entry of the journal; the same, and in the same order, whenever it is replayed."""
        if "met" in entry:
            self._unsaid[entry["met"]] = [to_record(Join())]
            self._settling.add(entry["met"])
        else:
            self._take(entry)
        for neighbour, signal in self._settling.due():
            self._unsaid[neighbour].append(asdict(signal))

    def _take(self, entry: Record) -> None:
        sender, record = entry["from"], entry["record"]
        self._taken[sender] += 1
        if entry.get("refused"):
            self.refusals.append(Refusal(sender, record, entry["refused"]))
            return
        message = self._message(record)
        if message is not None:
            self._route(sender, record, message)
        elif sender == CLIENTS:
            self._settling.declare()
        else:
            self._settling.hear(sender, Signal(**record))

    def _route(self, sender: str, record: Record, message: Control) -> None:
        try:
            link = client_of(message) if sender == CLIENTS else Neighbour(sender)
            sent = self._routing.handle(link, message)
        except OverlayError as problem:
            self.refusals.append(Refusal(sender, record, str(problem)))
            return
        except SubscriptionError as problem:
            raise OverlayError(
                f"broker {self.name!r} was told of a WHERE clause that can no longer be read; have "
                f"the models changed?\n{problem}"
            ) from problem
        if isinstance(message, Join):
            self._settling.meet(sender)
        if isinstance(message, Advertise) and sender == CLIENTS:
            self._settling.begin()
        for neighbour, said in sent:
            self._unsaid[neighbour.name].append(to_record(said))

    def _say(self) -> None:
        for name, records in self._unsaid.items():
            self._logs.outgoing[name].append(records)
            records.clear()


def declare(
    log: Log, name: str, subscriptions: Mapping[str, str], advertises: str | None
) -> Sequence[Record]:
    """Append to a clients' log what the overlay file says now and did not say before.

    What people have subscribed to by themselves stays as it is.

    name: the broker's, which its publisher bears as well.
    advertises: None if nothing is published there.
    """
    before = log.read()
    wanted, published = _filed(before)
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
    """The WHERE texts of those who subscribe at a broker, by id, as its clients' log tells."""
    wanted: dict[str, str] = {}
    for record in log.read():
        if record.get("kind") == "Subscribe":
            wanted[record["subscription_id"]] = record["where"]
        elif record.get("kind") == "Unsubscribe":
            wanted.pop(record["subscription_id"], None)
    return wanted


def _filed(records: Iterable[Record]) -> tuple[dict[str, str], dict[str, str]]:
    """What the file said last: WHERE texts of subscriptions, and of publishers."""
    wanted: dict[str, str] = {}
    published: dict[str, str] = {}
    for record in records:
        if record.get("by") != "file":
            continue
        match from_record(record):
            case Subscribe() as one:
                wanted[one.subscription_id] = one.where
            case Unsubscribe() as one:
                wanted.pop(one.subscription_id, None)
            case Advertise() as one:
                published[one.publisher] = one.where
            case Unadvertise() as one:
                published.pop(one.publisher, None)
    return wanted, published
