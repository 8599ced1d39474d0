"""The simulator: real brokers in virtual time."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from caddis.lab.simulators import overlay as simulator
from caddis.lab.simulators.overlay import Crash, _along, simulate
from caddis.lab.simulators.overlay_report import OverlayReport, size_of
from caddis.lab.workloads.instances import Subscription, Workload, parsed, where_of
from caddis.ordering.certificate import Instance
from caddis.overlay.event_broker import EventBroker
from caddis.overlay.forwarding.policies import FORWARDINGS, Forwarding
from caddis.overlay.messages import Event, Learnt, Message, Publish
from caddis.overlay.topology.tree import Topology
from tests.lab.simulators.overlays import drawn_topology, drawn_workload
from tests.overlay.shuffled import patient
from tests.runs import seeds

POLICIES: list[Forwarding] = [*FORWARDINGS.values(), patient(np.inf, 0, 0), patient(0), patient(20)]
HARDY = [one for one in POLICIES if one.sharing is None or np.isfinite(one.sharing.patience_ms)]


def name_of(forwarding: Forwarding) -> str:
    return f"{forwarding.name} {forwarding.sharing}" if forwarding.sharing else forwarding.name


def drawn(seed: int, events: int = 4) -> tuple[Topology, Workload]:
    rng = np.random.default_rng(seed)
    topology = drawn_topology(rng)
    return topology, drawn_workload(rng, topology, events)


@pytest.fixture
def brokers(monkeypatch: pytest.MonkeyPatch) -> list[EventBroker]:
    """Every broker that a simulation makes."""
    made: list[EventBroker] = []

    class Noted(EventBroker):
        def __init__(self, *args: Any, **named: Any) -> None:
            super().__init__(*args, **named)
            made.append(self)

    monkeypatch.setattr(simulator, "EventBroker", Noted)
    return made


# -- who is notified


@pytest.mark.parametrize("interval_ms", [None, 3.0])
@pytest.mark.parametrize("link_delays", [True, False])
@pytest.mark.parametrize("forwarding", POLICIES, ids=name_of)
def test_policies_notify_who_is_expected(forwarding, link_delays, interval_ms, brokers):
    for seed in seeds(2, 8):
        topology, work = drawn(seed)
        found = simulate(
            topology, work, forwarding, link_delays=link_delays, interval_ms=interval_ms
        )
        assert found.notified == work.expected()
        assert (found.repeated, found.resent) == (0, 0)
    assert not any(broker._visits for broker in brokers)


@pytest.mark.no_cover
@pytest.mark.parametrize("interval_ms", [None, 2.0])
@pytest.mark.parametrize("link_delays", [True, False])
@pytest.mark.parametrize("keep", [0, 0.3, 1])
def test_with_infinite_patience_the_whole_overlay_runs_each_model_once(
    keep, link_delays, interval_ms, monkeypatch
):
    ran = []
    ask = simulator._World._ask

    def noted(self, place, link, message):
        ran.append((message.event_id, message.model))
        ask(self, place, link, message)

    monkeypatch.setattr(simulator._World, "_ask", noted)
    for seed in seeds(4, 20):
        ran.clear()
        topology, work = drawn(seed)
        simulate(
            topology,
            work,
            patient(np.inf, 20, keep),
            link_delays=link_delays,
            interval_ms=interval_ms,
        )
        assert len(set(ran)) == len(ran)


@pytest.mark.parametrize("forwarding", HARDY, ids=name_of)
def test_crashes_and_losses_change_nobody_s_notifications(forwarding, brokers):
    repeated = 0
    for seed in seeds(3, 12):
        topology, work = drawn(seed, events=6)
        rng = np.random.default_rng(seed)
        crashes = [
            Crash(str(rng.choice(topology.brokers)), rng.uniform(0, 300), rng.uniform(0, 100))
            for _ in range(12)
        ]
        found = simulate(
            topology, work, forwarding, interval_ms=20, loss=0.2, crashes=crashes, seed=seed
        )
        assert found.notified == work.expected()
        repeated += found.repeated
        if len(topology) > 3:
            assert found.resent > 0
    assert not any(broker._visits for broker in brokers)


# -- time


def numbers(found: OverlayReport) -> list[object]:
    return [
        sorted(found.notified),
        found.latency_ms.tolist(),
        found.work_ms.tolist(),
        sorted(found.messages.items()),
        sorted(found.nbytes.items()),
        found.span_ms,
        found.repeated,
        found.resent,
    ]


def a_run(policy: str) -> list[object]:
    topology, work = drawn(7, events=8)
    crashes = [Crash(topology.brokers[0], 20.0, 30.0)]
    return numbers(
        simulate(topology, work, policy, interval_ms=10, loss=0.2, crashes=crashes, seed=5)
    )


@pytest.mark.parametrize("policy", FORWARDINGS)
def test_a_run_is_determined_by_its_seed(policy):
    assert a_run(policy) == a_run(policy)


def test_a_run_does_not_depend_on_the_hash_of_strings():
    script = (
        "from tests.lab.simulators.test_overlay_simulator import a_run; print(a_run('frontier'))"
    )
    other = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONHASHSEED": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert other.stdout.strip() == str(a_run("frontier"))


def test_links_deliver_in_the_order_of_sending(monkeypatch):
    """Whatever is lost on the way and sent again."""
    sent: dict[tuple[str, str], list[Message]] = {}
    got: dict[tuple[str, str], list[Message]] = {}
    travel, handle = simulator._World._travel, EventBroker.handle

    def noted(self, place, target, message):
        sent.setdefault((self._brokers[place].name, target.name), []).append(message)
        travel(self, place, target, message)

    def heard(self, link, message):
        if isinstance(message, Publish | Learnt) and hasattr(link, "name"):
            got.setdefault((link.name, self.name), []).append(message)
        return handle(self, link, message)

    monkeypatch.setattr(simulator._World, "_travel", noted)
    monkeypatch.setattr(EventBroker, "handle", heard)
    topology, work = drawn(7, events=8)
    simulate(topology, work, "frontier", interval_ms=5, loss=0.3)
    assert sent
    for way, messages in sent.items():
        assert [id(one) for one in got[way]] == [id(one) for one in messages]


@pytest.mark.parametrize("policy", ["air", "mec", "eager", "frontier"])
def test_at_one_broker_events_queue_as_lindley_says(policy):
    """All is decided where it is published: an event waits for the work of those before it."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        topology = Topology(("b",), "b", (-1,), np.zeros(1))
        work = drawn_workload(rng, topology, events=30)
        found = simulate(topology, work, policy, interval_ms=60, seed=seed)
        arrivals = np.cumsum(np.random.default_rng(seed).exponential(60, 30))
        waited, ends = 0.0, []
        for event, service in enumerate(found.work_ms[:, 0].tolist()):
            if event:
                gap = arrivals[event] - arrivals[event - 1]
                waited = max(0.0, waited + float(found.work_ms[event - 1, 0]) - gap)
            ends.append(waited + service)
        last = dict.fromkeys(found.event.tolist(), 0.0)
        for event, latency in zip(found.event.tolist(), found.latency_ms.tolist(), strict=True):
            last[event] = max(last[event], latency)
            assert latency <= ends[event] + 1e-6
        if policy in ("air", "mec"):
            assert last == pytest.approx({event: ends[event] for event in last})


