"""Which model answers which concept of which column.

A concept is answered by one model alone, the cheapest that can, even where another that also knows
it happens to run: two models may disagree, and what an event matches must not depend on which of
them ran.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from caddis.arrays import Int32s
from caddis.errors import ModelError
from caddis.language import Column, Columns, Concept, UnknownColumn, Vocabulary
from caddis.models.functions import checked_cost, checked_selectivity
from caddis.models.model import Model, named


@dataclass(frozen=True, slots=True)
class Reading:
    """A model set to one column: what is run, priced and counted."""

    model: Model
    column: Column

    @property
    def name(self) -> str:
        """The model and its column, as in `efficientnet_lite0(photo)`."""
        return f"{self.model.name}({self.column.name})"


@dataclass(frozen=True, slots=True)
class PassedOver:
    """A model that could answer a concept, but is dearer than the one that does.

    used: the cheaper one.
    """

    concept: Concept
    used: Reading
    instead_of: Reading


@dataclass(frozen=True, slots=True)
class Assignment:
    """Who answers the concepts that were asked for."""

    readings: tuple[Reading, ...]
    """The readings that answer some concept."""
    answered_by: Int32s
    """The place in `readings` of each concept's reading."""
    answer_at: Int32s
    """The column of each concept in its model's answers."""
    passed_over: tuple[PassedOver, ...]


class Catalogue:
    """The models of a match, in the order given."""

    def __init__(self, models: Sequence[Model]) -> None:
        self.models = tuple(models)
        names: set[str] = set()
        for model in self.models:
            _check_model(model)
            if model.name in names:
                raise ModelError(f"two models are called {model.name!r}; name them apart")
            names.add(model.name)
        self.vocabulary = Vocabulary.of(
            (concept, model.reads) for model in self.models for concept in model.concepts
        )

    def vocabulary_for(self, schema: pa.Schema) -> Vocabulary:
        """The concepts, with the columns of these events that some model can read for them.

        A concept that can be asked of every column keeps None, for any column. One that can be
        asked of none is kept without columns, so that it is not taken for an unknown concept.
        """
        columns = list(_columns_of(schema))
        known: dict[str, frozenset[str | None]] = {}
        for model in self.models:
            readable = _readable(model, columns)
            for concept in model.concepts:
                known[concept] = known.get(concept, frozenset()) | readable
        return Vocabulary(known)

    def check(self, schema: pa.Schema) -> None:
        """Raise ModelError if a model reads a column that events lack, or that it cannot read."""
        columns = Columns(schema)
        for model in self.models:
            if model.reads is None:
                continue
            try:
                column = columns.find(tuple(model.reads.split(".")))
            except UnknownColumn as problem:
                raise ModelError(
                    f"the model {model.name!r} reads {model.reads!r}: {problem}"
                ) from None
            model.check_reads(column.whole_type)

    def assign(
        self, concepts: Sequence[Concept], cost_of: Callable[[Reading], float]
    ) -> Assignment:
        """Give each concept to the cheapest model that answers it; of equals, to the first."""
        numbers: dict[Reading, int] = {}
        answered_by, answer_at, passed_over = [], [], []
        for concept in concepts:
            able = self._able(concept)
            used = min(able, key=cost_of)
            answered_by.append(numbers.setdefault(used, len(numbers)))
            answer_at.append(used.model.concepts.index(concept.name))
            passed_over += [PassedOver(concept, used, one) for one in able if one is not used]
        return Assignment(
            tuple(numbers),
            np.array(answered_by, np.int32),
            np.array(answer_at, np.int32),
            tuple(passed_over),
        )

    def _able(self, concept: Concept) -> list[Reading]:
        """The readings that answer a concept: at least one."""
        able, problems = [], []
        for model in self.models:
            if concept.name in model.concepts and _may_read(model, concept.column):
                problem = _refusal(model, concept.column)
                if problem is None:
                    able.append(Reading(model, concept.column))
                else:
                    problems.append(problem)
        if able:
            return able
        why = self.vocabulary.problem(concept.name, concept.column) or problems[0]
        raise ModelError(f"{concept.name}({concept.column.name}): {why}")


def _check_model(given: object) -> None:
    """Raise ModelError if something is no model, or one that is not finished."""
    if isinstance(given, type):
        raise ModelError(f"{given.__name__} is a class; give a model, as in {given.__name__}(...)")
    if not isinstance(given, Model):
        name = getattr(given, "__name__", repr(given))
        hint = "; decorate it with @caddis.concept(...)" if callable(given) else ""
        raise ModelError(f"{name} is no model{hint}")
    for part in ("name", "version", "concepts"):
        if not hasattr(given, part):
            raise ModelError(f"the model {type(given).__name__} has no {part}")
    checked_cost(given.name, given.cost)
    selectivity = checked_selectivity(given.name, named(given.concepts), given.selectivity)
    if named(given.concepts) != tuple(given.concepts) or selectivity != dict(given.selectivity):
        raise ModelError(f"the model {given.name!r} must name its concepts in lower case")


def _may_read(model: Model, column: Column) -> bool:
    return model.reads is None or model.reads.lower() == column.name.lower()


def _readable(model: Model, columns: Sequence[Column]) -> frozenset[str | None]:
    """The names of the columns that a model reads; None for whichever there is."""
    if model.reads is not None:
        return frozenset([model.reads])
    able = [column.name for column in columns if _refusal(model, column) is None]
    return frozenset([None] if len(able) == len(columns) else able)


def _refusal(model: Model, column: Column) -> ModelError | None:
    """Why a model cannot read a column, going by its type; None if it can."""
    try:
        model.check_reads(column.whole_type)
    except ModelError as problem:
        return problem
    return None


def _columns_of(schema: pa.Schema) -> Iterator[Column]:
    """Every column and struct field that has a name of its own."""
    columns = Columns(schema)
    for path in _paths(schema):
        with suppress(UnknownColumn):  # names that differ in nothing but case
            yield columns.find(path)


def _paths(fields: Iterable[pa.Field], above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for field in fields:
        path = (*above, field.name)
        yield path
        if pa.types.is_struct(field.type):
            yield from _paths(field.type, path)
