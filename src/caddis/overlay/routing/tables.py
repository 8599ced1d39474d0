"""What the rows of a broker's routing tables are.

A subscription or publisher is known everywhere by its identity: the broker that it is at, and its
name there. A subscription's entry on one link holds the clauses that matter there, with their
numbers in the text, by which they are named further on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from caddis.errors import OverlayError
from caddis.language.predicates import Clause
from caddis.overlay.messages import Link, Subscribe

Read = Callable[[str], tuple[Clause, ...]]
"""The clauses of a WHERE text; raises SubscriptionError if it cannot be used."""

Identity = tuple[str, str]
"""The home of a subscription or publisher, and its name there."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What is wanted on one link by one subscription: `clauses`, which are true if any is.

    numbers: which clauses of the text these are.
    total: how many the text has.
    """

    where: str
    clauses: tuple[Clause, ...]
    numbers: tuple[int, ...]
    total: int

    @staticmethod
    def of(message: Subscribe, read: Read) -> Entry:
        """The entry that a message asks for.

        >>> Entry.of(Subscribe("s", "TRUE"), lambda where: (Clause(()),)).numbers
        (0,)
        """
        clauses = read(message.where)
        numbers = tuple(range(len(clauses))) if message.clauses is None else message.clauses
        for number in numbers:
            if not 0 <= number < len(clauses):
                raise OverlayError(
                    f"subscription {message.subscription_id!r} asks for clause {number}, "
                    f"but its text has {len(clauses)}: {message.where}"
                )
        chosen = tuple(clauses[number] for number in numbers)
        return Entry(message.where, chosen, numbers, len(clauses))

    def numbered(self) -> dict[int, Clause]:
        """The clauses by their numbers."""
        return dict(zip(self.numbers, self.clauses, strict=True))


Table = dict[Link, dict[Identity, Entry]]
"""A publication routing table: who wants what on which link. No link is without an entry."""
