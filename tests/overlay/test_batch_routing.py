"""Events that hop from broker to broker in batches reach those whom one match would find."""

import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import cache
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caddis.errors import OverlayError
from caddis.language import Clause, Vocabulary, parse_all
from caddis.models import Asker, Catalogue, Statistics, concept
from caddis.overlay.batch_routing import BatchRouter, ModelContext
from caddis.overlay.forwarding.policies import BATCH_FORWARDINGS
from caddis.overlay.known_answers import KnownAnswers
from caddis.overlay.messages import Advertise, Neighbour, Publisher, Subscribe, Subscriber
from caddis.overlay.routing.publication_graph import PublicationRoutingGraph
from caddis.overlay.routing.routing import Routing
from tests.ordering.clauses import SCHEMA, Where, drawn_events, drawn_where, expected, models
from tests.overlay.network import Network
from tests.runs import times

VOCABULARY = Catalogue(models()).vocabulary
EMEC = BATCH_FORWARDINGS.named(None)


@cache
def read(where: str) -> tuple[Clause, ...]:
    return clauses_of(where, VOCABULARY)


def clauses_of(where: str, vocabulary: Vocabulary) -> tuple[Clause, ...]:
    table = parse_all([where], SCHEMA, concepts=vocabulary)
    return tuple(table.clause(number) for number in range(len(table.owner)))


def context_of(catalogue: Catalogue) -> ModelContext:
    return ModelContext(catalogue, Statistics(), Asker(cache=None, clock=time.perf_counter))


@dataclass
class Overlay:
    """Brokers with their routers, and a record of who got and who ran what."""

    network: Network
    policy: str
    notified: set[tuple[int, str]] = field(default_factory=set)
    ways: set[str] = field(default_factory=set)
    """Paths of events, from the publisher's broker on."""

    def __post_init__(self) -> None:
        self.catalogue = Catalogue(models())
        self.routers = {
            name: BatchRouter(
                PublicationRoutingGraph.compile(routing.table),
                context_of(self.catalogue),
                BATCH_FORWARDINGS[self.policy],
            )
            for name, routing in self.network.brokers.items()
        }

    def publish(self, at: str, batch: pa.RecordBatch) -> None:
        self.hop(at, batch, KnownAnswers.nothing(batch.num_rows), "", at)

    def hop(
        self, at: str, batch: pa.RecordBatch, known: KnownAnswers, source: str, path: str
    ) -> None:
        router = self.routers[at]
        routed = router.route(batch, known, source)
        ids = batch.column("event_id").to_pylist()
        self.ways.add(path)
        by_link = defaultdict(list)
        for row, number in zip(routed.rows.tolist(), routed.links.tolist(), strict=True):
            by_link[router.graph.links[number]].append(row)
        for link, rows in by_link.items():
            if isinstance(link, Subscriber):
                found = {(ids[row], link.subscription_id) for row in rows}
                assert len(found) == len(rows)
                assert not found & self.notified, "a notification came twice"
                self.notified |= found
                continue
            assert isinstance(link, Neighbour)
            assert link.name != source
            # Over the wire, as it is sent.
            sent = KnownAnswers.from_arrow(routed.known.take(np.array(rows)).to_arrow())
            self.hop(link.name, batch.take(pa.array(rows)), sent, at, f"{path}/{link.name}")


def overlay_of(
    random: Random, wheres: list[Where], brokers: int, publishers: list[str], policy: str
) -> Overlay:
    network = Network(random, read)
    names = [f"b{number}" for number in range(brokers)]
    for at, name in enumerate(names):
        network.add(name)
        if at:
            network.connect(name, random.choice(names[:at]))
    for number, where in enumerate(wheres):
        home = random.choice(names)
        network.tell(home, Subscriber(str(number)), Subscribe(str(number), where.text))
    for name in publishers:
        network.tell(name, Publisher(name), Advertise(name))
    network.run()
    return Overlay(network, policy)


@pytest.mark.parametrize("policy", BATCH_FORWARDINGS)
@settings(max_examples=times(15, 150))
@given(seed=st.integers(0, 2**32), brokers=st.integers(1, 6))
def test_notifications_are_those_of_one_match(policy, seed, brokers):
    rng, random = np.random.default_rng(seed), Random(seed)
    wheres = [drawn_where(rng) for _ in range(int(rng.integers(1, 12)))]
    publishers = [f"b{random.randrange(brokers)}", "b0"]
    overlay = overlay_of(random, wheres, brokers, publishers, policy)
    events, batch = drawn_events(rng, 30)
    half = 15
    overlay.publish(publishers[0], batch.slice(0, half))
    overlay.publish(publishers[1], batch.slice(half))
    central = {(row, str(link)) for row, link in expected(wheres, events)}
    assert overlay.notified == central


