"""What publishers and receivers of channels say to each other, and through what.

A channel delivers an event to those who have joined it: perhaps late, out of order, twice or never.
Control messages may be late or lost, too, so every question is asked again until it is answered,
every answer may come twice, and who joined or left a channel in vain says so again. Nothing but an
event's name is relied on: its publisher, its topic, and its number, from 1 up for each pair of
them. Publishers and receivers are state machines without I/O, as all nodes here; who drives them
carries what they say to a channel, to everybody on the other side, to one peer, or to the
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
    """Links to those who need no name."""

    CONTROL = "control"
    SUBSCRIBER = "subscriber"


CONTROL = Reach.CONTROL
"""All receivers, for a publisher; all publishers, for a receiver. New maps come from here."""

SUBSCRIBER = Reach.SUBSCRIBER
"""Whom a receiver works for: gets events in order, and hears what was lost."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Times and sizes. All publishers and receivers should have the same.

    overlap_ms: how long an old map serves beside the new one. Twice the time in which all learn
        of a new map is enough for no event to be late.
    digest_ms: how often a publisher tells its last numbers; while nothing is published, twice as
        long each time that all were told, up to `idle_digest_ms`.
    digest_topics: the most topics in one digest.
    ask_after_ms: how long a receiver waits for what is missing before it asks; twice as long each
        time without an answer, up to `ask_at_most_ms`, or to four times as long while the
        publisher is heard.
    give_up: after so many questions without any sign of a publisher, and as long a wait as for
        another, what is missing is lost.
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
    """What was published: on channels, to a peer that asked again, and to the subscriber."""

    publisher: str
    topic: str
    number: int
    body: object


class Digest(NamedTuple):
    """A publisher's last numbers, of some of its topics; without any: it is there."""

    publisher: str
    numbers: tuple[tuple[str, int], ...]


class Start(NamedTuple):
    """A receiver wants topics from now on: all that it took up in its turns after `since`."""

    receiver: str
    since: int
    turn: int
    topics: tuple[str, ...]


class Started(NamedTuple):
    """A publisher's answer to `Start`: what it will publish from now on has higher numbers.

    numbers: its last numbers of those topics that it has published on.
    """

    publisher: str
    since: int
    turn: int
    numbers: tuple[tuple[str, int], ...]


class Gap(NamedTuple):
    """Numbers of one publisher and topic that have not come: the first and the last."""

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
    """To the subscriber: all that this publisher publishes on these topics from now on comes."""

    publisher: str
    topics: tuple[str, ...]


class Lost(NamedTuple):
    """To the subscriber: events that can no longer be had, by their first and last number."""

    publisher: str
    topic: str
    first: int
    last: int
