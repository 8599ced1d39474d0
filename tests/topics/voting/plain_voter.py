"""Algorithm 1 in plain Python, to hold the compiled one against."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from caddis.arrays import Int32s
from caddis.topics.links import Link, Sent


class PlainVoter:
    """Algorithm 1 of the paper, line by line, for one vote; with any numbers."""

    def __init__(self, choices: int, votes: int = 1) -> None:
        self.own: list[float] = [0] * choices
        self.opened = False
        self.received: dict[Link, list[float]] = {}
        self.sent: dict[Link, list[float]] = {}

    def total(self) -> list[float]:
        return [sum(column) for column in zip(self.own, *self.received.values(), strict=True)]

    def choice(self, vote: int = 0) -> int:
        return self.total().index(min(self.total()))

    @property
    def choices(self) -> Int32s:
        return np.array([self.choice()], np.int32)

    def set_input(self, costs: Any, votes: Int32s | None = None) -> Sent:
        for row in np.reshape(costs, (-1, len(self.own))).tolist():
            self.own, self.opened = row, True
        return self.send_neighbours()

    def neighbour_joined(self, link: Link, *, up: bool = False) -> Sent:
        self.received[link] = [0] * len(self.own)
        return self.send_neighbours()

    def neighbour_left(self, link: Link) -> Sent:
        del self.received[link]
        self.sent.pop(link, None)
        return self.send_neighbours()

    def handle(self, link: Link, message: list[float]) -> Sent:
        return self.handle_all([(link, message)])

    def handle_all(self, heard: Sequence[tuple[Link, list[float]]]) -> Sent:
        self.received.update(heard)
        return self.send_neighbours()

    def send_neighbours(self) -> Sent:
        sent: Sent = []
        for link in self.received if self.opened else []:
            if self.must_send(link):
                rest = [
                    all_of_it - theirs
                    for all_of_it, theirs in zip(self.total(), self.received[link], strict=True)
                ]
                self.sent[link] = [one - min(rest) for one in rest]
                sent.append((link, self.sent[link]))
        return sent

    def was_told(self, link: Link) -> bool:
        return link in self.sent

    def must_send(self, link: Link) -> bool:
        if not self.was_told(link):
            return True
        best, total = self.choice(), self.total()
        shared = [
            one + other for one, other in zip(self.sent[link], self.received[link], strict=True)
        ]
        if shared.index(min(shared)) != best:
            return True
        places = range(len(total))
        return any(total[j] - total[best] < shared[j] - shared[best] for j in places)


class LiteralVoter(PlainVoter):
    """Line 18 as it is printed: to have sent nothing yet is to have sent the zero vector."""

    def was_told(self, link: Link) -> bool:
        return any(self.sent.get(link, []))
