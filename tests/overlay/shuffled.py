"""Brokers whose messages are shuffled: links keep their order, and that is all that is sure.

Which message is handled next is random, and so is when a model answers and when a clock strikes. So
whatever holds here holds for any delays, any costs and any queueing. All that was run, sent on and
notified is written down, and the charges of an event can be counted at every moment.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pyarrow as pa

from caddis.language import Clause, Column, Concept, parse_all
from caddis.models import NO, UNASKED, UNKNOWN, YES, Catalogue
from caddis.overlay import messages
from caddis.overlay.event_broker import EventBroker
from caddis.overlay.forwarding.compiled_graph import Beliefs
from caddis.overlay.forwarding.policies import FORWARDINGS, Forwarding, Sharing
from caddis.overlay.forwarding.sharing import IMPATIENT, SharingVisit
from caddis.overlay.forwarding.visits import Sent
from caddis.overlay.messages import Link, Message
from tests.ordering.clauses import CONCEPTS, SCHEMA, Where, drawn_where, models, of_photo
from tests.ordering.clauses import Event as Facts

GROUPS = ((0,), (1, 2), (3,), (4, 5, 6), (7,))
"""By model: its concepts."""
VOCABULARY = Catalogue(models()).vocabulary
CITIES = ("Cork", "Galway", "Sligo")

Way = tuple[str, str]
Pending = tuple[str, int, messages.Inside, Message]
"""A broker, which of its lives it is for, and what its models or its clock will say."""


@cache
def read(where: str) -> tuple[Clause, ...]:
    table = parse_all([where], SCHEMA, concepts=VOCABULARY)
    for error in table.errors.values():
        raise error
    return tuple(table.clause(number) for number in range(len(table.owner)))


def beliefs_of(rng: np.random.Generator) -> Beliefs:
    column = Column(("photo",), pa.string())
    answered_by = np.zeros(CONCEPTS, np.int32)
    for model, group in enumerate(GROUPS):
        answered_by[list(group)] = model
    return Beliefs.of(
        tuple(Concept(f"c{number}", column) for number in range(CONCEPTS)),
        np.exp(rng.uniform(0, 3, len(GROUPS))),
        rng.uniform(0.05, 0.95, CONCEPTS),
        answered_by,
    )


def patient(
    patience_ms: float = np.inf, linger_ms: float = 20, keep: float = 0.3, name: str = "frontier"
) -> Forwarding:
    """The frontier with knobs of its own."""
    return replace(FORWARDINGS[name], sharing=Sharing(float(keep), patience_ms, linger_ms))


@dataclass(frozen=True)
class Published:
    """An event, where it entered, and who is to be notified: by broker and subscription."""

    event: messages.Event
    facts: Facts
    home: str
    expected: frozenset[tuple[str, str]]


class ShuffledOverlay:
    """A forest of brokers, and all that is under way."""

    def __init__(
        self,
        rng: np.random.Generator,
        forwarding: Forwarding,
        beliefs: Beliefs | None = None,
        covering: bool | None = None,
    ) -> None:
        self.rng, self.forwarding, self.covering = rng, forwarding, covering
        self.beliefs = beliefs_of(rng) if beliefs is None else beliefs
        self.brokers: dict[str, EventBroker] = {}
        self.edges: set[frozenset[str]] = set()
        self.wheres: dict[tuple[str, str], Where] = {}
        """By broker and subscription."""
        self.publishers: set[str] = set()
        self.events: dict[int, Published] = {}
        self.ways: dict[Way, deque[Message]] = defaultdict(deque)
        self.inside: list[Pending] = []
        self.lives: Counter[str] = Counter()
        self.notified: Counter[tuple[int, str, str]] = Counter()
        """By event, broker and subscription."""
        self.runs: Counter[tuple[int, str, int]] = Counter()
        """By event, broker and model."""
        self.served: set[tuple[int, str, str]] = set()
        """Event, sender and receiver."""
        self.arrived: dict[str, dict[int, tuple[Link, messages.Publish]]] = defaultdict(dict)

    # -- who is there

    def add(self, name: str) -> None:
        self.brokers[name] = EventBroker(
            name, read, self.beliefs, self.forwarding, covering=self.covering
        )

    def connect(self, one: str, other: str) -> None:
        self.edges.add(frozenset((one, other)))
        self.ways[one, other].append(messages.Join())
        self.ways[other, one].append(messages.Join())

    def disconnect(self, one: str, other: str) -> None:
        self.edges.remove(frozenset((one, other)))
        self.ways[one, other].append(messages.Leave())
        self.ways[other, one].append(messages.Leave())

    def remove(self, name: str) -> None:
        """A broker goes, with all who are at it."""
        for other in self.around(name):
            self.edges.remove(frozenset((name, other)))
            self.ways[name, other].append(messages.Leave())
        del self.brokers[name]
        self.publishers.discard(name)
        self.wheres = {key: where for key, where in self.wheres.items() if key[0] != name}

    def around(self, name: str) -> list[str]:
        return sorted(next(iter(edge - {name})) for edge in self.edges if name in edge)

    def reachable(self, start: str) -> Iterator[str]:
        stack = [(start, "")]
        while stack:
            name, behind = stack.pop()
            yield name
            stack += [(other, name) for other in self.around(name) if other != behind]

    def subscribe(self, at: str, subscription_id: str, where: Where) -> None:
        self.wheres[at, subscription_id] = where
        message = messages.Subscribe(subscription_id, where.text)
        self.tell(at, messages.Subscriber(subscription_id), message)

    def unsubscribe(self, at: str, subscription_id: str) -> None:
        del self.wheres[at, subscription_id]
        self.tell(at, messages.Subscriber(subscription_id), messages.Unsubscribe(subscription_id))

    def advertise(self, at: str) -> None:
        self.publishers.add(at)
        self.tell(at, messages.Publisher("events"), messages.Advertise("events"))

    def unadvertise(self, at: str) -> None:
        self.publishers.remove(at)
        self.tell(at, messages.Publisher("events"), messages.Unadvertise("events"))

    def publish(self, at: str, facts: Facts) -> Published:
        """Hand a broker an event; to be notified is who has subscribed by now."""
        reachable = set(self.reachable(at))
        expected = frozenset(
            key
            for key, where in self.wheres.items()
            if key[0] in reachable and where.truth(facts) is True
        )
        event = messages.Event(len(self.events), pa.RecordBatch.from_pylist([dict(facts)], SCHEMA))
        published = Published(event, facts, at, expected)
        self.events[event.event_id] = published
        known = np.full(CONCEPTS, UNASKED, np.uint8)
        self.tell(at, messages.Publisher("events"), messages.Publish(event, known))
        return published

    # -- what happens

    def tell(self, at: str, link: Link | messages.Inside, message: Message) -> None:
        if isinstance(message, messages.Publish) and not isinstance(link, messages.Inside):
            self.arrived[at].setdefault(message.event.event_id, (link, message))
        self.send(at, self.brokers[at].handle(link, message))

    def send(self, at: str, sent: Sent) -> None:
        for link, message in sent:
            match message:
                case messages.Ask(event_id, model):
                    self.runs[event_id, at, model] += 1
                    answered = messages.Answered(event_id, model, self.answers(event_id, model))
                    self.inside.append((at, self.lives[at], messages.Inside.MODELS, answered))
                case messages.Wake():
                    self.inside.append((at, self.lives[at], messages.Inside.CLOCK, message))
                case messages.Notification(event_id):
                    assert isinstance(link, messages.Subscriber)
                    self.notified[event_id, at, link.subscription_id] += 1
                case _:
                    assert isinstance(link, messages.Neighbour)
                    if isinstance(message, messages.Publish):
                        self.served.add((message.event.event_id, at, link.name))
                    self.ways[at, link.name].append(message)

    def answers(self, event_id: int, model: int) -> tuple[int, ...]:
        facts = self.events[event_id].facts
        marks = {True: YES, False: NO, None: UNKNOWN}
        return tuple(marks[of_photo(facts, number)] for number in GROUPS[model])

    def step(self) -> bool:
        """Let something happen; False if nothing is left to. Impatience comes last, as a rule."""
        ways = [way for way, queue in self.ways.items() if queue and way[1] in self.brokers]
        soon = [i for i, one in enumerate(self.inside) if not is_impatience(one)]
        if not ways and not soon and not self.inside:
            return False
        early = self.rng.random() < 0.1
        choices = len(ways) + (len(self.inside) if early or not (ways or soon) else len(soon))
        chosen = int(self.rng.integers(choices))
        if chosen < len(ways):
            sender, receiver = ways[chosen]
            self.tell(receiver, messages.Neighbour(sender), self.ways[sender, receiver].popleft())
            return True
        which = chosen - len(ways)
        at, life, link, message = self.inside.pop(
            which if choices == len(ways) + len(self.inside) else soon[which]
        )
        if at in self.brokers and life == self.lives[at]:
            self.tell(at, link, message)
        return True

    def run(self, most: int = 20_000) -> None:
        """Until nothing is under way."""
        for _ in range(most):
            if not self.step():
                return
        raise AssertionError(f"not quiet after {most} steps")

    def crash(self, at: str) -> None:
        """A broker forgets what it was deciding; it is given those events once more."""
        self.lives[at] += 1
        for event_id in self.brokers[at].forget():
            self.tell(at, *self.arrived[at][event_id])

    # -- what there is to see

    def visits(self, event_id: int) -> Iterator[tuple[str, SharingVisit]]:
        for name, broker in self.brokers.items():
            visit = broker._visits.get(event_id)
            if isinstance(visit, SharingVisit):
                yield name, visit

    def charges(self, event_id: int) -> Counter[int]:
        """By model: how many brokers are in charge of it, or will be once a message arrives."""
        found: Counter[int] = Counter()
        for _, visit in self.visits(event_id):
            found.update(np.flatnonzero(visit._shares.charge).tolist())
        for queue in self.ways.values():
            for message in queue:
                if (
                    isinstance(message, messages.Publish | messages.Learnt)
                    and about(message) == event_id
                ):
                    found.update(message.charge)
        return found

    def path(self, home: str, to: str) -> list[str]:
        """The brokers from one to another."""
        ways = [[home]]
        for way in ways:
            if way[-1] == to:
                return way
            ways += [[*way, other] for other in self.around(way[-1]) if other not in way]
        raise AssertionError(f"no way leads from {home} to {to}")

    @property
    def is_quiet(self) -> bool:
        """Whether nobody is deciding anything."""
        return all(not broker._visits for broker in self.brokers.values())

    def check_notified(self) -> None:
        """Everyone who asked has been notified once, and nobody else."""
        expected = {
            (event_id, *key): 1 for event_id, one in self.events.items() for key in one.expected
        }
        assert self.notified == expected


def about(message: messages.Publish | messages.Learnt) -> int:
    return message.event.event_id if isinstance(message, messages.Publish) else message.event_id


def is_impatience(one: Pending) -> bool:
    return isinstance(one[3], messages.Wake) and one[3].reason == IMPATIENT


# -- random inputs


@cache
def wheres() -> tuple[Where, ...]:
    """A stock to subscribe from, so that texts come again and are parsed once."""
    rng = np.random.default_rng(2019)
    return tuple(drawn_where(rng) for _ in range(250))


def drawn_facts(rng: np.random.Generator) -> Facts:
    photo = "".join(rng.choice(["0", "1", "-"], CONCEPTS, p=[0.45, 0.5, 0.05]))
    return {
        "event_id": 0,
        "city": None if rng.random() < 0.05 else str(rng.choice(CITIES)),
        "photo": None if rng.random() < 0.05 else photo,
    }


def drawn_overlay(
    rng: np.random.Generator,
    forwarding: Forwarding,
    covering: bool | None = None,
    most_brokers: int = 12,
    most_subscriptions: int = 20,
) -> ShuffledOverlay:
    """A random tree with subscriptions anywhere and one to three publishers; all is quiet."""
    world = ShuffledOverlay(rng, forwarding, covering=covering)
    count = int(rng.integers(1, most_brokers + 1))
    names = [f"b{number}" for number in range(count)]
    for number, name in enumerate(names):
        world.add(name)
        if number:
            world.connect(names[int(rng.integers(number))], name)
    for name in rng.choice(names, int(rng.integers(1, min(count, 3) + 1)), replace=False):
        world.advertise(str(name))
    for number in range(int(rng.integers(most_subscriptions + 1))):
        where = wheres()[int(rng.integers(4 if rng.random() < 0.2 else 250))]
        world.subscribe(str(rng.choice(names)), f"s{number}", where)
    world.run()
    return world


def publish_some(world: ShuffledOverlay, count: int) -> None:
    """Events at random publishers, which may come while others are being decided."""
    homes = sorted(world.publishers)
    for _ in range(count):
        world.publish(str(world.rng.choice(homes)), drawn_facts(world.rng))
        for _ in range(int(world.rng.choice([0, 5, 100]))):
            world.step()
    world.run()
