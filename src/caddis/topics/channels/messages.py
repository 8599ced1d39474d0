"""What publishers and receivers of channels say to each other, and through which links.

A channel delivers an event to those who have joined it: perhaps late, out of order, twice or never.
Control messages may be late or lost, too. So every question is asked again until it is answered,
every answer may come twice, and a `Join` or `Leave` that had no effect is sent again. Nothing is
relied on but an event's name: its publisher, its topic, and its number, which counts from 1 for
each pair of these.

Publishers and receivers are state machines without I/O, as all nodes of this room. Whoever drives
them carries what they say to a channel, to everybody on the other side, to one peer, or to the
subscriber.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import Enum
from math import inf
from typing import NamedTuple

from caddis.errors import TopicError
from caddis.topics.channels.map import is_whole


class Channel(NamedTuple):
    """The link to all who have joined a channel."""

    number: int


class Peer(NamedTuple):
    """The link to one publisher or receiver."""

    name: str


class Reach(Enum):
    """Links that need no name."""

    CONTROL = "control"
    SUBSCRIBER = "subscriber"


CONTROL = Reach.CONTROL
"""The link from a publisher to all receivers, or from a receiver to all publishers.

New maps come from here.
"""

SUBSCRIBER = Reach.SUBSCRIBER
"""The link to the subscriber, who gets events in order and hears what was lost."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Times and sizes of a dissemination. All publishers and receivers should have the same.

    overlap_ms: how long an old map serves beside the new one. If it is twice the time in which all
        learn of a new map, no event is late.
    digest_ms: the pause between two digests, in which a publisher tells its last numbers. While
        nothing is published, the pause doubles each time that all numbers were told.
    idle_digest_ms: the longest such pause.
    digest_topics: the most topics in one digest.
    ask_after_ms: how long a receiver waits for what is missing before it asks. The wait doubles
        with each question that gets no answer; while the publisher is heard of, it is at most four
        times as long.
    ask_at_most_ms: the longest such wait.
    give_up: what is missing is given up as lost after this many questions without any sign of the
        publisher, and one more wait.
    ask_events: the most events in one question.
    history: how many events of each topic a publisher keeps.
    window: how many events of a publisher and topic a receiver holds back at most.
    """

    overlap_ms: float = 2_000.0
    digest_ms: float = 500.0
    idle_digest_ms: float = 30_000.0
    digest_topics: int = 1_000
    ask_after_ms: float = 200.0
    ask_at_most_ms: float = 5_000.0
    give_up: int = 10
    ask_events: int = 256
    history: int = 1_024
    window: int = 4_096

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(field.default, int) and not is_whole(value):
                raise TopicError(f"{field.name} is a whole number, not {value}")
            if not 0 < value < inf:
                raise TopicError(f"{field.name} is more than 0 and finite, not {value}")


class Event(NamedTuple):
    """An event: on channels, to a peer that asked for it again, and to the subscriber."""

    publisher: str
    topic: str
    number: int
    body: object


class Digest(NamedTuple):
    """A publisher's last numbers of some topics; an empty one says that the publisher is there."""

    publisher: str
    numbers: tuple[tuple[str, int], ...]


class Start(NamedTuple):
    """A receiver wants topics from now on.

    A receiver counts its subscriptions in turns. These are all topics that it took up in its turns
    after `since`, up to `turn`.
    """

    receiver: str
    since: int
    turn: int
    topics: tuple[str, ...]


class Started(NamedTuple):
    """A publisher's answer to `Start`: all that it publishes from now on has higher numbers.

    numbers: its last numbers of those of the topics that it has published on.
    """

    publisher: str
    since: int
    turn: int
    numbers: tuple[tuple[str, int], ...]


class Gap(NamedTuple):
    """The first and the last of consecutive events of a topic that have not come."""

    topic: str
    first: int
    last: int


class Ask(NamedTuple):
    """A receiver asks a publisher for events again."""

    receiver: str
    gaps: tuple[Gap, ...]


class Gone(NamedTuple):
    """A publisher no longer has the events of a topic below a number."""

    publisher: str
    topic: str
    before: int


class Join(NamedTuple):
    """A receiver wants what a channel carries."""

    receiver: str


class Leave(NamedTuple):
    """A receiver no longer wants what a channel carries."""

    receiver: str


class Acknowledged(NamedTuple):
    """Tells the subscriber that it gets all that a publisher publishes on topics from now on."""

    publisher: str
    topics: tuple[str, ...]


class Lost(NamedTuple):
    """Tells the subscriber the first and last number of events that can no longer be had."""

    publisher: str
    topic: str
    first: int
    last: int
