"""The gate before a broker or reader: which sealed events of a batch are genuine, new and current.

Every event is looked at by itself, in this order, and refused at the first thing that is wrong:

    its parts         all there, of the right length, numbers finite      TruncatedEvent
    its publisher     registered, granted this stream now, its keys safe   UnknownPublisher
    its epoch         the stream's present one, or one that overlaps it    WrongEpoch
    its signature     by the publisher, over all of the event             TamperedEvent
    its number        not seen before in this run of the publisher        ReplayedEvent

The others of its batch go on. Checking an event and remembering it are two steps: only what is
admitted counts as seen, so nobody can use up the number of somebody else's event, and readers count
only what they could open. No secret is needed: the directory is public. Whether filter and tokens
are well made is found out by the matcher, which unpacks them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from caddis.arrays import Int32s
from caddis.errors import (
    AccessError,
    ReplayedEvent,
    SealedEventError,
    TamperedEvent,
    TruncatedEvent,
    UnknownPublisher,
    WrongEpoch,
)
from caddis.sealed.events.replays import Lane, ReplayMemory
from caddis.sealed.events.wire import (
    NUMBER_BYTES,
    Header,
    SealedRow,
    UnreadableRow,
    sealed_rows,
    shown,
    signed_bytes,
)
from caddis.sealed.keys import FIRST_EPOCH, Directory, Span, as_text, covers


@dataclass(frozen=True, slots=True)
class Refusal:
    """An event that was refused: its row, its id if it could be read, and why."""

    row: int
    event_id: str | int | None
    error: SealedEventError


class Admission(NamedTuple):
    """The rows of a batch that may go on, ascending, and the refused ones.

    publishers: the directory by which they were admitted, if there was one. It says how large what
        brokers compare is in each stream.
    """

    rows: Int32s
    refused: tuple[Refusal, ...]
    publishers: Directory | None = None

    @classmethod
    def of_all(cls, rows: int) -> Admission:
        """The admission of all rows of a batch, by a broker that checks nothing but sizes."""
        return cls(np.arange(rows, dtype=np.int32), ())


class Gate:
    """Admits events by what an authority says of publishers and streams.

    publishers: the authority's signed directory of them.
    memory: what was seen already; by default a new one. `NoMemory()` is for those who go through
        the same events again.
    past: whether to admit what was genuine in an epoch that is over, as readers do.
    """

    def __init__(
        self,
        publishers: Directory,
        *,
        memory: ReplayMemory | None = None,
        past: bool = False,
    ) -> None:
        self._directory = publishers
        self._past = past
        self._keys: dict[str, Ed25519PublicKey] = {}
        self._memory = ReplayMemory() if memory is None else memory

    @property
    def publishers(self) -> Directory:
        """The directory by which events are admitted now."""
        return self._directory

    def update(self, publishers: Directory) -> None:
        """Go on with a newer directory of the same authority."""
        known = self._directory
        if publishers.authority != known.authority:
            raise AccessError(
                f"the new directory is of another authority, {publishers.fingerprint}, "
                f"not of {known.fingerprint}"
            )
        if publishers.version < known.version:
            raise AccessError(
                f"the directory of version {publishers.version} is older than the one in use, "
                f"{known.version}"
            )
        if publishers.version == known.version and publishers != known:
            raise AccessError(
                f"the new directory has the version of the one in use, {known.version}, and "
                "says something else: the authority has two histories"
            )
        self._directory = publishers
        self._keys.clear()
        self._memory.forget(self._is_over)

    def admit(self, batch: pa.RecordBatch) -> Admission:
        """Which rows of a batch of sealed events may go on."""
        admitted: list[int] = []
        refused: list[Refusal] = []
        for row, event in enumerate(sealed_rows(batch)):
            try:
                self.remember(self.checked(event))
            except SealedEventError as error:
                refused.append(Refusal(row, event_id_of(event), error))
            else:
                admitted.append(row)
        return Admission(np.array(admitted, np.int32), tuple(refused), self._directory)

    def checked(self, event: SealedRow | UnreadableRow) -> SealedRow:
        """The event if it may go on, or a SealedEventError. It does not count as seen yet."""
        if isinstance(event, UnreadableRow):
            whose = "" if event.publisher is None else f" of {shown(event.publisher)}"
            raise TruncatedEvent(f"event {shown(event.event_id)}{whose}: {event.problem}")
        self._check_length(event)
        self._check_publisher(event.header)
        self._check_epoch(event.header)
        self._check_signature(event)
        self._check_number(event.header)
        return event

    def remember(self, event: SealedRow) -> None:
        """Refuse this event from now on."""
        header = event.header
        self._memory.add(_lane_of(header), header.run, header.number)

    def _check_length(self, event: SealedRow) -> None:
        stream = self._directory.streams.get(event.header.stream)
        if stream is None:
            return
        size = NUMBER_BYTES * stream.outline.dimensions
        if len(event.routing[2]) != size:
            raise TruncatedEvent(
                f"{_named(event.header)}: its point has {len(event.routing[2])} bytes; those of "
                f"{stream.name!r} have {size}"
            )

    def _check_publisher(self, header: Header) -> None:
        directory, name, stream = self._directory, header.publisher, header.stream
        if name not in directory.publishers:
            raise UnknownPublisher(f"{_named(header)}: this publisher is not registered")
        if directory.publishers[name].compromised:
            raise UnknownPublisher(
                f"{_named(header)}: others have the keys of this publisher, too; nothing that was "
                "signed with them is believed"
            )
        if stream not in directory.streams:
            raise UnknownPublisher(f"{_named(header)}: there is no stream {shown(stream)}")
        if not (self._past or directory.may_publish(name, stream)):
            grants = directory.grants(name, stream)
            past = f"; it could in epochs {as_text(grants)}" if grants else ""
            raise UnknownPublisher(
                f"{_named(header)}: this publisher may not publish in {shown(stream)}{past}"
            )

    def _check_epoch(self, header: Header) -> None:
        stream = self._directory.streams[header.stream]
        oldest = FIRST_EPOCH if self._past else stream.accepted_from
        if not oldest <= header.epoch <= stream.epoch:
            state = "is over" if header.epoch < oldest else "has not begun"
            accepted = as_text([Span(oldest, stream.epoch)])
            raise WrongEpoch(
                f"{_named(header)}: epoch {header.epoch} of {stream.name!r} {state}; accepted "
                f"now: {accepted}"
            )
        grants = self._directory.grants(header.publisher, header.stream)
        if not covers(grants, header.epoch):
            raise UnknownPublisher(
                f"{_named(header)}: this publisher may not publish in epoch {header.epoch} of "
                f"{stream.name!r}, but in epochs {as_text(grants)}"
            )

    def _check_signature(self, event: SealedRow) -> None:
        key = self._key(event.header.publisher)
        try:
            key.verify(event.signature, signed_bytes(event.header, event.routing, event.payload))
        except InvalidSignature:
            raise TamperedEvent(
                f"{_named(event.header)}: the signature does not fit; this is not what the "
                "publisher has signed"
            ) from None

    def _check_number(self, header: Header) -> None:
        verdict = self._memory.verdict(_lane_of(header), header.run, header.number)
        if verdict == "full":
            raise ReplayedEvent(
                f"{_named(header)} belongs to a new run, and no more runs of an epoch can be "
                f"remembered; rotate {shown(header.stream)}"
            )
        if verdict == "seen":
            raise ReplayedEvent(
                f"{_named(header)} has been here before: number {header.number} of run {header.run}"
            )

    def _key(self, publisher: str) -> Ed25519PublicKey:
        key = self._keys.get(publisher)
        if key is None:
            verifying = self._directory.publishers[publisher].verifying
            key = self._keys[publisher] = Ed25519PublicKey.from_public_bytes(verifying)
        return key

    def _is_over(self, stream: str, epoch: int) -> bool:
        entry = self._directory.streams.get(stream)
        return not self._past and (entry is None or epoch < entry.accepted_from)


def _named(header: Header) -> str:
    return f"event {shown(header.event_id)} of {shown(header.publisher)}"


def _lane_of(header: Header) -> Lane:
    return header.publisher, header.stream, header.epoch


def event_id_of(event: SealedRow | UnreadableRow) -> str | int | None:
    """The id of an event, if it could be read."""
    return event.header.event_id if isinstance(event, SealedRow) else event.event_id
