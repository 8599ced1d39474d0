"""Brokers that have no key: they know sealed clauses as opaque values, and deliver all the same."""

from __future__ import annotations

from collections import deque
from functools import partial
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from caddis.errors import (
    ReplayedEvent,
    SealedError,
    SubscriptionError,
    TamperedEvent,
    TruncatedEvent,
)
from caddis.language import Clause, Column, InValues, ValueSet
from caddis.models import Asker, Catalogue, Statistics
from caddis.overlay import messages
from caddis.overlay.batch_routing import BatchRouter, ModelContext
from caddis.overlay.event_broker import EventBroker
from caddis.overlay.forwarding.compiled_graph import Beliefs
from caddis.overlay.forwarding.policies import BATCH_FORWARDINGS, FORWARDINGS
from caddis.overlay.known_answers import KnownAnswers
from caddis.overlay.messages import Advertise, Event, Join, Message, Neighbour, Notification
from caddis.overlay.messages import Subscriber as SubscriberLink
from caddis.overlay.routing.covering import covers
from caddis.overlay.routing.publication_graph import Entry, PublicationRoutingGraph, Table
from caddis.sealed.clauses.subscriptions import as_text
from caddis.sealed.design import SCHEMES, Scheme
from caddis.sealed.events.gate import Gate, Refusal
from caddis.sealed.matcher.blocks import sealed_clauses_of
from caddis.sealed.matcher.matcher import SealedMatcher
from tests.runs import seeds
from tests.sealed.homes import (
    EVENTS,
    WHERES,
    changed,
    clause_table,
    homes,
    pairs,
    sealed_events,
    sealed_wheres,
)

NOTHING_BELIEVED = Beliefs.of((), np.zeros(0), np.zeros(0), np.zeros(0, np.int32))


def texts(table: pa.Table) -> list[str]:
    return [as_text(one) for one in table["where"].to_pylist()]


# ------------------------------------------------------------------------------------- clauses


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_matcher_of_brokers_clauses_finds_what_one_of_the_table_finds(scheme: Scheme):
    table, events = sealed_wheres(scheme), sealed_events(scheme)
    wanted = [*texts(table), texts(table)[0]]
    clauses = clause_table([sealed_clauses_of(text) for text in wanted])
    matcher = SealedMatcher.from_clauses(clauses, pa.array(range(len(wanted))))
    central = pairs(SealedMatcher.compile(table).match(events))
    twice = {(row, len(WHERES)) for row, link in central if link == 0}
    assert pairs(matcher.match(events)) == central | twice


def test_who_wants_everything_gets_every_event_that_is_well_made():
    clauses = clause_table(
        [sealed_clauses_of("TRUE"), sealed_clauses_of(texts(sealed_wheres())[0])]
    )
    matcher = SealedMatcher.from_clauses(clauses, pa.array(["all", "ann"]))
    matches = matcher.match(changed(sealed_events(), 1, "point", b""))
    assert {row for row, link in pairs(matches) if link == 0} == set(range(len(EVENTS))) - {1}


def test_a_clause_covers_itself_and_no_other():
    (first,), (second,) = (sealed_clauses_of(text) for text in texts(sealed_wheres())[:2])
    assert covers(first, first)
    assert not covers(first, second)
    assert covers(Clause(()), first)


@pytest.mark.parametrize("text", ["city = 'Galway'", "sealed:", "sealed:????", "sealed:AAAA", ""])
def test_a_text_that_is_not_sealed_is_refused(text: str):
    with pytest.raises(SubscriptionError):
        sealed_clauses_of(text)


@pytest.mark.parametrize(
    "predicate",
    [
        InValues(Column(("city",), pa.string()), ValueSet.points(b"Galway")),
        InValues(Column(("sealed",), pa.binary()), ValueSet.points(b"x")),
    ],
)
def test_clauses_that_are_not_sealed_make_no_matcher(predicate: InValues):
    clauses = clause_table([(Clause((predicate,)),)])
    with pytest.raises(SealedError, match="sealed"):
        SealedMatcher.from_clauses(clauses, pa.array([0]))


def test_a_broker_hears_of_events_that_are_badly_made():
    clauses = clause_table([sealed_clauses_of("TRUE")])
    refused: list[Refusal] = []
    ids = pa.array(["all"])
    matcher = SealedMatcher.from_clauses(clauses, ids, on_refused=refused.extend)
    found = matcher.candidates(changed(sealed_events(), 1, "epoch", None))
    assert found.rows.tolist() == [0, 2, 3, 4, 5]
    assert [(one.row, type(one.error)) for one in refused] == [(1, TruncatedEvent)]
    assert tuple(refused) == found.refused


# ------------------------------------------------------------------------------------- overlays


