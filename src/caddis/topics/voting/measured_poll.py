"""Votes that are held by voting or by aggregation, whichever their difficulty asks for.

Every vote begins in an `Aggregator`, whose root hears the exact sums and the `moments` of all
costs. What it sends down is either the outcome, or that the vote is held by a `Voter` from then on.
A node's new inputs there are no longer told to the Aggregator, but noted in it.

So the Aggregator's sums of a vote that went over may be old. That does no harm. A root that sends
the vote over again, as parts of the tree join, say, is right whatever the sums are. One that makes
an outcome of them is heard by all nodes, which then tell what they noted, until the sums are exact.
A node tells each thing that it noted once, so decisions come to an end once inputs and tree do; and
all nodes of a part of the tree end with the same one, however the parts it grew from had decided.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from caddis.arrays import Bools, Int32s, Int64s
from caddis.topics.links import Link, Sent
from caddis.topics.voting.aggregation import Aggregator, Outcomes, Recount, Sums, cheapest
from caddis.topics.voting.difficulty import choose_protocol, discriminability, moments
from caddis.topics.voting.inputs import vote_numbers
from caddis.topics.voting.voter import Costs, Voter, Votes, checked_costs

Message = Votes | Sums | Outcomes | Recount


class MeasuredPoll:
    """A node's part in some votes on the same number of choices.

    A vote goes over to voting as soon as its sums say that this pays, and stays there until the
    root measures it again (`measure`) or the tree changes.

    changed_share, changes: how many of the inputs are likely to change at once, and how often
        (see `choose_protocol`).
    unit: what costs are counted in when their difficulty is measured (see `moments`); the choice
        is exact with any.

    >>> root, leaf = (MeasuredPoll(choices=2, changed_share=0.01) for _ in range(2))
    >>> _ = root.neighbour_joined("leaf"), leaf.neighbour_joined("root", up=True)
    >>> _ = root.set_input([0, 10])
    >>> [(_, sums)] = leaf.set_input([1, 12])
    >>> [(_, outcomes), (_, votes)] = root.handle("leaf", sums)
    >>> [(_, answer)] = leaf.handle_all([("root", outcomes), ("root", votes)])
    >>> leaf.protocols, leaf.choice()
    (('voting',), 0)
    """

    def __init__(
        self,
        choices: int,
        votes: int = 1,
        *,
        changed_share: float,
        changes: float = math.inf,
        unit: int = 1,
    ) -> None:
        self._voter = Voter(choices, votes)
        self._aggregator = Aggregator(3 * choices + 1, votes, self._decide)
        self._voting: Bools = np.zeros(votes, np.bool_)
        self._inputs: Int64s = np.zeros((votes, choices), np.int64)
        self._open: Bools = np.zeros(votes, np.bool_)
        self._changed_share, self._changes, self._unit = changed_share, changes, unit
        self._pays(math.inf)

    @property
    def choices(self) -> Int32s:
        """By vote: what this node takes for the best now."""
        return np.where(self._voting, self._voter.choices, self._aggregator.choices)

    def choice(self, vote: int = 0) -> int:
        """What this node takes for the best now."""
        return int(self.choices[vote])

    @property
    def protocols(self) -> tuple[str, ...]:
        """By vote: "voting" or "aggregation", as far as this node heard."""
        return tuple("voting" if voting else "aggregation" for voting in self._voting.tolist())

    def measure(self, votes: Int32s | None = None) -> Sent:
        """Choose anew how all votes, or some, are held; the root's to ask."""
        return self._followed(self._aggregator.recount(votes))

    def set_input(self, costs: Costs, votes: Int32s | None = None) -> Sent:
        """Say what each choice costs this node: in all votes, or in some."""
        rows = vote_numbers(votes, len(self._open))
        inputs = checked_costs(costs, len(rows), self._inputs.shape[1])
        measured = np.concatenate([inputs, moments(inputs, self._unit)], axis=1)
        first, voting = ~self._open[rows], self._voting[rows]
        self._inputs[rows], self._open[rows] = inputs, True
        self._aggregator.note_input(measured[voting & ~first], rows[voting & ~first])
        sent = self._voter.set_input(inputs[voting], rows[voting])
        told = first | ~voting
        return sent + self._followed(self._aggregator.set_input(measured[told], rows[told]))

    def neighbour_joined(self, link: Link, *, up: bool = False) -> Sent:
        """A link came up: with `up`, one that leads to the root."""
        sent = self._voter.neighbour_joined(link, up=up)
        return sent + self._followed(self._aggregator.neighbour_joined(link, up=up))

    def neighbour_left(self, link: Link) -> Sent:
        """A link went down, with all that came through it."""
        sent = self._voter.neighbour_left(link)
        return sent + self._followed(self._aggregator.neighbour_left(link))

    def handle(self, link: Link, message: Message) -> Sent:
        """A neighbour had something to say."""
        return self.handle_all([(link, message)])

    def handle_all(self, heard: Sequence[tuple[Link, Message]]) -> Sent:
        """Some neighbours had something to say: take it all in, then answer.

        A vote that goes over begins with this node's own input, before it hears of others': the
        less neighbours know of each other at first, the more may change later without a word.
        """
        counted = [(link, message) for link, message in heard if not isinstance(message, Votes)]
        cast = [(link, message) for link, message in heard if isinstance(message, Votes)]
        sent = self._followed(self._aggregator.handle_all(counted)) if counted else []
        return sent + self._voter.handle_all(cast) if cast else sent

    def _followed(self, sent: Sent) -> Sent:
        """Go by what the Aggregator says now: put inputs into votes that went over to voting."""
        before, self._voting = self._voting, self._aggregator.choices == self._inputs.shape[1]
        new = np.flatnonzero(self._voting & ~before & self._open).astype(np.int32)
        return sent + self._voter.set_input(self._inputs[new], new) if len(new) else sent

    def _decide(self, sums: Int64s) -> Int32s:
        """By vote: its outcome, or the number of choices if it is to be held by voting."""
        choices = self._inputs.shape[1]
        outcomes, measured = cheapest(sums[:, :choices]), sums[:, choices:]
        pays = [self._pays(difficulty) for difficulty in discriminability(measured).tolist()]
        alone = measured[:, 0] == 1
        outcomes[np.array(pays, np.bool_) & ~alone] = choices
        return outcomes

    def _pays(self, difficulty: float) -> bool:
        share, changes = self._changed_share, self._changes
        chosen = choose_protocol(difficulty, share, changes=changes, standing="aggregation")
        return chosen == "voting"
