"""How events are decided: which models ran, in which order, and which of their answers mattered.

An answer matters if, when it was given, some clause that was still open asked for it. This follows
the rules of `kernels.residual` in plain Python: it is for a handful of events that a person looks
at, not for a stream.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa

from caddis.arrays import Int32s
from caddis.language import Concept
from caddis.models import NO, UNKNOWN, YES, Asked, Marks, PassedOver, Reading
from caddis.ordering.demand import Demand
from caddis.ordering.executor import Executor, Outcome

Word = Literal["yes", "no", "unknown"]
_WORDS: dict[int, Word] = {YES: "yes", NO: "no", UNKNOWN: "unknown"}


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model answered about a concept.

    concept: its name alone, as in `dog`.
    """

    concept: str
    answer: Word


@dataclass(frozen=True, slots=True)
class Step:
    """A model that was asked about an event, and its answers that mattered."""

    model: str
    """Its name and column, as in `efficientnet_lite0(photo)`."""
    answers: tuple[Answer, ...]
    problem: str | None = None
    """Why there are no answers, if there are none."""


@dataclass(frozen=True, slots=True)
class EventExplained:
    """The models that were asked about an event, in order."""

    event: object
    steps: tuple[Step, ...]
    named: int
    """How many models its candidate clauses name: running everything would have run them."""
    matches: int


@dataclass(frozen=True, slots=True)
class ModelExplained:
    """What a model was seen to cost, and how often it ran and did not have to."""

    name: str
    milliseconds: float
    """What a run took on average; the declared cost if it never ran."""
    runs: int
    avoided: int
    hits: int


@dataclass(frozen=True, slots=True)
class ConceptExplained:
    """A concept that subscriptions call: how often it was true, among known answers."""

    concept: str
    """The call, as in `dog(photo)`."""
    model: str
    true: int
    known: int


@dataclass(frozen=True, slots=True)
class ModelExplanation:
    """How a batch was decided."""

    events: tuple[EventExplained, ...]
    models: tuple[ModelExplained, ...]
    """In the order of the executor's readings."""
    concepts: tuple[ConceptExplained, ...]
    """In the order of the executor's concepts."""
    passed_over: tuple[PassedOver, ...]
    outcome: Outcome


def explain_models(executor: Executor, batch: pa.RecordBatch, keys: pa.Array) -> ModelExplanation:
    """Match a batch, and say how each event was decided.

    keys: what to call its rows.
    """
    asked: list[_AskedRow] = []

    def watch(reading: Reading, rows: Int32s, answers: Asked) -> None:
        place = executor.readings.index(reading)
        reasons = {problem.row: problem.reason for problem in answers.problems}
        asked.extend(
            _AskedRow(row, place, answers.marks[at], reasons.get(at))
            for at, row in enumerate(rows.tolist())
        )

    outcome = executor.match(batch, keys=keys, watch=watch)
    clauses = candidate_clauses(executor, batch)
    retelling = _Retelling(executor, outcome, asked)
    return ModelExplanation(
        tuple(
            retelling.event(row, key, clauses.get(row, []))
            for row, key in enumerate(keys.to_pylist())
        ),
        _models(executor, outcome),
        _concepts(executor, outcome),
        executor.assignment.passed_over,
        outcome,
    )


@dataclass(frozen=True, slots=True)
class CandidateClause:
    """What a candidate clause asks of models, and where it leads."""

    literals: frozenset[int]
    """Concept c is literal 2c, NOT c is 2c + 1; none if nothing is asked."""
    links: frozenset[int]


def candidate_clauses(
    executor: Executor, batch: pa.RecordBatch
) -> dict[int, list[CandidateClause]]:
    """Each row with the clauses whose predicates it satisfies."""
    found: dict[int, list[CandidateClause]] = {}
    rows, clauses = executor.candidates(batch)
    for row, clause in zip(rows.tolist(), clauses.tolist(), strict=True):
        found.setdefault(row, []).append(_clause(executor.demand, clause))
    return found


def reasons(
    executor: Executor, batch: pa.RecordBatch, known: Marks
) -> dict[tuple[int, int], tuple[Answer, ...]]:
    """Each row and link that match, with the answers that made it so; of several, the fewest.

    known: what is known of each row and concept, as an outcome has it.
    """
    found: dict[tuple[int, int], tuple[Answer, ...]] = {}
    for row, clauses in candidate_clauses(executor, batch).items():
        marks = dict(enumerate(known[row].tolist()))
        for clause in sorted(clauses, key=lambda clause: len(clause.literals)):
            if all(_holds(literal, marks) for literal in clause.literals):
                concepts = sorted(literal >> 1 for literal in clause.literals)
                answers = _answers(executor.concepts, {at: marks[at] for at in concepts})
                for link in clause.links:
                    found.setdefault((row, link), answers)
    return found


