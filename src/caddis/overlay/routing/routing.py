"""The routing plane of a broker: who publishes where, who wants what, what to ask whom for.

Advertisements flood the overlay (the subscription routing table, `Advertisements`). Subscriptions
follow their paths in reverse (`Asking`, one for each neighbour) and leave entries on the way (the
publication routing table). Section IV-A of the adaptive-filtering paper. What is sent to a
neighbour follows from the tables alone, never from the order in which they were filled, so brokers
agree as soon as all messages have arrived.

Messages on a link stay in order, and those of a connection that broke are never delivered: a
neighbour's Join is the first message of a new connection.
"""

from __future__ import annotations

from collections.abc import Mapping

from caddis.errors import OverlayError
from caddis.language import Clause
from caddis.overlay.messages import (
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
from caddis.overlay.routing.asking import Asking
from caddis.overlay.routing.publication_graph import Entry, Identity, Read, Table


class Advertisements:
    """The subscription routing table: the publishers' WHERE texts, and where each was heard.

    Each neighbour is sent everything that came through other links. What it should know is compared
    with what it was sent, so nothing is sent twice and nothing goes in circles. While the tree is
    being changed, the same publisher may be heard through two links; both are kept until one of
    them withdraws it.

    >>> from caddis.overlay.messages import Publisher
    >>> known = Advertisements()
    >>> known.join(Neighbour("b"))
    >>> known.put(Publisher("p"), ("a", "p"), "price < 200")
    True
    >>> known.settle()
    [(Neighbour(name='b'), Advertise(publisher='p', where='price < 200', home='a'))]
    """

    def __init__(self) -> None:
        self._heard: dict[Identity, dict[Link, str]] = {}
        self._sent: dict[Neighbour, dict[Identity, str]] = {}
        self._changed: dict[Identity, None] = {}

    def join(self, neighbour: Neighbour) -> None:
        """Let a new neighbour hear of everything."""
        self._sent[neighbour] = {}
        self._changed |= dict.fromkeys(self._heard)

    def leave(self, neighbour: Neighbour) -> None:
        """Forget what a neighbour was sent, and what it sent."""
        del self._sent[neighbour]
        for identity in [one for one, heard in self._heard.items() if neighbour in heard]:
            self.drop(neighbour, identity)

    def put(self, link: Link, identity: Identity, where: str) -> bool:
        """Take in what a publisher will publish; return False if that is known already."""
        heard = self._heard.setdefault(identity, {})
        if heard.get(link) == where:
            return False
        heard[link] = where
        self._changed[identity] = None
        return True

    def drop(self, link: Link, identity: Identity) -> bool:
        """Forget what a publisher will publish; return False if the link did not tell."""
        heard = self._heard.get(identity, {})
        if link not in heard:
            return False
        del heard[link]
        if not heard:
            del self._heard[identity]
        self._changed[identity] = None
        return True

    def settle(self) -> list[tuple[Neighbour, Control]]:
        """Return what must be sent to the neighbours since the last time."""
        changed, self._changed = self._changed, {}
        return [
            (neighbour, message)
            for neighbour in self._sent
            for identity in changed
            for message in self._news(neighbour, identity)
        ]

    def _news(self, neighbour: Neighbour, identity: Identity) -> list[Control]:
        """What to send to one neighbour about one publisher; the latest text counts."""
        sent, (home, publisher) = self._sent[neighbour], identity
        heard = self._heard.get(identity, {})
        wheres = [where for link, where in heard.items() if link != neighbour]
        if not wheres:
            known = sent.pop(identity, None) is not None
            return [Unadvertise(publisher, home)] if known else []
        if sent.get(identity) == wheres[-1]:
            return []
        sent[identity] = wheres[-1]
        return [Advertise(publisher, wheres[-1], home)]


class Routing:
    """Answers control messages with those that must be sent; it never blocks.

    read: gives the clauses of a WHERE text; it is called for every Advertise and Subscribe.
    covering: whether neighbours are spared clauses that others cover.

    >>> routing = Routing("a", read=lambda where: (Clause(()),))
    >>> routing.handle(Neighbour("b"), Join())
    []
    >>> routing.handle(Neighbour("b"), Advertise("p", home="b"))
    []
    >>> routing.handle(Subscriber("s"), Subscribe("s", "TRUE"))
    [(Neighbour(name='b'), Subscribe(subscription_id='s', where='TRUE', clauses=None, home='a'))]
    """

    def __init__(self, name: str, read: Read, covering: bool = True) -> None:
        self.name = name
        self.version = 0
        self._read = read
        self._covering = covering
        self._table: Table = {}
        self._advertisements = Advertisements()
        self._asking: dict[Neighbour, Asking] = {}

    @property
    def neighbours(self) -> tuple[str, ...]:
        """The names of the neighbours that have joined, in the order of joining."""
        return tuple(neighbour.name for neighbour in self._asking)

    @property
    def table(self) -> Mapping[Link, Mapping[Identity, Entry]]:
        """Who wants what on which link now; `version` grows when it changes."""
        return self._table

    def handle(self, link: Link, message: Control) -> list[tuple[Neighbour, Control]]:
        """Take in a message that came through a link; return what must be sent, in this order.

        Raises OverlayError for what may not come through the link, and SubscriptionError for a
        WHERE text that cannot be read; nothing has changed then.
        """
        self._check(link, message)
        match link, message:
            case Neighbour() as neighbour, Join():
                self._join(neighbour)
            case Neighbour() as neighbour, Leave():
                self._leave(neighbour)
            case _, Advertise():
                self._advertise(link, message)
            case _, Unadvertise():
                self._unadvertise(link, message)
            case _, Subscribe():
                entry = Entry.of(message, self._read)
                self._replace(link, self._identity(link, message), entry)
            case _, Unsubscribe():
                self._replace(link, self._identity(link, message), None)
        return self._settle()

    def _check(self, link: Link, message: Control) -> None:
        """Refuse what may not come through a link."""
        match link, message:
            case Neighbour(), Join():
                return
            case Neighbour(), _ if link in self._asking:
                return
            case Neighbour(), _:
                problem = f"{link.name!r} has not joined; its first message must be Join"
            case Subscriber(), Subscribe() | Unsubscribe():
                if link.subscription_id == message.subscription_id:
                    return
                problem = f"it is about {message.subscription_id!r}; a link has one subscription"
            case Publisher(), Advertise() | Unadvertise():
                if link.name == message.publisher:
                    return
                problem = f"it is about {message.publisher!r}; a link has one publisher"
            case _:
                problem = "only a neighbour may send that"
                if not isinstance(message, Join | Leave):
                    problem = "subscribers send Subscribe, publishers send Advertise"
        kind = type(message).__name__
        raise OverlayError(f"broker {self.name!r}: {kind} from {link} refused: {problem}")

    def _join(self, neighbour: Neighbour) -> None:
        """Add a neighbour; one that is there already has restarted and remembers nothing."""
        if neighbour in self._asking:
            self._leave(neighbour)
        self._asking[neighbour] = Asking(neighbour, self._table, self._covering)
        self._advertisements.join(neighbour)

    def _leave(self, neighbour: Neighbour) -> None:
        del self._asking[neighbour]
        self._advertisements.leave(neighbour)
        entries = self._table.pop(neighbour, {})
        for identity, entry in reversed(entries.items()):
            self._replace_everywhere(neighbour, identity, entry, None)
        self.version += bool(entries)

    def _advertise(self, link: Link, message: Advertise) -> None:
        clauses = self._read(message.where)
        identity = self._identity(link, message)
        if self._advertisements.put(link, identity, message.where):
            self._offer(link, identity, clauses)

    def _unadvertise(self, link: Link, message: Unadvertise) -> None:
        identity = self._identity(link, message)
        if self._advertisements.drop(link, identity):
            self._offer(link, identity, ())

    def _offer(self, link: Link, identity: Identity, clauses: tuple[Clause, ...]) -> None:
        if isinstance(link, Neighbour):
            self._asking[link].advertise(identity, clauses)

    def _replace(self, link: Link, identity: Identity, new: Entry | None) -> None:
        old = self._table.get(link, {}).get(identity)
        if old == new:
            return
        if new is not None:
            self._table.setdefault(link, {})[identity] = new
        else:
            del self._table[link][identity]
            if not self._table[link]:
                del self._table[link]
        self._replace_everywhere(link, identity, old, new)
        self.version += 1

    def _replace_everywhere(
        self, link: Link, identity: Identity, old: Entry | None, new: Entry | None
    ) -> None:
        for asking in self._asking.values():
            asking.replace(link, identity, old, new)

    def _settle(self) -> list[tuple[Neighbour, Control]]:
        messages = self._advertisements.settle()
        for neighbour, asking in self._asking.items():
            messages += [(neighbour, message) for message in asking.settle()]
        return messages

    def _identity(
        self, link: Link, message: Advertise | Unadvertise | Subscribe | Unsubscribe
    ) -> Identity:
        """The identity that a message is about; this broker is the home of its own clients."""
        home = message.home if isinstance(link, Neighbour) else self.name
        if isinstance(message, Advertise | Unadvertise):
            return home, message.publisher
        return home, message.subscription_id
