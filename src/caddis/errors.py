"""Every error that Caddis raises on purpose, in one tree.

    CaddisError
    ├── SubscriptionError         a WHERE clause is wrong: where in it, and what would be right
    ├── InvalidSubscriptions      some of many cannot be used; holds a SubscriptionError for each
    ├── SubscriptionTableError    the table of subscriptions is wrong: columns, ids
    ├── EventError                events do not fit: column types, duplicate or null keys
    ├── ModelError                a model cannot be used, or its failure stops the match
    ├── IndexFolderError          a saved matcher or store cannot be read
    ├── OverlayError              an overlay file, topology or broker message is not usable
    ├── TopicError                interests, rates, votes or channels are not usable
    ├── FilterError               a Bloom filter of this size or rate cannot be made
    ├── SealedError               sealed events, sealed subscriptions or keys are not usable
    │   ├── KeyFileError          a file with keys is missing, damaged or open to others
    │   ├── AccessError           a party is not registered, or a stream is not open to it
    │   └── SealedEventError      one sealed event is refused:
    │       ├── TruncatedEvent        a part of it is missing, too short or too long
    │       ├── UnknownPublisher      its publisher is not registered, or may not publish this
    │       ├── WrongEpoch            its epoch is over, or has not begun
    │       ├── TamperedEvent         its signature or its payload's seal does not fit
    │       ├── ReplayedEvent         it was received before
    │       └── NotEntitled           the reader has no key of its epoch
    └── EnvironmentProblem        Java, Spark or the machine lacks what Caddis needs

Messages are for the person who made the mistake: what was wrong, where, what would be right.
"""

from __future__ import annotations

from collections.abc import Sequence


class CaddisError(Exception):
    """Base of all errors that Caddis raises on purpose."""


class SubscriptionError(CaddisError):
    """A WHERE clause that cannot be used, with the place in its text.

    >>> print(SubscriptionError("unknown column 'pricee'", "pricee < 200", (0, 6), "alice-17"))
    subscription 'alice-17': unknown column 'pricee'
      pricee < 200
      ^^^^^^
    """

    def __init__(
        self,
        problem: str,
        where: str,
        span: tuple[int, int] | None = None,
        subscription_id: object = None,
    ) -> None:
        self.problem = problem
        self.where = where
        self.span = span
        self.subscription_id = subscription_id
        super().__init__(problem)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.problem, self.where, self.span, self.subscription_id)

    def __str__(self) -> str:
        owner = "" if self.subscription_id is None else f"subscription {self.subscription_id!r}: "
        return f"{owner}{self.problem}{_pointed(self.where, self.span)}"


class InvalidSubscriptions(CaddisError):
    """Some subscriptions cannot be used; `errors` holds one SubscriptionError for each."""

    shown = 5

    def __init__(self, errors: Sequence[SubscriptionError]) -> None:
        self.errors = tuple(errors)
        super().__init__(self._summary())

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.errors,)

    def _summary(self) -> str:
        head = [str(error) for error in self.errors[: self.shown]]
        more = len(self.errors) - len(head)
        if more:
            head.append(f"... and {more:,} more subscriptions with errors")
        return "\n".join(head)


class SubscriptionTableError(CaddisError):
    """The table of subscriptions lacks a column, or its ids are null or not unique."""


class EventError(CaddisError):
    """A batch of events does not fit the schema, or its keys are null or not unique."""


class ModelError(CaddisError):
    """A model cannot be loaded or used, or it failed and its failure stops the match."""


class IndexFolderError(CaddisError):
    """A saved matcher or subscription store is missing, damaged or of another format."""


class OverlayError(CaddisError):
    """An overlay file, topology or broker message is not usable."""


class TopicError(CaddisError):
    """Interests, rates, votes or channels are not usable."""


class FilterError(CaddisError):
    """A Bloom filter of this size or rate cannot be made."""


class SealedError(CaddisError):
    """Sealed events, sealed subscriptions or keys are not usable."""


class KeyFileError(SealedError):
    """A file with keys is missing, damaged, of another kind or open to others."""


class AccessError(SealedError):
    """A party is not registered, or a stream is not open to it."""


class SealedEventError(SealedError):
    """One sealed event is refused; the others of its batch are not."""


class TruncatedEvent(SealedEventError):
    """A part of a sealed event is missing, too short or too long."""


class UnknownPublisher(SealedEventError):
    """The publisher is not registered, or may not publish on this stream."""


class WrongEpoch(SealedEventError):
    """The epoch that an event was sealed in is over, or has not begun."""


class TamperedEvent(SealedEventError):
    """The signature or the payload's seal does not fit: something was changed."""


class ReplayedEvent(SealedEventError):
    """The event was received before."""


class NotEntitled(SealedEventError):
    """The reader has no key of the epoch: it was revoked before that epoch, or granted later."""


class EnvironmentProblem(CaddisError):
    """The machine lacks what Caddis needs: Java, Spark, memory or a folder that all workers see."""


def _pointed(where: str, span: tuple[int, int] | None) -> str:
    """The text with carets under the span; only the part around it if the text is long."""
    if span is None:
        return f"\n  {_excerpt(where, 0, 160)[0]}" if where else ""
    line_start = where.rfind("\n", 0, span[0]) + 1
    line_end = where.find("\n", span[0])
    line = where[line_start : line_end if line_end >= 0 else len(where)]
    start, width = span[0] - line_start, max(1, span[1] - span[0])
    text, offset = _excerpt(line, start, 160)
    width = min(width, max(1, len(text) - (start - offset)))
    return f"\n  {text}\n  {' ' * (start - offset)}{'^' * width}"


def _excerpt(line: str, around: int, width: int) -> tuple[str, int]:
    """At most `width` characters of the line around a position, and where they begin."""
    line = line.replace("\t", " ")
    begin = max(0, min(around - width // 2, len(line) - width))
    return line[begin : begin + width], begin
