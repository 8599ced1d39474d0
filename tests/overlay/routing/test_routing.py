"""Tables against what they are for: every event reaches those who asked, and goes nowhere else."""

from collections.abc import Sequence
from functools import cache
from itertools import permutations, product
from random import Random

import pyarrow as pa
import pytest

from caddis.errors import OverlayError, SubscriptionError
from caddis.language import Clause, parse
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
from caddis.overlay.routing.covering import covers, overlap
from caddis.overlay.routing.publication_graph import Identity
from caddis.overlay.routing.routing import Routing
from tests.overlay.evaluation import Event, World
from tests.overlay.network import Network, Way
from tests.runs import seeds, times

SCHEMA = pa.schema([("a", pa.int64()), ("b", pa.int64()), ("photo", pa.binary())])
WORLD = World(
    [
        Event({"a": a, "b": b, "photo": photo}, {"beach": beach, "dog": dog})
        for a, b, photo, beach, dog in product(
            (None, 0, 1, 2), (0, 1, 2), (None, b"jpeg"), (False, True), (False, True)
        )
    ]
)
ATOMS = (
    "a = 0",
    "a = 1",
    "a IN (0, 2)",
    "a < 2",
    "a IS NULL",
    "b = 1",
    "b >= 1",
    "beach(photo)",
    "NOT beach(photo)",
    "dog(photo)",
)
ADVERTISED = ("TRUE", "TRUE", "a = 0", "a < 2", "b = 1", "a = 2 OR b = 0", "NOT beach(photo)")


@cache
def read(where: str) -> tuple[Clause, ...]:
    return parse(where, SCHEMA)


@cache
def satisfying(where: str) -> int:
    return WORLD.satisfying(read(where))


def random_where(random: Random) -> str:
    """A disjunction of conjunctions from a small pool, so that texts are often met again."""
    pool = Random(random.randrange(40))
    return " OR ".join(
        " AND ".join(pool.sample(ATOMS, pool.choice((1, 1, 2, 3))))
        for _ in range(pool.choice((1, 1, 2, 3)))
    )


