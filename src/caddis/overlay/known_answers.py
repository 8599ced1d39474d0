"""What is known about a batch of events: the answers that travel with them between brokers.

Every broker on Spark numbers concepts in its own way, so on the wire a concept is its text, such
as `beach(photo)`, with a mark: NO, YES or UNKNOWN. A concept that is missing was not asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from caddis.arrays import Int32s, offsets_of
from caddis.language import Concept
from caddis.models import UNASKED, Marks

WIRE = pa.map_(pa.string(), pa.int8())
"""The Arrow type on the wire: from a concept's text to its mark."""


def concept_text(concept: Concept) -> str:
    """The text of a concept on the wire, whether it is negated or not.

    >>> from caddis.language import Column
    >>> concept_text(Concept("beach", Column(("album", "page.1"), pa.string())))
    'beach(album.`page.1`)'
    """
    path = (
        part if part.isidentifier() else f"`{part.replace('`', '``')}`"
        for part in concept.column.path
    )
    return f"{concept.name}({'.'.join(path)})"


@dataclass(frozen=True, slots=True, eq=False)
class KnownAnswers:
    """Marks by row and concept; UNASKED where nothing is known.

    >>> known = KnownAnswers.nothing(2).joined(["dog(photo)"], np.array([[1], [3]], np.uint8))
    >>> known.to_arrow().to_pylist()
    [[('dog(photo)', 1)], []]
    """

    concepts: tuple[str, ...]
    marks: Marks

    @classmethod
    def nothing(cls, rows: int) -> KnownAnswers:
        """The state of events about which nothing is known."""
        return cls((), np.zeros((rows, 0), np.uint8))

    @classmethod
    def from_arrow(cls, maps: pa.MapArray) -> KnownAnswers:
        """Read what came from the wire."""
        # A sliced array keeps its whole children, so its first offset need not be 0.
        offsets = np.asarray(maps.offsets)
        begin, length = int(offsets[0]), int(offsets[-1] - offsets[0])
        keys = maps.keys.slice(begin, length).dictionary_encode()
        marks = np.full((len(maps), len(keys.dictionary)), UNASKED, np.uint8)
        rows = np.repeat(np.arange(len(maps)), np.diff(offsets))
        items = maps.items.slice(begin, length)
        marks[rows, keys.indices.to_numpy()] = items.to_numpy().astype(np.uint8)
        return cls(tuple(keys.dictionary.to_pylist()), marks)

    def to_arrow(self) -> pa.MapArray:
        """The form that goes on the wire."""
        asked = self.marks != UNASKED
        rows, concepts = np.nonzero(asked)
        offsets = offsets_of(asked.sum(axis=1), np.int32)
        keys = pa.array(self.concepts, pa.string()).take(pa.array(concepts))
        items = pa.array(self.marks[rows, concepts].astype(np.int8))
        return pa.MapArray.from_arrays(pa.array(offsets), keys, items)

    def __len__(self) -> int:
        return len(self.marks)

    def take(self, rows: Int32s) -> KnownAnswers:
        """What is known about some of the events, in this order."""
        return KnownAnswers(self.concepts, self.marks[rows])

    def of(self, concepts: Sequence[str]) -> Marks:
        """The marks of these concepts: a row for each event, a column for each concept."""
        places = {text: place for place, text in enumerate(self.concepts)}
        marks = np.full((len(self), len(concepts)), UNASKED, np.uint8)
        for column, text in enumerate(concepts):
            if text in places:
                marks[:, column] = self.marks[:, places[text]]
        return marks

    def joined(self, concepts: Sequence[str], marks: Marks) -> KnownAnswers:
        """The same and what else is known, which is given by row and concept."""
        texts = tuple(dict.fromkeys([*self.concepts, *concepts]))
        both = self.of(texts)
        for column, text in enumerate(concepts):
            place = texts.index(text)
            # UNASKED is the highest mark, so the lower of two marks is what is known.
            both[:, place] = np.minimum(both[:, place], marks[:, column])
        return KnownAnswers(texts, both)
