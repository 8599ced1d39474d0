"""Channels in virtual time: whatever is lost, late or out of order, each event comes once."""

from dataclasses import replace

import numpy as np
import pytest

from caddis.errors import TopicError
from caddis.lab.simulators.channels import ChannelSimulator, ChannelWorkload, live
from caddis.topics.channels.map import ChannelMap
from caddis.topics.channels.messages import Event, Lost, Settings
from tests.lab.simulators.channel_ledger import Ledger

SEEDS = range(5)
CALM = ChannelWorkload()
WILD = ChannelWorkload(moved=0.8, learn_ms=3_000, missed=0.3, change_ms=400, map_ms=300)
SHORT = Settings(overlap_ms=50)


def lived(
    workload: ChannelWorkload, seed: int, loss: float, settings: Settings | None = None
) -> tuple[ChannelSimulator, Ledger]:
    ledger = Ledger()
    rng = np.random.default_rng(seed)
    world = ChannelSimulator(rng, ledger.hear, loss=loss)
    live(world, workload, ledger, rng, settings)
    ledger.check()
    assert ledger.settled()
    return world, ledger


@pytest.mark.no_cover
@pytest.mark.parametrize("loss", [0.0, 0.01, 0.1, 0.3])
@pytest.mark.parametrize(
    ("workload", "settings"),
    [(CALM, Settings()), (CALM, SHORT), (WILD, Settings()), (WILD, SHORT)],
    ids=["calm", "calm, short overlap", "wild", "wild, short overlap"],
)
def test_each_wanted_event_comes_once_and_in_order(workload, settings, loss):
    delivered = 0
    for seed in SEEDS:
        world, ledger = lived(workload, seed, loss, settings)
        assert not ledger.losses()
        delivered += sum(one.tally.delivered for one in world.receivers.values())
    assert delivered > 500


def test_nobody_asks_for_what_the_overlap_covers():
    steady = replace(CALM, learn_ms=1_500, change_ms=1e9, begin_ms=1_000)
    patient = Settings(overlap_ms=2_000, ask_after_ms=1_000)
    for seed in SEEDS:
        world, _ = lived(steady, seed, 0.0, patient)
        assert not any(one.tally.asks for one in world.receivers.values())
        assert world.traffic.on_channels > world.traffic.published


def test_without_an_overlap_it_takes_questions():
    steady = replace(CALM, learn_ms=1_500, change_ms=1e9, begin_ms=1_000)
    asks = 0
    for seed in SEEDS:
        world, _ = lived(steady, seed, 0.0, SHORT)
        asks += sum(one.tally.asks for one in world.receivers.values())
    assert asks > 20


@pytest.mark.no_cover
def test_with_a_short_history_each_event_comes_or_is_reported():
    settings = Settings(history=2, overlap_ms=50, window=4)
    losses = 0
    for seed in SEEDS:
        world, ledger = lived(replace(CALM, rate=60.0, topics=4), seed, 0.3, settings)
        losses += len(ledger.losses())
        reported = sum(one.last - one.first + 1 for one in ledger.losses())
        assert reported == sum(one.tally.lost for one in world.receivers.values())
    assert losses > 20


def test_a_run_is_determined_by_its_seed():
    one, other = (lived(WILD, 3, 0.1)[0] for _ in range(2))
    assert one.traffic == other.traffic


def test_a_receiver_falls_silent_when_it_has_all():
    world, _ = lived(CALM, 1, 0.1)
    before = world.traffic.sent.copy()
    world.run(world.now + 600_000)
    after = world.traffic.sent
    assert {kind for kind in after if after[kind] != before[kind]} == {"Digest"}


def test_time_does_not_go_back():
    world, moments = ChannelSimulator(np.random.default_rng(0), Ledger().hear), []
    world.run(100)
    world.run(50)
    assert world.now == 100
    world.at(70, lambda: moments.append(world.now))
    world.run(80)
    world.run(120)
    assert moments == [100]
    assert world.now == 120


def test_publishers_and_receivers_have_different_names():
    world, first = ChannelSimulator(np.random.default_rng(0), Ledger().hear), ChannelMap({})
    world.add_publisher("ann", first)
    world.add_receiver("bob", first)
    for add in (world.add_publisher, world.add_receiver):
        for name in ("ann", "bob"):
            with pytest.raises(TopicError, match=f"already a publisher or receiver named '{name}'"):
                add(name, first)


def test_joins_and_leaves_are_lost_as_all_messages_are():
    world, _ = lived(WILD, 1, 0.3)
    for kind in ("Join", "Leave"):
        sent, lost = world.traffic.sent[kind], world.traffic.lost[kind]
        assert 0.15 < lost / (sent + lost) < 0.45
        assert world.traffic.nbytes[kind] == (sent + lost) * len("receiver 0")


# -- the judge itself


@pytest.fixture
def ledger() -> Ledger:
    """Ann has published one event before and three after Bob was acknowledged."""
    made = Ledger()
    made.publishing("ann", "tea")
    made.was_published("ann", "tea")
    made.subscribing("bob", ["tea"])
    made._interests["bob", "tea"].acknowledged["ann"] = made.now()
    for _ in range(3):
        made.publishing("ann", "tea")
        made.was_published("ann", "tea")
    return made


def hand(ledger: Ledger, *numbers: int, publisher: str = "ann") -> None:
    for number in numbers:
        ledger.hear("bob", Event(publisher, "tea", number, f"ann/tea/{number}"))


def test_the_judge_is_content_with_each_once_in_order(ledger):
    hand(ledger, 2, 3, 4)
    assert ledger.settled()
    ledger.check()


def test_the_judge_counts_what_was_reported(ledger):
    ledger.hear("bob", Lost("ann", "tea", 2, 3))
    hand(ledger, 4)
    ledger.check()


@pytest.mark.parametrize(
    "numbers", [(), (2, 3), (3, 4), (2, 4), (2, 3, 3, 4), (2, 4, 3), (1, 2, 3, 4), (2, 3, 4, 4)]
)
def test_the_judge_sees_what_is_missing_double_early_or_out_of_order(ledger, numbers):
    hand(ledger, *numbers)
    with pytest.raises(AssertionError):
        ledger.check()


def test_the_judge_sees_what_was_not_wanted(ledger):
    hand(ledger, 2, 3, 4)
    ledger.unsubscribed("bob", ["tea"])
    ledger.check()
    hand(ledger, 4)
    with pytest.raises(AssertionError):
        ledger.check()