class Scene:
    """A network with people at its brokers who come, go and change their minds."""

    def __init__(self, seed: int, covering: bool, brokers: int = 6) -> None:
        self.random = Random(seed)
        self.network = Network(self.random, read, covering)
        self.subscribed: dict[Identity, str] = {}
        self.advertised: dict[Identity, str] = {}
        self.names = [f"b{number}" for number in range(brokers)]
        for at, name in enumerate(self.names):
            self.network.add(name)
            if at:
                self.network.connect(name, self.random.choice(self.names[:at]))

    def subscribe(self) -> None:
        home, name = self.random.choice(self.names), f"s{self.random.randrange(4)}"
        self.subscribed[home, name] = where = random_where(self.random)
        self.network.tell(home, Subscriber(name), Subscribe(name, where))

    def unsubscribe(self) -> None:
        if self.subscribed:
            home, name = identity = self.random.choice(list(self.subscribed))
            del self.subscribed[identity]
            self.network.tell(home, Subscriber(name), Unsubscribe(name))

    def advertise(self) -> None:
        home, name = self.random.choice(self.names), f"p{self.random.randrange(2)}"
        self.advertised[home, name] = where = self.random.choice(ADVERTISED)
        self.network.tell(home, Publisher(name), Advertise(name, where))

    def unadvertise(self) -> None:
        if self.advertised:
            home, name = identity = self.random.choice(list(self.advertised))
            del self.advertised[identity]
            self.network.tell(home, Publisher(name), Unadvertise(name))

    def move(self) -> None:
        """A link breaks; another one, perhaps the same, joins the two halves."""
        one, other = self.random.choice(list(self.network.edges))
        self.network.disconnect(one, other)
        self.deliver()
        halves = [list(self.network.reachable(end)) for end in (one, other)]
        self.network.connect(*map(self.random.choice, halves))

    def restart(self) -> None:
        name = self.random.choice(self.names)
        self.network.restart(name)
        for known in (self.subscribed, self.advertised):
            for identity in [identity for identity in known if identity[0] == name]:
                del known[identity]

    def deliver(self) -> None:
        for _ in range(self.random.randrange(12)):
            self.network.step()

    def play(self, acts: int, *, topology: bool = True) -> None:
        choices = [self.subscribe] * 6 + [self.unsubscribe] * 3
        if topology:
            choices += [self.advertise] * 3 + [self.unadvertise, self.move, self.restart]
        for _ in range(acts):
            self.random.choice(choices)()
            self.deliver()

    # -- what must hold

    def forward(self, at: str, events: int, source: str = "") -> dict[Identity, int]:
        """Which events reach whom; asserts that none goes where nobody wants it."""
        reached: dict[Identity, int] = {}
        for link, entries in self.network.brokers[at].table.items():
            sent = events & WORLD.satisfying(c for e in entries.values() for c in e.clauses)
            if isinstance(link, Subscriber):
                reached[at, link.subscription_id] = sent
            elif isinstance(link, Neighbour) and link.name != source and sent:
                behind = self.forward(link.name, sent, at)
                arrived = 0
                for some in behind.values():
                    arrived |= some
                assert arrived == sent, f"{at} sends {link.name} what nobody there wants"
                reached |= behind
        return {identity: some for identity, some in reached.items() if some}

    def assert_all_events_reach_those_who_asked(self) -> None:
        for (home, _), where in self.advertised.items():
            side = set(self.network.reachable(home))
            wanted = {
                identity: satisfying(where) & satisfying(text)
                for identity, text in self.subscribed.items()
                if identity[0] in side
            }
            assert self.forward(home, satisfying(where)) == {i: e for i, e in wanted.items() if e}

    def entries_from_neighbours(self) -> dict[Way, dict[Identity, tuple[int, ...]]]:
        return {
            (name, link.name): {identity: entry.numbers for identity, entry in entries.items()}
            for name, broker in self.network.brokers.items()
            for link, entries in broker.table.items()
            if isinstance(link, Neighbour)
        }


COVERING = pytest.mark.parametrize("covering", [True, False], ids=["covering", "plain"])
SEEDS = pytest.mark.parametrize(
    "some_seeds", [range(at, at + 25) for at in range(0, times(100, 1000), 25)], ids=str
)


@COVERING
@SEEDS
def test_when_all_is_quiet_events_reach_exactly_those_who_asked(some_seeds, covering):
    for seed in some_seeds:
        scene = Scene(seed, covering, brokers=2 + seed % 6)
        for _ in range(3):
            scene.play(15)
            scene.network.run()
            scene.assert_all_events_reach_those_who_asked()


@pytest.mark.parametrize("seed", seeds(20, 200))
def test_an_established_subscription_misses_nothing_while_others_come_and_go(seed):
    scene = Scene(seed, covering=True)
    scene.play(25)
    scene.network.run()
    established = dict(scene.subscribed)
    for _ in range(60):
        scene.play(1, topology=False)
        unchanged = {i for i, where in established.items() if scene.subscribed.get(i) == where}
        established = {i: established[i] for i in unchanged}
        for (home, _), where in scene.advertised.items():
            reached = reached_without_checks(scene.network, home, satisfying(where))
            for identity, text in established.items():
                wanted = satisfying(where) & satisfying(text)
                assert reached.get(identity, 0) == wanted


def reached_without_checks(network: Network, home: str, events: int) -> dict[Identity, int]:
    reached: dict[Identity, int] = {}
    stack = [(home, "", events)]
    while stack:
        at, source, some = stack.pop()
        for link, entries in network.brokers[at].table.items():
            sent = some & WORLD.satisfying(c for e in entries.values() for c in e.clauses)
            if isinstance(link, Subscriber):
                reached[at, link.subscription_id] = sent
            elif isinstance(link, Neighbour) and link.name != source and sent:
                stack.append((link.name, at, sent))
    return reached