@pytest.mark.parametrize("policy", BATCH_FORWARDINGS)
@settings(max_examples=times(8, 80))
@given(seed=st.integers(0, 2**32))
def test_no_model_runs_twice_on_the_way_of_an_event(policy, seed):
    rng, random = np.random.default_rng(seed), Random(seed)
    wheres = [drawn_where(rng) for _ in range(10)]
    overlay = overlay_of(random, wheres, 5, ["b0"], policy)
    asked: Counter[tuple[str, int, str]] = Counter()
    for name, router in overlay.routers.items():
        ask = router._models.asker.ask

        def counting(reading, values, name=name, ask=ask):
            for photo in values.to_pylist():
                asked[name, photo, reading.model.name] += 1
            return ask(reading, values)

        router._models.asker.ask = counting  # type: ignore[method-assign]
    photos = [f"{number:08b}" for number in rng.permutation(256)[:30]]
    columns = [list(range(30)), ["Cork", "Galway"] * 15, photos]
    overlay.publish("b0", pa.record_batch(columns, schema=SCHEMA))
    assert set(asked.values()) <= {1}
    for way in overlay.ways:
        ran = [key[1:] for name in way.split("/") for key in asked if key[0] == name]
        assert len(ran) == len(set(ran)), "a model ran again further on"


def test_answers_that_nobody_wanted_here_travel_on():
    @concept(reads="photo", answers=["cat", "dog"])
    def animals(photo: str) -> list[bool]:
        return ["c" in photo, "d" in photo]

    catalogue = Catalogue([animals])

    here = Routing("here", lambda where: clauses_of(where, catalogue.vocabulary))
    here.handle(Subscriber("ann"), Subscribe("ann", "cat(photo)"))
    graph = PublicationRoutingGraph.compile(here.table)
    batch = pa.record_batch([[1], ["Cork"], ["d"]], schema=SCHEMA)
    known = KnownAnswers.nothing(1)
    routed = BatchRouter(graph, context_of(catalogue), EMEC).route(batch, known)
    assert dict(routed.known.to_arrow()[0].as_py()) == {"cat(photo)": 0, "dog(photo)": 1}
    assert routed.rows.tolist() == []


def test_what_a_cheaper_model_answers_is_not_answered_by_another():
    @concept(reads="photo", cost=1.0)
    def cat(photo: str) -> bool:
        return True

    @concept(reads="photo", answers=["cat", "dog"], cost=5.0)
    def animals(photo: str) -> list[bool]:
        return [False, True]

    catalogue = Catalogue([cat, animals])
    here = Routing("here", lambda where: clauses_of(where, catalogue.vocabulary))
    here.handle(Subscriber("ann"), Subscribe("ann", "dog(photo)"))
    graph = PublicationRoutingGraph.compile(here.table)
    batch = pa.record_batch([[1], ["Cork"], ["x"]], schema=SCHEMA)
    routed = BatchRouter(graph, context_of(catalogue), EMEC).route(batch, KnownAnswers.nothing(1))
    assert dict(routed.known.to_arrow()[0].as_py()) == {"dog(photo)": 1}


def test_a_broker_that_wants_nothing_passes_on_nothing():
    graph = PublicationRoutingGraph.compile({})
    batch = pa.record_batch([[1], ["Cork"], ["0" * 8]], schema=SCHEMA)
    for forwarding in BATCH_FORWARDINGS.values():
        router = BatchRouter(graph, context_of(Catalogue(models())), forwarding)
        assert router.route(batch, KnownAnswers.nothing(1)).rows.tolist() == []


def test_known_answers_survive_the_wire_in_slices():
    marks = np.array([[0, 3], [3, 3], [1, 2]], np.uint8)
    known = KnownAnswers(("cat(photo)", "dog(photo)"), marks)
    for begin in range(3):
        sent = known.to_arrow().slice(begin)
        back = KnownAnswers.from_arrow(sent)
        assert np.array_equal(back.of(known.concepts), marks[begin:])


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("frontier", "There are: air, ail, mec, emec"),
        ("eager", "micro-batches have no policy 'eager'"),
        ("emek", "did you mean 'emec'?"),
        ("x", "there is no overlay policy 'x'"),
    ],
)
def test_a_policy_that_is_none_is_refused_with_those_there_are(name, complaint):
    with pytest.raises(OverlayError) as refused:
        BATCH_FORWARDINGS.named(name)
    assert complaint in str(refused.value)
