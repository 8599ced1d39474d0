"""What the root of the tree decides: when votes have settled, and what is voted on next.

The leader sees the votes as every node does, and follows the `Schedule`. Voting does not say when
it is done; so choices count as settled when they have stayed for a while. If that was too early,
the votes go on, and what is wrong then is seen at rest: when the choices stay away from the map for
a while, topics are stirred again. Sums that come up with all reports are exact, and need no while.
"""

from __future__ import annotations

import math
from typing import NamedTuple, get_args

import numpy as np

from caddis.arrays import Int32s
from caddis.errors import TopicError
from caddis.topics.clustering.messages import Stage
from caddis.topics.clustering.schedule import Mode, Schedule, Wave
from caddis.topics.links import Wake


class Step(NamedTuple):
    """What is to be announced: topics that vote at the schedule's map."""

    stage: Stage
    topics: Int32s


class SettledWave(NamedTuple):
    """What a wave was.

    topics: how many voted.
    cost: what all nodes together paid at the map that they voted on.
    """

    mode: Mode
    topics: int
    cost: int


class Alarm:
    """The one alarm that a leader may have set; an earlier one that rings late is not heard."""

    def __init__(self, after_ms: float) -> None:
        if not 0 <= after_ms < math.inf:
            raise TopicError(f"a while is 0 ms or longer, not {after_ms:g}: see settle_ms")
        self.is_set = False
        self._after_ms = after_ms
        self._token = 0
        self._rang = False

    def set(self) -> Wake:
        """Begin to wait."""
        self._token, self.is_set = self._token + 1, True
        return Wake(self._after_ms, self._token)

    def hear(self, wake: Wake) -> None:
        """Some alarm rings."""
        if self.is_set and wake.token == self._token:
            self.is_set, self._rang = False, True

    def cancel(self) -> None:
        """Wait no longer."""
        self.is_set = self._rang = False

    def rang(self) -> bool:
        """Whether it rang since this was last asked."""
        rang, self._rang = self._rang, False
        return rang


class Leader:
    """A schedule, driven by the votes that one node sees.

    exact: whether choices are settled once all have reported.
    tolerant: whether votes that still want to move when the schedule rests are let be.
    """

    def __init__(self, schedule: Schedule, *, exact: bool, tolerant: bool) -> None:
        self.schedule = schedule
        self.waves = 0
        """How many have settled so far."""
        self.series: list[SettledWave] = []
        """Those since rest was last left."""
        self._exact, self._tolerant = exact, tolerant
        self._wave: Wave | None = None
        self._seen: Int32s | None = None
        """What the votes came to when the alarm was set."""
        self._enough = False
        """Whether the schedule found this map good enough."""
        self._accepted: Int32s | None = None
        """By topic: what its vote came to then, be it the topic's channel or not."""

    @property
    def at_rest(self) -> bool:
        """Whether no wave is on; the votes may yet stir."""
        return self._wave is None

    def begin(self, mode: Mode) -> Step:
        """Cluster from the beginning."""
        return self._step(self.schedule.begin(mode))

    def rest(self) -> Step:
        """Have all topics voted on at the map, to see whether they agree with it."""
        self._wave = None
        return Step("rest", np.arange(len(self.schedule.channels), dtype=np.int32))

    def needs_alarm(self, choices: Int32s) -> bool:
        """Whether choices have to stay for a while from now on. Reports are complete."""
        self._seen = None if self._exact_now else self._concern(choices)
        return self._seen is not None

    def decide(self, choices: Int32s, cost: int, *, rang: bool) -> Step | None:
        """What comes next, if all is settled. Reports are complete.

        rang: whether the while is over.
        """
        concern = self._concern(choices)
        if concern is None or not (self._exact_now or rang):
            return None
        if not (self._exact_now or self._stayed(concern)):
            return None
        return self._settle(self._wave, concern, cost) if self._wave else self._stir(choices)

    @property
    def _exact_now(self) -> bool:
        return self._exact and self._wave is not None

    def _concern(self, choices: Int32s) -> Int32s | None:
        """The choices that must settle; None if none matter."""
        if self._wave is not None:
            return choices[self._wave.topics]
        if self._enough and self._accepted is None:
            return choices
        return choices if len(self._moved(choices)) else None

    def _stayed(self, concern: Int32s) -> bool:
        return self._seen is not None and np.array_equal(concern, self._seen)

    def _moved(self, choices: Int32s) -> Int32s:
        """At rest: topics whose votes want to move, and did not when the rest began."""
        moved = choices != self.schedule.channels
        if self._accepted is not None:
            moved &= choices != self._accepted
        return np.flatnonzero(moved).astype(np.int32)

    def _settle(self, wave: Wave, chosen: Int32s, cost: int) -> Step:
        self.waves += 1
        self.series.append(SettledWave(wave.mode, len(wave.topics), cost))
        following = self.schedule.settle(chosen, cost)
        if following is not None:
            return self._step(following)
        self._enough = self._tolerant
        return self.rest()

    def _stir(self, choices: Int32s) -> Step | None:
        if self._enough and self._accepted is None:
            self._accepted = choices.copy()
            return None
        self._enough, self._accepted = False, None
        self.series = []
        return self._step(self.schedule.stir(self._moved(choices)))

    def _step(self, wave: Wave) -> Step:
        self._wave = wave
        return Step(wave.mode, wave.topics)


def check_beginning(topics: int, k: float, start: str) -> None:
    """Refuse what no leader could begin with."""
    if not topics:
        raise TopicError("there are no topics to cluster")
    if not isinstance(k, int | np.integer) or k < 1:
        raise TopicError(f"topics share 1 channel or more, a whole number, not {k}")
    if start not in get_args(Mode):
        raise TopicError(f"unknown start {start!r}: it is one of {sorted(get_args(Mode))}")