@pytest.mark.parametrize("seed", seeds(25, 300))
def test_without_covering_a_link_carries_every_clause_that_an_advertisement_overlaps(seed):
    scene = Scene(seed, covering=False)
    scene.play(30)
    scene.network.run()
    expected: dict[Way, dict[Identity, tuple[int, ...]]] = {}
    for one, other in [way for edge in scene.network.edges for way in (edge, edge[::-1])]:
        here = set(scene.network.reachable(one, without=other))
        offered = [c for i, text in scene.advertised.items() if i[0] in here for c in read(text)]
        for identity, text in scene.subscribed.items():
            numbers = tuple(
                number
                for number, clause in enumerate(read(text))
                if any(overlap(clause, offer) for offer in offered)
            )
            if identity[0] not in here and numbers:
                expected.setdefault((one, other), {})[identity] = numbers
    assert scene.entries_from_neighbours() == expected


@pytest.mark.parametrize("seed", seeds(25, 300))
def test_with_covering_no_clause_on_a_link_covers_another(seed):
    scene = Scene(seed, covering=True)
    scene.play(30)
    scene.network.run()
    for broker in scene.network.brokers.values():
        for link, entries in broker.table.items():
            if isinstance(link, Neighbour):
                asked = [clause for entry in entries.values() for clause in entry.clauses]
                assert not any(covers(one, other) for one, other in permutations(asked, 2))


@COVERING
@pytest.mark.parametrize("seed", seeds(10, 100))
def test_after_everyone_unsubscribed_all_tables_are_empty(seed, covering):
    scene = Scene(seed, covering)
    scene.play(40)
    while scene.subscribed:
        scene.unsubscribe()
        scene.deliver()
    scene.network.run()
    assert [broker.table for broker in scene.network.brokers.values()] == [{}] * len(scene.names)


@COVERING
@pytest.mark.parametrize("seed", seeds(10, 100))
def test_after_all_publishers_left_nobody_asks_a_neighbour(seed, covering):
    scene = Scene(seed, covering)
    scene.play(40)
    while scene.advertised:
        scene.unadvertise()
        scene.deliver()
    scene.network.run()
    assert scene.entries_from_neighbours() == {}
    scene.network.delivered.clear()
    scene.play(10, topology=False)
    scene.network.run()
    assert scene.network.delivered == []


@pytest.mark.parametrize("seed", seeds(5, 50))
def test_the_same_messages_give_the_same_answers(seed):
    one, other = Scene(seed, covering=True), Scene(seed, covering=True)
    one.play(40)
    other.play(40)
    assert one.network.delivered == other.network.delivered


# -- one broker


B, C = Neighbour("b"), Neighbour("c")


def broker(*neighbours: Neighbour, covering: bool = True) -> Routing:
    """Broker `a`; through each neighbour a publisher of all events is heard."""
    routing = Routing("a", read, covering)
    for neighbour in neighbours:
        routing.handle(neighbour, Join())
        routing.handle(neighbour, Advertise("p", "TRUE", neighbour.name))
    return routing


def subscribe(routing: Routing, name: str, where: str) -> list[Control]:
    """What the neighbours are sent when someone subscribes."""
    sent = routing.handle(Subscriber(name), Subscribe(name, where))
    return [message for _, message in sent]


def unsubscribe(routing: Routing, name: str) -> list[Control]:
    return [message for _, message in routing.handle(Subscriber(name), Unsubscribe(name))]


def test_an_advertisement_floods_to_all_but_where_it_came_from():
    routing = broker(B, C)
    d = Neighbour("d")
    routing.handle(d, Join())
    assert routing.handle(B, Advertise("q", "a = 1", "x")) == [
        (C, Advertise("q", "a = 1", "x")),
        (d, Advertise("q", "a = 1", "x")),
    ]
    assert routing.handle(B, Unadvertise("q", "x")) == [
        (C, Unadvertise("q", "x")),
        (d, Unadvertise("q", "x")),
    ]


