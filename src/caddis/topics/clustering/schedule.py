"""Which topics vote next, when it is enough, and who decides that: K-Means over settled votes.

    leader       one topic a wave, in turn: every move lowers the cost
    concurrent   a random share of the topics a wave: quicker, but moves that would each lower the
                 cost may raise it together

A wave is a set of topics whose votes settle on the same map; their outcomes are adopted together.
Whether that paid shows with the next wave, which brings the cost of the map that it votes on. If
the cost did not fall, the moves are taken back and a random half of them is tried instead; a single
move always pays. So the cost falls until every topic has voted on the same map and none wanted to
move: a local minimum, as long as interests stay as they are. When much changes at once, or again
and again, topics move one after the other, as with a leader.

The first map may be any. With all topics in one channel the leader finds good maps, as the empty
channels draw topics that go together; from a random map where everybody receives every channel no
single move pays.

A `Schedule` knows only outcomes and costs: nodes that send messages, memory and Spark all follow
it. The `Leader` follows it at the root of a tree, where it sees the votes as every node does.
Voting does not say when it is done, so choices count as settled when they have stayed for a while.
If that was too early, the votes go on, and it shows at rest: when the choices differ from the map
for a while, these topics vote again. Sums that come up with all reports are exact, and need no
while.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np

from caddis.arrays import Bools, Int32s
from caddis.errors import TopicError
from caddis.names import did_you_mean
from caddis.topics.clustering.interests import checked_channels

GROWTH = 1.25
"""This many times as many topics may move at once after all that were to move did and it paid."""

Mode = Literal["leader", "concurrent"]
Stage = Mode | Literal["rest"]
"""How topics are voted on at a map: in one of the modes, or not at all, because it is final."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How boldly topics move.

    share: the share of all topics that vote at once in concurrent mode.
    improvement: the schedule rests when all topics had a turn and the cost fell by a smaller share
        than this. With 0 it rests only at a local minimum.
    large_change: if a larger share of the topics wants to move, the leader takes over. When
        everybody's interest in a fifth of the topics changes, 10 to 60% want to move; when it
        changes in all topics, 35 to 95%.
    patience: how many concurrent waves there may be without rest before the leader takes over.
    moves: the share of all topics that may move at once in the beginning; it grows and shrinks as
        that pays.
    """

    share: float = 0.2
    improvement: float = 0.0
    large_change: float = 0.75
    patience: int = 500
    moves: float = 0.2

    def __post_init__(self) -> None:
        if not (0 < self.share <= 1 and 0 < self.moves <= 1):
            raise TopicError(
                f"the shares that vote and move at once are above 0 and at most 1,"
                f" not {self.share} and {self.moves}"
            )
        if not 0 <= self.improvement < 1:
            raise TopicError(f"an improvement is a share of the cost, not {self.improvement}")
        if not 0 <= self.large_change <= 1:
            raise TopicError(f"a large change is a share of the topics, not {self.large_change}")
        if not self.patience >= 1:
            raise TopicError(f"patience lasts for 1 wave or more, not for {self.patience}")


class Wave(NamedTuple):
    """The topics that vote now; all others stay where they are."""

    mode: Mode
    topics: Int32s


class Trial(NamedTuple):
    """Moves whose worth the next wave will show, and the map before them with its cost."""

    channels: Int32s
    cost: int
    topics: Int32s
    choices: Int32s


class Schedule:
    """Decides who votes, and adopts the outcomes that pay.

    >>> schedule = Schedule(np.zeros(3, np.int32), 2, Settings(), np.random.default_rng(1))
    >>> wave = schedule.begin("leader")
    >>> wave.mode, len(wave.topics)
    ('leader', 1)
    >>> while wave := schedule.settle(schedule.channels[wave.topics], cost=7):
    ...     pass
    >>> schedule.channels.tolist(), schedule.waves
    ([0, 0, 0], 3)
    """

    def __init__(
        self, channels: Int32s, k: int, settings: Settings, rng: np.random.Generator
    ) -> None:
        self.channels: Int32s = checked_channels(channels, len(channels), k).copy()
        """The map that the present wave votes on."""
        self.waves = 0
        """How many waves have settled in the present mode."""
        self._settings = settings
        self._rng = rng
        self._wave = Wave("leader", np.zeros(0, np.int32))
        self._size = self._moves = 1
        """How many topics may vote, and how many may move, at once."""
        self._turn: Int32s = np.zeros(0, np.int32)
        """The topics that have yet to vote before all had a turn."""
        self._opens_turn = True
        self._turn_cost: int | None = None
        """What the map cost when the last turn began."""
        self._voted: Bools = np.zeros(len(channels), np.bool_)
        """Whether each topic has voted on the present map, and stays."""
        self._trial: Trial | None = None

    def begin(self, mode: Mode) -> Wave:
        """Let all topics vote again, from the beginning."""
        self._voted[:] = False
        return self._start(mode)

    def stir(self, moved: Int32s) -> Wave:
        """Leave rest, as these topics' votes no longer choose their channels; they vote first."""
        if len(moved) > self._settings.large_change * len(self.channels):
            return self.begin("leader")
        self._voted[:] = True
        self._voted[moved] = False
        return self._start("concurrent")

    def settle(self, choices: Int32s, cost: int) -> Wave | None:
        """Take in the settled votes of a wave; returns the next wave, or None at rest.

        choices: the channels that the wave's topics chose, in its order.
        cost: the cost of the map on which they voted, before the choices are adopted.
        """
        self.waves += 1
        mode, topics = self._wave
        # A single move always pays, as its vote was exact; only several can raise the cost.
        if self._trial and len(self._trial.topics) > 1 and cost >= self._trial.cost:
            self._take_back(self._trial)
            return self._next(mode)
        if self._trial:
            self._moves = max(self._moves, math.ceil(GROWTH * len(self._trial.topics)))
            self._trial = None
        moving = choices != self.channels[topics]
        self._voted[topics[~moving]] = True
        if self._voted.all() or self._enough(cost):
            return None
        if mode == "concurrent" and self.waves >= self._settings.patience:
            return self.begin("leader")
        if moving.any():
            self._try(Trial(self.channels, cost, topics[moving], choices[moving]), self._moves)
        return self._next(mode)

    def _start(self, mode: Mode) -> Wave:
        self.waves = 0
        self._trial = self._turn_cost = None
        self._size = self._most(mode)
        self._moves = math.ceil(self._settings.moves * len(self.channels))
        self._turn = self._turn[:0]
        return self._next(mode)

    def _most(self, mode: Mode) -> int:
        return 1 if mode == "leader" else int(np.ceil(self._settings.share * len(self.channels)))

    def _next(self, mode: Mode) -> Wave:
        left = self._turn[~self._voted[self._turn]]
        if not len(left):
            left = self._rng.permutation(np.flatnonzero(~self._voted)).astype(np.int32)
            self._opens_turn = True
        self._turn = left[self._size :]
        self._wave = Wave(mode, left[: self._size])
        return self._wave

    def _enough(self, cost: int) -> bool:
        """Whether a turn has ended that lowered the cost by too little."""
        if not self._opens_turn:
            return False
        self._opens_turn = False
        before, self._turn_cost = self._turn_cost, cost
        return before is not None and 0 <= before - cost < self._settings.improvement * before

    def _try(self, trial: Trial, most: int) -> None:
        """Make some of the moves; the topics of the others vote next."""
        # Which of the moves pay together is unknown, so those to be made are drawn.
        order = self._rng.permutation(len(trial.topics))
        some, rest = order[:most], order[most:]
        queued = self._turn[~np.isin(self._turn, trial.topics[rest])]
        self._turn = np.concatenate([trial.topics[rest], queued])
        self._trial = trial._replace(topics=trial.topics[some], choices=trial.choices[some])
        self.channels = trial.channels.copy()
        self.channels[self._trial.topics] = self._trial.choices
        self._voted[:] = False
        if len(some) == 1:
            # A vote does not depend on the channel that its own topic is in.
            self._voted[self._trial.topics] = True

    def _take_back(self, trial: Trial) -> None:
        """Make only half of the moves; the votes on the map with all of them are void."""
        self._turn = np.concatenate([self._wave.topics, self._turn])
        self._moves = len(trial.topics) // 2
        self._try(trial, self._moves)