# -- by hand


def a_chain(*homes: str) -> tuple[Topology, Workload]:
    """a -2 ms- b -3 ms- c; c0 takes 10 ms, c1 20 ms, and both are true of the only event.

    homes: of those who ask for c0; the last also of one who asks for both.
    """
    topology = Topology(("a", "b", "c"), "a", (-1, 0, 1), np.array([0, 2.0, 3.0]))
    literals = [*[(0,)] * len(homes), (0, 2)]
    wheres = [where_of(some) for some in literals]
    instance = Instance(
        np.array([10.0, 20.0]),
        np.arange(2, dtype=np.int32),
        np.full(2, 0.5),
        tuple(enumerate(literals)),
        len(literals),
    )
    subscriptions = tuple(
        Subscription(home, f"s{link}", where)
        for link, (home, where) in enumerate(zip((*homes, homes[-1]), wheres, strict=True))
    )
    truth = np.array([[True, True]])
    return topology, Workload(instance, subscriptions, truth, ("a",), parsed(wheres, 2), 500)


def test_a_link_s_delay_is_part_of_the_latency_and_not_of_the_delay():
    """a finds c0 true and forwards; b passes the event on; c decides both of its subscribers."""
    found = simulate(*a_chain("c"), "mec")
    assert found.latency_ms.tolist() == [10 + 2 + 3 + 20] * 2
    assert found.delay_ms.tolist() == [30] * 2
    assert simulate(*a_chain("c"), "mec", link_delays=False).latency_ms.tolist() == [30] * 2
    assert found.work_ms.tolist() == [[10, 0, 20]]
    assert found.path_work_ms.tolist() == [[10, 10, 30]]
    assert (found.cost_ms, found.runs_per_event, found.span_ms) == (30, 2, 35)
    assert found.utilisation.tolist() == [10 / 35, 0, 20 / 35]


def test_bytes_and_messages_are_counted_on_links():
    """The event passes two links; so do the subscriptions, the other way, and the advertisement."""
    found = simulate(*a_chain("c"), "mec", covering=False)
    assert found.messages == {"publish": 2, "subscribe": 4, "advertise": 2}
    event = size_of(Publish(Event(0, nbytes=500), np.zeros(2, np.uint8)))
    assert event > 500
    assert found.nbytes["publish"] == 2 * event
    assert size_of(Learnt(0, (1, 2), (1, 1), (5,))) > size_of(Learnt(0, (1,), (1,)))