def test_a_publisher_has_its_broker_as_home():
    routing = broker(B)
    sent = routing.handle(Publisher("q"), Advertise("q", "a = 1"))
    assert sent == [(B, Advertise("q", "a = 1", "a"))]
    assert routing.handle(Publisher("q"), Unadvertise("q")) == [(B, Unadvertise("q", "a"))]


def test_an_advertisement_is_sent_on_again_only_if_it_changed():
    routing = broker(B, C)
    routing.handle(B, Advertise("q", "a = 1", "x"))
    assert routing.handle(B, Advertise("q", "a = 1", "x")) == []
    changed = Advertise("q", "a = 2", "x")
    assert routing.handle(B, changed) == [(C, changed)]
    assert routing.handle(B, Unadvertise("q", "nobody")) == []


def test_a_newcomer_hears_of_all_publishers():
    routing = broker(B)
    routing.handle(Publisher("q"), Advertise("q"))
    assert routing.handle(C, Join()) == [
        (C, Advertise("p", "TRUE", "b")),
        (C, Advertise("q", "TRUE", "a")),
    ]


def test_only_clauses_that_an_advertisement_overlaps_are_asked_for():
    routing = Routing("a", read)
    routing.handle(B, Join())
    assert subscribe(routing, "s", "a = 1 OR b = 1 AND a = 0") == []
    sent = routing.handle(B, Advertise("p", "a = 0", "b"))
    assert sent == [(B, Subscribe("s", "a = 1 OR b = 1 AND a = 0", (1,), "a"))]
    sent = routing.handle(B, Advertise("p", "a < 2", "b"))
    assert sent == [(B, Subscribe("s", "a = 1 OR b = 1 AND a = 0", None, "a"))]
    assert routing.handle(B, Unadvertise("p", "b")) == [(B, Unsubscribe("s", "a"))]


def test_a_neighbours_subscription_is_not_asked_of_itself():
    routing = broker(B, C)
    message = Subscribe("s", "a = 1 OR b = 1", (0,), "x")
    assert routing.handle(B, message) == [(C, message)]
    assert routing.handle(B, Unsubscribe("s", "x")) == [(C, Unsubscribe("s", "x"))]


def test_publishers_in_several_directions_are_all_asked():
    sent = broker(B, C).handle(Subscriber("s"), Subscribe("s", "a = 1"))
    message = Subscribe("s", "a = 1", None, "a")
    assert sent == [(B, message), (C, message)]


def test_a_covered_subscription_is_not_sent():
    routing = broker(B)
    subscribe(routing, "wide", "beach(photo)")
    assert subscribe(routing, "narrow", "beach(photo) AND a = 1") == []
    assert unsubscribe(routing, "narrow") == []


def test_without_covering_it_is_sent():
    routing = broker(B, covering=False)
    subscribe(routing, "wide", "beach(photo)")
    assert subscribe(routing, "narrow", "beach(photo) AND a = 1") == [
        Subscribe("narrow", "beach(photo) AND a = 1", None, "a")
    ]


def test_a_broader_subscription_is_announced_before_the_narrow_one_is_withdrawn():
    routing = broker(B)
    subscribe(routing, "narrow", "beach(photo) AND a = 1")
    assert subscribe(routing, "wide", "beach(photo)") == [
        Subscribe("wide", "beach(photo)", None, "a"),
        Unsubscribe("narrow", "a"),
    ]


def test_what_was_covered_is_announced_before_its_coverer_is_withdrawn():
    routing = broker(B)
    subscribe(routing, "wide", "beach(photo)")
    subscribe(routing, "one", "beach(photo) AND a = 1")
    subscribe(routing, "two", "beach(photo) AND a = 2")
    assert unsubscribe(routing, "wide") == [
        Subscribe("one", "beach(photo) AND a = 1", None, "a"),
        Subscribe("two", "beach(photo) AND a = 2", None, "a"),
        Unsubscribe("wide", "a"),
    ]


