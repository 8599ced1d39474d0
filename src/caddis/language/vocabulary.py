"""The concepts that subscriptions may call: what the models at hand can answer."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from caddis.language.columns import Column

LISTED = 20


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Each concept's name, with the columns that it can be asked of; None stands for any column.

    A concept without columns is known, but no model can read any column for it.

    >>> Vocabulary({"beach": frozenset([None])}).problem("beech", Column(("photo",), None))
    "unknown concept 'beech'; did you mean 'beach'? There is: beach"
    """

    columns: Mapping[str, frozenset[str | None]] = field(default_factory=dict)

    @classmethod
    def of(cls, known: Iterable[tuple[str, str | None]]) -> Vocabulary:
        """From pairs of a concept and the column that a model reads for it, or None for any."""
        columns: dict[str, frozenset[str | None]] = {}
        for concept, column in known:
            columns[concept] = columns.get(concept, frozenset()) | {column}
        return cls(columns)

    @property
    def pairs(self) -> list[tuple[str, str | None]]:
        """What `of` takes, in order."""
        return [
            (concept, column)
            for concept, columns in sorted(self.columns.items())
            for column in sorted(columns, key=lambda name: name or "")
        ]

    def problem(self, concept: str, column: Column) -> str | None:
        """What is wrong with asking a concept of a column; None if nothing is."""
        if concept not in self.columns:
            return f"unknown concept {concept!r}{self._nearest(concept)}"
        readable = self.columns[concept]
        names = sorted(name for name in readable if name is not None)
        if None in readable or column.name.lower() in (name.lower() for name in names):
            return None
        hint = f"; write {concept}({_either(names)})" if names else ""
        return f"no model reads {column.name!r} for {concept!r}{hint}"

    def _nearest(self, concept: str) -> str:
        if not self.columns:
            return ": a concept needs a model, and no models are given"
        near = difflib.get_close_matches(concept, self.columns, n=1, cutoff=0.6)
        hint = f"did you mean {near[0]!r}? There is: " if near else "there is: "
        names = sorted(self.columns)
        more = ", ..." if len(names) > LISTED else ""
        return f"; {hint}{', '.join(names[:LISTED])}{more}"


def _either(names: list[str]) -> str:
    return " or ".join(names[:LISTED] + ["..."] * (len(names) > LISTED))