class Step(NamedTuple):
    """What the leader announces: topics that vote on the schedule's map."""

    stage: Stage
    topics: Int32s


class SettledWave(NamedTuple):
    """A wave that has settled.

    topics: how many topics voted.
    cost: what all nodes together paid with the map that they voted on.
    """

    mode: Mode
    topics: int
    cost: int


class Leader:
    """Drives a schedule by the votes that one node sees.

    exact: whether choices are settled as soon as all nodes have reported.
    tolerant: whether topics that still want to move when the schedule rests may stay.
    """

    def __init__(self, schedule: Schedule, *, exact: bool, tolerant: bool) -> None:
        self.schedule = schedule
        self.waves = 0
        """How many waves have settled so far."""
        self.series: list[SettledWave] = []
        """The waves since rest was last left."""
        self._exact, self._tolerant = exact, tolerant
        self._wave: Wave | None = None
        self._seen: Int32s | None = None
        """The choices that mattered when the alarm was set."""
        self._enough = False
        """Whether the schedule rests on this map though topics may still want to move."""
        self._accepted: Int32s | None = None
        """What each topic's vote came to at that rest, whether it is the topic's channel or not."""

    @property
    def at_rest(self) -> bool:
        """Whether no wave is being voted on; votes may still end the rest."""
        return self._wave is None

    def begin(self, mode: Mode) -> Step:
        """Cluster from the beginning."""
        return self._step(self.schedule.begin(mode))

    def rest(self) -> Step:
        """Let all topics vote on the map, to see whether they agree with it."""
        self._wave = None
        return Step("rest", np.arange(len(self.schedule.channels), dtype=np.int32))

    def needs_alarm(self, choices: Int32s) -> bool:
        """Whether choices must now stay for a while; called once reports are complete."""
        self._seen = None if self._exact_now else self._concern(choices)
        return self._seen is not None

    def decide(self, choices: Int32s, cost: int, *, rang: bool) -> Step | None:
        """The next step, if choices have settled; called once reports are complete.

        rang: whether the while is over for which choices have to stay.
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
        """The choices that must settle; None if none matters."""
        if self._wave is not None:
            return choices[self._wave.topics]
        if self._enough and self._accepted is None:
            return choices
        return choices if len(self._moved(choices)) else None

    def _stayed(self, concern: Int32s) -> bool:
        return self._seen is not None and np.array_equal(concern, self._seen)

    def _moved(self, choices: Int32s) -> Int32s:
        """The topics whose votes want to move, and did not when the rest began."""
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


def check_beginning(topics: int, k: float, start: str, settle_ms: float) -> None:
    """Raise on what no leader could begin with."""
    if not topics:
        raise TopicError("there are no topics to cluster")
    if not isinstance(k, int | np.integer) or k < 1:
        raise TopicError(f"the number of channels is a whole number from 1 up, not {k}")
    modes = get_args(Mode)
    if start not in modes:
        hint = did_you_mean(start, modes)
        raise TopicError(f"a clustering starts by {' or '.join(modes)}, not {start!r}{hint}")
    if not 0 <= settle_ms < math.inf:
        raise TopicError(f"choices settle within 0 ms or more, not {settle_ms:g}: see settle_ms")