def test_a_covered_clause_is_left_out_of_its_subscription_and_comes_back():
    routing = broker(B)
    text = "a = 1 OR dog(photo)"
    number = [bool(clause.concepts) for clause in read(text)].index(True)
    subscribe(routing, "s", text)
    assert subscribe(routing, "wide", "a < 2") == [
        Subscribe("wide", "a < 2", None, "a"),
        Subscribe("s", text, (number,), "a"),
    ]
    assert unsubscribe(routing, "wide") == [
        Subscribe("s", text, None, "a"),
        Unsubscribe("wide", "a"),
    ]


def test_a_changed_text_comes_after_what_the_old_one_covered_and_before_what_the_new_one_covers():
    routing = broker(B)
    subscribe(routing, "s", "beach(photo)")
    subscribe(routing, "old", "beach(photo) AND a = 1")
    subscribe(routing, "new", "dog(photo) AND a = 1")
    assert subscribe(routing, "s", "dog(photo)") == [
        Subscribe("old", "beach(photo) AND a = 1", None, "a"),
        Subscribe("s", "dog(photo)", None, "a"),
        Unsubscribe("new", "a"),
    ]


def test_a_subscription_that_changes_to_and_fro_is_never_short_of_a_clause():
    """Its first clause is covered by what uncovers its second: it is asked for both in between."""
    routing = broker(B)
    text = "a = 1 OR dog(photo)"
    first = [bool(clause.concepts) for clause in read(text)].index(False)
    subscribe(routing, "x", "dog(photo)")
    assert subscribe(routing, "s", text) == [Subscribe("s", text, (first,), "a")]
    assert subscribe(routing, "x", "a < 2") == [
        Subscribe("s", text, None, "a"),
        Subscribe("x", "a < 2", None, "a"),
        Subscribe("s", text, (1 - first,), "a"),
    ]


def test_of_equal_subscriptions_the_first_is_sent_and_then_the_next():
    routing = broker(B)
    subscribe(routing, "one", "a = 1")
    assert subscribe(routing, "two", "a = 1") == []
    assert unsubscribe(routing, "one") == [
        Subscribe("two", "a = 1", None, "a"),
        Unsubscribe("one", "a"),
    ]


def test_a_subscription_heard_through_two_links_is_asked_for_until_both_took_it_back():
    routing = broker(B, C, Neighbour("d"))
    text = "a = 1 OR b = 1"
    routing.handle(B, Subscribe("s", text, (0,), "x"))
    sent = dict(routing.handle(C, Subscribe("s", text, (1,), "x")))
    assert sent[Neighbour("d")] == Subscribe("s", text, None, "x")
    sent = dict(routing.handle(B, Unsubscribe("s", "x")))
    assert sent[Neighbour("d")] == Subscribe("s", text, (1,), "x")


def test_of_different_texts_heard_through_two_links_the_later_is_asked_for():
    routing = broker(B, C, Neighbour("d"))
    routing.handle(B, Subscribe("s", "a = 1", None, "x"))
    sent = dict(routing.handle(C, Subscribe("s", "a = 2", None, "x")))
    assert sent[Neighbour("d")] == Subscribe("s", "a = 2", None, "x")
    sent = dict(routing.handle(C, Unsubscribe("s", "x")))
    assert sent[Neighbour("d")] == Subscribe("s", "a = 1", None, "x")


def test_a_subscription_that_wants_nothing_has_an_entry_but_is_not_sent():
    routing = broker(B)
    assert subscribe(routing, "s", "FALSE") == []
    assert routing.table[Subscriber("s")]["a", "s"].clauses == ()