def test_what_is_lost_is_sent_again_and_counts_as_often():
    lost = [simulate(*a_chain("c"), "mec", loss=0.5, seed=seed) for seed in range(10)]
    for found in lost:
        assert found.messages["publish"] == 2 + found.resent
        assert found.latency_ms[0] == pytest.approx(35 + found.resent * simulator.RESEND_MS)
    assert len({found.resent for found in lost}) > 1


def test_what_comes_to_a_broker_that_is_down_waits():
    found = simulate(*a_chain("c"), "mec", crashes=[Crash("c", 0.0, 1000.0)])
    assert found.latency_ms.tolist() == [1000 + 20] * 2
    assert found.repeated == 0


def test_a_crash_repeats_the_work_of_what_was_open():
    """a crashes at 5 while it runs c0, and begins anew at 40."""
    found = simulate(*a_chain("a", "c"), "eager", crashes=[Crash("a", 5.0, 35.0)])
    assert found.runs.tolist() == [[2, 0, 1]]
    assert found.latency_ms.tolist() == [50, 50 + 5, 50 + 5 + 20]
    assert found.repeated == 0


def test_a_notification_that_a_broker_forgot_is_made_again():
    """c notifies at 15, crashes at 20 while it runs c1, and is up at 30."""
    found = simulate(*a_chain("c"), "eager", crashes=[Crash("c", 20.0, 10.0)])
    assert found.latency_ms.tolist() == [15, 30 + 20]
    assert found.repeated == 1


def test_a_second_crash_does_not_end_the_first():
    crashes = [Crash("c", 0.0, 1000.0), Crash("c", 1.0, 9.0)]
    found = simulate(*a_chain("c"), "mec", crashes=crashes)
    assert found.latency_ms.tolist() == [1000 + 20] * 2


def test_a_crash_after_all_is_over_changes_nothing():
    """Alarms that nobody waits for must not let it happen early."""
    topology, workload = drawn(3, events=6)
    crashes = [Crash(name, 1e6, 1.0) for name in topology.brokers]
    found = simulate(topology, workload, "frontier", crashes=crashes)
    assert numbers(found) == numbers(simulate(topology, workload, "frontier"))


@pytest.mark.parametrize("policy", FORWARDINGS)
def test_an_event_is_published_when_the_one_before_is_decided(policy):
    topology, work = a_chain("c")
    twice = replace(work, truth=np.repeat(work.truth, 2, axis=0), publishers=("a", "a"))
    one, two = simulate(topology, work, policy), simulate(topology, twice, policy)
    assert two.latency_ms.tolist() == one.latency_ms.tolist() * 2
    assert two.span_ms == pytest.approx(2 * one.span_ms)


def test_nothing_waits_for_clocks_that_nobody_listens_to_any_longer():
    for seed in range(6):
        topology, work = drawn(seed)
        assert simulate(topology, work, patient(1e6)).span_ms < 1e6


# -- means


def a_simulation() -> OverlayReport:
    """Three subscriptions at broker 0 and one at 1; event 0 notified three, event 1 one."""
    found = simulate(*a_chain("c"), "mec")
    return replace(
        found,
        event=np.array([0, 0, 0, 1], np.int32),
        broker=np.array([0, 0, 1, 1], np.int32),
        delay_ms=np.array([10.0, 20.0, 60.0, 100.0]),
        path_work_ms=np.array([[10.0, 30.0], [0.0, 100.0]]),
        subscribers=np.array([3, 1]),
    )


@pytest.mark.parametrize(
    ("mean", "expected"),
    [
        ("notifications", (10 + 20 + 60 + 100) / 4),
        ("brokers", ((10 + 20) / 2 + 60 + 100) / 3),
        ("events", ((10 + 20 + 60) / 3 + 100) / 2),
        ("paths", (3 * 10 + 30 + 3 * 0 + 100) / 8),
    ],
)
def test_means_are_taken_over_what_they_are_named_after(mean, expected):
    assert a_simulation().mean_delay_ms(mean) == pytest.approx(expected)


def test_where_nobody_is_notified_there_is_no_mean():
    none = replace(a_simulation(), event=np.zeros(0, np.int32))
    assert np.isnan(none.mean_delay_ms())


def test_along_sums_what_lies_on_the_way_from_the_root():
    rng = np.random.default_rng(0)
    for _ in range(20):
        tree = drawn_topology(rng)
        tree = tree.rooted_at(str(rng.choice(tree.brokers)))
        values = rng.random((3, len(tree)))
        places = {name: place for place, name in enumerate(tree.brokers)}
        expected = [
            values[:, [places[one] for one in tree.path(name)]].sum(axis=1) for name in tree.brokers
        ]
        assert _along(tree, values) == pytest.approx(np.stack(expected, axis=1))