class Sites:
    """A random tree of brokers, each with a gate and no key; messages pass in random order."""

    def __init__(self, random: Random, count: int, policy: str, scheme: Scheme) -> None:
        self.random, self.scheme = random, scheme
        self.refused: list[Refusal] = []
        self.notified: set[tuple[int, str]] = set()
        self.gates: dict[str, Gate] = {}
        self.ways: dict[tuple[str, str], deque[Message]] = {}
        self.brokers = {f"b{at}": self.broker(f"b{at}", policy) for at in range(count)}
        names = list(self.brokers)
        for at in range(1, count):
            one, other = names[at], names[random.randrange(at)]
            self.ways[one, other], self.ways[other, one] = deque([Join()]), deque([Join()])
        self.run()

    def broker(self, name: str, policy: str) -> EventBroker:
        compile_clauses = partial(
            SealedMatcher.from_clauses,
            publishers=homes(self.scheme).directory,
            on_refused=self.refused.extend,
        )
        self.gates[name] = Gate(homes(self.scheme).directory)
        return EventBroker(
            name,
            sealed_clauses_of,
            NOTHING_BELIEVED,
            FORWARDINGS[policy],
            compile_clauses=compile_clauses,
        )

    def tell(self, at: str, link: messages.Link | messages.Inside, message: Message) -> None:
        if isinstance(message, messages.Publish) and not self.admitted(at, message.event):
            return
        for to, sent in self.brokers[at].handle(link, message):
            if isinstance(sent, Notification):
                assert isinstance(to, SubscriberLink)
                assert (sent.event_id, to.subscription_id) not in self.notified
                self.notified.add((sent.event_id, to.subscription_id))
            else:
                assert isinstance(to, Neighbour)
                self.ways[at, to.name].append(sent)

    def admitted(self, at: str, event: Event) -> bool:
        """Whether a broker's gate lets an event in; the broker itself may look at it often."""
        admission = self.gates[at].admit(event.row)
        self.refused += admission.refused
        return not admission.refused

    def run(self) -> None:
        while ways := [way for way, queue in self.ways.items() if queue]:
            sender, receiver = way = self.random.choice(ways)
            self.tell(receiver, Neighbour(sender), self.ways[way].popleft())

    def somewhere(self) -> str:
        return self.random.choice(list(self.brokers))

    def subscribe(self, table: pa.Table) -> None:
        for number, text in enumerate(texts(table)):
            name = f"s{number}"
            self.tell(self.somewhere(), SubscriberLink(name), messages.Subscribe(name, text))
        self.run()

    def publish(self, at: str, number: int, row: pa.RecordBatch) -> None:
        known = np.zeros(0, np.uint8)
        self.tell(at, messages.Publisher("pat"), messages.Publish(Event(number, row), known))
        self.run()


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("policy", ["air", "mec", "frontier"])
def test_brokers_without_keys_deliver_what_central_matching_finds(policy: str, scheme: Scheme):
    table = sealed_wheres(scheme)
    for seed in seeds(2, 8):
        random = Random(seed)
        sites = Sites(random, random.randint(1, 7), policy, scheme)
        home = sites.somewhere()
        sites.tell(home, messages.Publisher("pat"), Advertise("pat"))
        sites.run()
        sites.subscribe(table)
        events = homes(scheme).publish()
        for row in range(events.num_rows):
            sites.publish(home, row, events.slice(row, 1))
        central = pairs(SealedMatcher.compile(table).match(events))
        assert sites.notified == {(row, f"s{link}") for row, link in central}
        assert sites.refused == []


@pytest.mark.parametrize("policy", ["air", "mec", "frontier"])
def test_tampered_and_replayed_events_go_no_further_than_the_first_broker(policy: str):
    sites = Sites(Random(1), 4, policy, "tokens")
    for name in sites.brokers:
        sites.tell(name, messages.Publisher("pat"), Advertise("pat"))
    sites.run()
    sites.subscribe(sealed_wheres())
    events = homes().publish()
    home, other = list(sites.brokers)[:2]
    sites.publish(home, 0, events.slice(0, 1))
    delivered = set(sites.notified)
    sites.publish(home, 1, events.slice(0, 1))
    payload = events.column("payload")[1].as_py()
    sites.publish(other, 2, changed(events, 1, "payload", payload + b"?").slice(1, 1))
    assert delivered
    assert sites.notified == delivered
    assert [type(one.error) for one in sites.refused] == [ReplayedEvent, TamperedEvent]
    sites.publish(other, 3, events.slice(1, 1))
    assert sites.notified > delivered


@pytest.mark.parametrize("policy", BATCH_FORWARDINGS)
def test_micro_batches_of_sealed_events_are_routed_by_any_policy(policy: str):
    """Some policies look at a batch twice, which makes no replay of it."""
    wanted = dict(enumerate(texts(sealed_wheres())))
    table: Table = {}
    for number, text in wanted.items():
        link: messages.Link = Neighbour("east") if number % 2 else SubscriberLink(str(number))
        entry = Entry.of(messages.Subscribe(str(number), text), sealed_clauses_of)
        table.setdefault(link, {})["home", str(number)] = entry
    refused: list[Refusal] = []
    graph = PublicationRoutingGraph.compile(
        table,
        compile_clauses=partial(
            SealedMatcher.from_clauses, publishers=homes().directory, on_refused=refused.extend
        ),
    )
    models = ModelContext(Catalogue([]), Statistics(), Asker(cache=None, clock=lambda: 0.0))
    events = homes().publish()
    routed = BatchRouter(graph, models, BATCH_FORWARDINGS[policy]).route(
        events, KnownAnswers.nothing(len(EVENTS))
    )
    found = {
        (row, graph.links[link])
        for row, link in zip(routed.rows.tolist(), routed.links.tolist(), strict=True)
    }
    central = pairs(SealedMatcher.compile(sealed_wheres()).match(events))
    assert found == {
        (row, Neighbour("east") if link % 2 else SubscriberLink(str(link))) for row, link in central
    }
    assert refused == []