def test_a_neighbour_that_leaves_takes_all_that_it_said():
    routing = broker(B, C)
    routing.handle(B, Subscribe("s", "a = 1", None, "x"))
    assert routing.handle(B, Leave()) == [(C, Unadvertise("p", "b")), (C, Unsubscribe("s", "x"))]
    assert routing.neighbours == ("c",)
    assert routing.table == {}


def test_a_neighbour_that_joins_again_is_sent_everything_again():
    routing = broker(B, C)
    subscribe(routing, "s", "a = 1")
    routing.handle(B, Subscribe("t", "a = 2", None, "x"))
    assert routing.handle(B, Join()) == [
        (C, Unadvertise("p", "b")),
        (B, Advertise("p", "TRUE", "c")),
        (C, Unsubscribe("t", "x")),
    ]
    sent = routing.handle(B, Advertise("p", "TRUE", "b"))
    assert sent == [(C, Advertise("p", "TRUE", "b")), (B, Subscribe("s", "a = 1", None, "a"))]


def test_the_table_shows_each_link_with_its_clauses():
    routing = broker(B)
    subscribe(routing, "s", "a = 1")
    routing.handle(B, Subscribe("t", "a = 1 OR b = 1", (1,), "x"))
    table = routing.table
    assert list(table) == [Subscriber("s"), B]
    assert table[Subscriber("s")]["a", "s"].clauses == read("a = 1")
    entry = table[B]["x", "t"]
    assert (entry.where, entry.clauses) == ("a = 1 OR b = 1", read("a = 1 OR b = 1")[1:])


def test_the_version_grows_by_one_when_the_publication_routing_table_changes():
    routing = broker(B)
    versions = [routing.version]
    calls: Sequence[tuple[Link, Control]] = (
        (Subscriber("s"), Subscribe("s", "a = 1")),
        (Subscriber("s"), Subscribe("s", "a = 1")),
        (B, Subscribe("t", "a = 1", None, "x")),
        (B, Subscribe("u", "a = 1", None, "x")),
        (B, Advertise("q", "TRUE", "x")),
        (Subscriber("s"), Unsubscribe("s")),
        (Subscriber("s"), Unsubscribe("s")),
        (B, Leave()),
        (B, Join()),
    )
    for link, message in calls:
        routing.handle(link, message)
        versions.append(routing.version)
    assert versions == [0, 1, 1, 2, 3, 3, 4, 4, 5, 5]


@pytest.mark.parametrize(
    ("link", "message"),
    [
        (Publisher("p"), Subscribe("p", "TRUE")),
        (Publisher("p"), Unsubscribe("p")),
        (Publisher("p"), Join()),
        (Publisher("p"), Advertise("q")),
        (Subscriber("s"), Advertise("s")),
        (Subscriber("s"), Unadvertise("s")),
        (Subscriber("s"), Join()),
        (Subscriber("s"), Leave()),
        (Subscriber("s"), Subscribe("t", "TRUE")),
        (C, Subscribe("s", "TRUE", None, "c")),
        (C, Advertise("p", "TRUE", "c")),
        (C, Leave()),
        (B, Subscribe("s", "TRUE", (1,), "b")),
    ],
    ids=str,
)
def test_a_message_that_may_not_come_through_its_link_is_refused(link, message):
    routing = broker(B)
    with pytest.raises(OverlayError, match=r"'a'|asks for clause"):
        routing.handle(link, message)
    assert (routing.version, routing.table, routing.neighbours) == (0, {}, ("b",))


@pytest.mark.parametrize("where", ["price < 200", "a <", ""])
def test_a_text_that_cannot_be_read_changes_nothing(where):
    routing = broker(B)
    subscribe(routing, "s", "a = 1")
    with pytest.raises(SubscriptionError):
        routing.handle(Subscriber("s"), Subscribe("s", where))
    with pytest.raises(SubscriptionError):
        routing.handle(B, Advertise("p", where, "b"))
    assert routing.table[Subscriber("s")]["a", "s"].where == "a = 1"
    assert unsubscribe(routing, "s") == [Unsubscribe("s", "a")]
