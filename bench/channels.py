"""What a change of the map costs on channels, with and without an overlap.

    python bench/channels.py [--quick]

Virtual time: 5 publishers of 20 events a second, 20 receivers that want a quarter of 100 topics in
10 channels; a new map every second moves a tenth of the topics, and all learn of it within half a
second. An event has 200 bytes; a message takes 5 ms at least and 20 ms on average. A row is one run
of 30 s. The figures do not depend on the machine.

    on channels  how often an event is put on a channel
    duplicates   copies that a receiver dropped, for each event that it delivered
    asked        events that were asked for again, for each that was delivered
    overhead     bytes of all other messages, for each byte of events on channels
    delay        from publishing to the subscriber, in ms: median, 99th percentile, most
"""

import argparse
from dataclasses import replace

import numpy as np
from rich.console import Console
from rich.table import Table

from caddis.lab.simulators import ChannelSimulator, ChannelWorkload, live
from caddis.topics.channels import Event, Settings

WORKLOAD = ChannelWorkload(
    publishers=5,
    receivers=20,
    topics=100,
    channels=10,
    seconds=30.0,
    rate=20.0,
    moved=0.1,
    change_ms=1e9,
    begin_ms=1_000.0,
)
PAYLOAD = bytes(200)
COLUMNS = ("overlap, ms", "loss", "on channels", "duplicates", "asked", "overhead", "delay, ms")


class Delays:
    """A witness that only looks at how long events take."""

    def __init__(self, loss: float, rng: np.random.Generator) -> None:
        self.world = ChannelSimulator(rng, self.hear, loss=loss, delay_ms=(5.0, 20.0))
        self.delays: list[float] = []

    def publishing(self, publisher: str, topic: str) -> tuple[float, bytes]:  # noqa: ARG002
        return self.world.now, PAYLOAD

    def was_published(self, publisher: str, topic: str) -> None:
        """Publishing takes no time."""

    def subscribing(self, receiver: str, topics: list[str]) -> None:
        """Only delays count."""

    def unsubscribed(self, receiver: str, topics: list[str]) -> None:
        """Only delays count."""

    def hear(self, receiver: str, message: object) -> None:  # noqa: ARG002
        if isinstance(message, Event):
            assert isinstance(message.body, tuple)
            self.delays.append(self.world.now - message.body[0])


def row(overlap_ms: float, loss: float, workload: ChannelWorkload) -> list[str]:
    rng = np.random.default_rng(1)
    witness = Delays(loss, rng)
    live(witness.world, workload, witness, rng, Settings(overlap_ms=overlap_ms))
    tallies = [one.tally for one in witness.world.receivers.values()]
    traffic = witness.world.traffic
    delivered = sum(one.delivered for one in tallies)
    median, high = np.percentile(witness.delays, [50, 99])
    return [
        f"{overlap_ms:,.0f}",
        f"{loss:.0%}",
        f"{traffic.on_channels / traffic.published:.2f}",
        f"{sum(one.duplicates for one in tallies) / delivered:.3f}",
        f"{sum(one.asked for one in tallies) / delivered:.3f}",
        f"{traffic.nbytes.total() / traffic.nbytes['Event'] - 1:.3f}",
        f"{median:.0f} / {high:,.0f} / {max(witness.delays):,.0f}",
    ]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--quick", action="store_true", help="5 s instead of 30 s")
    quick = arguments.parse_args().quick
    workload = replace(WORKLOAD, seconds=5.0) if quick else WORKLOAD
    table = Table(*COLUMNS)
    for loss in (0.0, 0.01, 0.1, 0.3):
        for overlap_ms in (1.0, 1_000.0, 2_000.0):
            table.add_row(*row(overlap_ms, loss, workload))
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