@dataclass(frozen=True, slots=True)
class _AskedRow:
    """A reading that was asked about a row: its answers to all its concepts, or why it has none."""

    row: int
    reading: int
    marks: Marks
    problem: str | None


class _Residual:
    """What is still open of one event."""

    def __init__(self, clauses: Iterable[CandidateClause], marks: Mapping[int, int]) -> None:
        self._open = list(clauses)
        self._done: set[int] = set()
        self.settle(marks)

    @property
    def concepts(self) -> set[int]:
        """The concepts that an open clause asks for."""
        return {literal >> 1 for clause in self._open for literal in clause.literals}

    def settle(self, marks: Mapping[int, int]) -> None:
        """Draw the conclusions of some answers."""
        thinned = list(_thinned(self._open, marks))
        for clause in thinned:
            if not clause.literals:
                self._done |= clause.links
        self._open = [clause for clause in thinned if not clause.links <= self._done]


def _thinned(
    clauses: Iterable[CandidateClause], marks: Mapping[int, int]
) -> Iterator[CandidateClause]:
    """The clauses that are not refuted, each without what is known to be true."""
    for clause in clauses:
        answered = {literal for literal in clause.literals if literal >> 1 in marks}
        if all(_holds(literal, marks) for literal in answered):
            yield CandidateClause(clause.literals - answered, clause.links)


class _Retelling:
    """Goes through what was asked once more, event by event."""

    def __init__(self, executor: Executor, outcome: Outcome, asked: Iterable[_AskedRow]) -> None:
        self._executor, self._outcome, self._asked = executor, outcome, tuple(asked)

    def event(self, row: int, key: object, clauses: list[CandidateClause]) -> EventExplained:
        asked = [one for one in self._asked if one.row == row]
        residual = _Residual(clauses, self._unasked(row, {one.reading for one in asked}))
        answered_by = self._executor.assignment.answered_by
        named = {int(answered_by[concept]) for concept in residual.concepts}
        steps = tuple(self._step(one, residual) for one in asked)
        matches = int(np.count_nonzero(self._outcome.rows == row))
        return EventExplained(key, steps, len(named), matches)

    def _step(self, asked: _AskedRow, residual: _Residual) -> Step:
        assignment = self._executor.assignment
        concepts = np.flatnonzero(assignment.answered_by == asked.reading)
        marks = asked.marks[assignment.answer_at[concepts]]
        given = dict(zip(concepts.tolist(), marks.tolist(), strict=True))
        mattered = {concept: given[concept] for concept in given if concept in residual.concepts}
        residual.settle(given)
        answers = () if asked.problem else _answers(self._executor.concepts, mattered)
        return Step(self._executor.readings[asked.reading].name, answers, asked.problem)

    def _unasked(self, row: int, asked: set[int]) -> dict[int, int]:
        """The concepts that are unknown without asking, since their column is null."""
        others = ~np.isin(self._executor.assignment.answered_by, list(asked))
        unknown = np.flatnonzero((self._outcome.known[row] == UNKNOWN) & others)
        return dict.fromkeys(unknown.tolist(), UNKNOWN)


def _models(executor: Executor, outcome: Outcome) -> tuple[ModelExplained, ...]:
    found = []
    for reading, tally in zip(executor.readings, outcome.tallies, strict=True):
        cost = tally.milliseconds / tally.runs if tally.runs else reading.model.cost
        found.append(ModelExplained(reading.name, cost, tally.runs, tally.saved, tally.hits))
    return tuple(found)


def _concepts(executor: Executor, outcome: Outcome) -> tuple[ConceptExplained, ...]:
    found = []
    assignment = executor.assignment
    places = zip(assignment.answered_by.tolist(), assignment.answer_at.tolist(), strict=True)
    for concept, (reading, at) in zip(executor.concepts, places, strict=True):
        tally, name = outcome.tallies[reading], executor.readings[reading].name
        true, known = (int(counts[at]) if len(counts) else 0 for counts in (tally.yes, tally.known))
        called = f"{concept.name}({concept.column.name})"
        found.append(ConceptExplained(called, name, true, known))
    return tuple(found)


def _clause(demand: Demand, clause: int) -> CandidateClause:
    need = int(demand.of_clause[clause])
    begin, end = (0, 0) if need < 0 else demand.starts[need : need + 2]
    literals = demand.literals[begin:end]
    links = demand.links[demand.link_starts[clause] : demand.link_starts[clause + 1]]
    return CandidateClause(frozenset(literals.tolist()), frozenset(links.tolist()))


def _holds(literal: int, marks: Mapping[int, int]) -> bool:
    return marks[literal >> 1] == (NO if literal & 1 else YES)


def _answers(concepts: tuple[Concept, ...], marks: Mapping[int, int]) -> tuple[Answer, ...]:
    return tuple(Answer(concepts[at].name, _WORDS[mark]) for at, mark in marks.items())
