"""One node's part in the votes on topics: what it puts in, and whom it votes with.

Each topic has a standing vote on its channel. What a node puts in follows from its own interests
and the map: what each channel would cost it with the topic in it (see `interests`). Inputs that
come out as they were are not set again, so a change starts only the votes that it touches.

All costs are doubled, and the leader's are one less where a topic is now, so that among equals the
topic's own channel wins (see `favour_current`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from caddis.arrays import Bools, Int32s, Int64s
from caddis.errors import TopicError
from caddis.names import Registry
from caddis.topics.clustering.interests import favour_current
from caddis.topics.clustering.kernels import own_cost, own_costs
from caddis.topics.links import Link, Sent
from caddis.topics.voting import LARGEST_COUNTED, Aggregator, MeasuredPoll, Poll, Voter

CHANGED_SHARE = 0.01
"""The share of the nodes that is likely to change interests at once, for `measured` votes."""


@dataclass(frozen=True, slots=True)
class VotingProtocol:
    """A way to hold the votes on topics.

    make: makes a poll of that many choices and votes, whose costs are at most the third number.
    exact: whether choices are final as soon as all nodes have reported.
    """

    name: str
    make: Callable[[int, int, int], Poll]
    exact: bool = False


def measured(choices: int, votes: int, most: int) -> MeasuredPoll:
    """Make a poll that counts costs in a unit in which the largest can still be squared."""
    unit = max(1, math.ceil(most / LARGEST_COUNTED))
    return MeasuredPoll(choices, votes, changed_share=CHANGED_SHARE, unit=unit)


PROTOCOLS = Registry(
    "protocol",
    [
        VotingProtocol(
            "aggregation", lambda choices, votes, _: Aggregator(choices, votes), exact=True
        ),
        VotingProtocol("measured", measured),
        VotingProtocol("voting", lambda choices, votes, _: Voter(choices, votes)),
    ],
    default="aggregation",
    error=TopicError,
)


class Ballots:
    """One node's votes, one for each topic."""

    def __init__(self, rates: Int64s, k: int, protocol: VotingProtocol) -> None:
        self.wanted: Bools = np.zeros(len(rates), np.bool_)
        self.due: Bools = np.zeros(len(rates), np.bool_)
        """Whether each topic's input may have changed."""
        self._rates, self._k = rates, k
        self._poll = protocol.make(k, len(rates), 2 * int(rates.sum()))
        self._open: Bools = np.zeros(len(rates), np.bool_)
        self._inputs: Int64s = np.zeros((len(rates), k), np.int64)
        self._voting_with: dict[Link, None] = {}

    @property
    def choices(self) -> Int32s:
        """The channel that each topic's vote comes to, as far as this node knows."""
        return self._poll.choices

    def want(self, topics: Iterable[int]) -> None:
        """Set the topics that the node wants from now on."""
        wanted: Bools = np.zeros(len(self._rates), np.bool_)
        given = np.asarray(list(topics))
        if given.size and given.dtype.kind not in "iu":
            raise TopicError(f"topics are whole numbers, not {given.dtype}")
        if given.size and not 0 <= given.min() <= given.max() < len(wanted):
            raise TopicError(
                f"topics are numbers from 0 to {len(wanted) - 1},"
                f" not {given.min()} to {given.max()}"
            )
        wanted[given.astype(np.int64)] = True
        self.wanted = wanted
        self.doubt()

    def doubt(self) -> None:
        """Mark all inputs that were given: they may have changed."""
        self.due |= self._open

    def join(self, link: Link, *, up: bool) -> Sent:
        """Vote with a neighbour, unless the node does already."""
        if link in self._voting_with:
            return []
        self._voting_with[link] = None
        return self._poll.neighbour_joined(link, up=up)

    def leave(self, link: Link) -> Sent:
        """Vote without a neighbour."""
        if link not in self._voting_with:
            return []
        del self._voting_with[link]
        return self._poll.neighbour_left(link)

    def hear(self, heard: Sequence[tuple[Link, Any]]) -> Sent:
        """Take in what neighbours said in votes."""
        return self._poll.handle_all(heard) if heard else []

    def cast(self, channels: Int32s, *, favour: bool) -> Sent:
        """Put in what is due at a map, as far as it changed; with `favour`, as the leader does."""
        if not self.due.any():
            return []
        topics = np.flatnonzero(self.due).astype(np.int32)
        self.due[:] = False
        costs = own_costs(self.wanted, channels, self._rates, self._k, topics)
        inputs = favour_current(costs, channels[topics]) if favour else 2 * costs
        new = ~self._open[topics] | (inputs != self._inputs[topics]).any(axis=1)
        topics, inputs = topics[new], inputs[new]
        self._inputs[topics], self._open[topics] = inputs, True
        return self._poll.set_input(inputs, topics) if len(topics) else []

    def cost(self, channels: Int32s) -> int:
        """What the node itself receives at a map and does not want."""
        return int(own_cost(self.wanted, channels, self._rates, self._k))


def last_words(sent: Sent) -> Sent:
    """Keep only the last of what a poll says on the same vote through the same link at one time."""
    together: dict[tuple[Link, type], list[Any]] = {}
    for link, message in sent:
        together.setdefault((link, type(message)), []).append(message)
    return [(link, _last(kind, messages)) for (link, kind), messages in together.items()]


def _last(kind: type, messages: list[Any]) -> object:
    if len(messages) == 1:
        return messages[0]
    votes = np.concatenate([votes for votes, _ in reversed(messages)])
    values = np.concatenate([values for _, values in reversed(messages)])
    distinct, places = np.unique(votes, return_index=True)
    return kind(distinct, values[places])
