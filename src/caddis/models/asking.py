"""Asks a model about some values, as cheaply as can be.

Nulls are unknown without asking. Equal values run once, and values that the cache knows do not run
at all. The rest runs in one call; if that raises, one by one, so that a value on which the model
fails spoils no other. A value that gets no answer is reported as a problem, never dropped in
silence.

    row ──value_of──▶ value ──▶ first row, digest, marks, problem

Answers are cached by what a value is, not by where it was found, and under the version of the model
that gave them. The cache is bounded; what was not asked for longest leaves first.
"""

from __future__ import annotations

import hashlib
import sys
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import Literal

import numpy as np
import pyarrow as pa

from caddis.models.catalogue import Reading
from caddis.models.model import UNKNOWN, YES, Answers, Marks, Model, Unreadable
from caddis.models.statistics import Tally

NOTHING = -1
"""What stands for the value of a row that is null."""
LONGEST_REASON = 300
"""How many characters of what a model raised are kept as the reason."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a row has no answers: its value cannot be read, or the model `failed` on it."""

    row: int
    reason: str
    failed: bool


class Batch:
    """The values of one call to a model, each once.

    A value has marks once it is answered, or a problem, or is still to be run; what it gets in the
    end goes to every row that holds it.
    """

    def __init__(self, model: Model, values: pa.Array) -> None:
        self.model = model
        self.values = plain(values)
        self.value_of = np.full(len(values), NOTHING, np.int64)
        self.firsts: list[int] = []
        self.digests: list[bytes | None] = []
        self.marks: list[bytes | None] = []
        self.problems: dict[int, Problem] = {}
        self._numbers: dict[bytes, int] = {}

    def add(self, row: int, digest: bytes | None) -> int:
        """The number of the value that a row holds; without a digest it is a value of its own."""
        value = len(self.firsts)
        if digest is not None:
            value = self._numbers.setdefault(digest, value)
        if value == len(self.firsts):
            self.firsts.append(row)
            self.digests.append(digest)
            self.marks.append(None)
        self.value_of[row] = value
        return value

    def unanswered(self) -> list[int]:
        """The values that are still to be run."""
        return [
            value
            for value, marks in enumerate(self.marks)
            if marks is None and value not in self.problems
        ]

    def taken(self, values: Sequence[int]) -> pa.Array:
        """Some of the values, as a model gets them."""
        return self.values.take(pa.array([self.firsts[value] for value in values], pa.int64()))

    def answer(self, values: Sequence[int], answers: Answers) -> None:
        """Take the answers that some of the values got."""
        marks = np.where(answers.known, answers.yes, UNKNOWN).astype(np.uint8)
        for at, value in enumerate(values):
            if at in answers.problems:
                self.fail(value, answers.problems[at], failed=False)
            else:
                self.marks[value] = marks[at].tobytes()

    def fail(self, value: int, reason: str, *, failed: bool) -> None:
        """Note why a value has no answers."""
        self.problems[value] = Problem(self.firsts[value], reason, failed)

    def by_row(self) -> Marks:
        """The marks of every row; without answers they are UNKNOWN."""
        concepts = len(self.model.concepts)
        unknown = bytes([UNKNOWN]) * concepts
        by_value = b"".join([marks or unknown for marks in self.marks] + [unknown])
        # NOTHING finds the last of them, which is no value's.
        return np.frombuffer(by_value, np.uint8).reshape(-1, concepts)[self.value_of]


def digest_of(model: Model, scalar: pa.Scalar) -> bytes:
    """A hash of what a value is to a model; raises Unreadable, or what the model raises."""
    try:
        value = scalar.as_py()
    except (ValueError, OverflowError) as problem:
        # Text that is not UTF-8, or a date that Python has no name for.
        raise Unreadable(str(problem)) from None
    return hashlib.blake2b(model.content(value), digest_size=16).digest()


def plain(values: pa.Array) -> pa.Array:
    """The values in a layout from which Arrow can take some: no dictionaries, no views."""
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if pa.types.is_string_view(values.type):
        return values.cast(pa.large_string())
    if pa.types.is_binary_view(values.type):
        return values.cast(pa.large_binary())
    return values


DEFAULT_LIMIT = 64 << 20
ENTRY_BYTES = 240
"""The bytes that an entry takes beside the contents of its two byte strings, as measured."""


class AnswerCache:
    r"""The answers used last, within a number of bytes.

    >>> cache = AnswerCache()
    >>> cache.put("colours 1", b"digest of a picture", b"\x01\x00")
    >>> cache.get("colours 1", b"digest of a picture"), cache.get("colours 2", b"...")
    (b'\x01\x00', None)
    """

    def __init__(self, limit: int = DEFAULT_LIMIT) -> None:
        self.limit = limit
        self.nbytes = 0
        self._marks: OrderedDict[tuple[str, bytes], bytes] = OrderedDict()
        self._lock = Lock()

    @property
    def entries(self) -> int:
        """How many answers are kept."""
        return len(self._marks)

    def get(self, version: str, digest: bytes) -> bytes | None:
        """The marks of all concepts of a model, a byte each; None if they are not kept.

        version: no two models share it, nor two states of one whose answers differ.
        """
        key = (version, digest)
        with self._lock:
            marks = self._marks.get(key)
            if marks is not None:
                self._marks.move_to_end(key)
            return marks

    def put(self, version: str, digest: bytes, marks: bytes) -> None:
        """Keep the marks of all concepts of a model for a value."""
        key = (sys.intern(version), digest)
        with self._lock:
            before = self._marks.pop(key, None)
            if before is not None:
                self.nbytes -= _size(digest, before)
            self._marks[key] = marks
            self.nbytes += _size(digest, marks)
            while self.nbytes > self.limit:
                (_, oldest), gone = self._marks.popitem(last=False)
                self.nbytes -= _size(oldest, gone)


def _size(digest: bytes, marks: bytes) -> int:
    return ENTRY_BYTES + len(digest) + len(marks)


@dataclass(frozen=True, slots=True)
class Asked:
    """What a model answered, or why not."""

    marks: Marks
    """NO, YES or UNKNOWN, a row for each value and a column for each concept of the model."""
    tally: Tally
    """Everything but `needed`, which only the caller knows."""
    problems: tuple[Problem, ...]
    """In ascending order of rows."""


class ModelFailed(Exception):
    """A model raised on the value of a row, and the asker is to stop then."""

    def __init__(self, row: int, reason: str) -> None:
        self.row = row
        self.reason = reason
        super().__init__(row, reason)


class Asker:
    """Asks readings about values.

    cache: where answers are kept from one call to the next; None keeps none.
    clock: gives seconds, as `time.perf_counter` does.
    on_error: what becomes of a value on which a model raises: it is "unknown", or ModelFailed is
        raised. A value that cannot be read is unknown in any case.
    """

    def __init__(
        self,
        *,
        cache: AnswerCache | None,
        clock: Callable[[], float],
        on_error: Literal["unknown", "raise"] = "unknown",
    ) -> None:
        self.cache = cache
        self.clock = clock
        self.on_error = on_error

    def ask(self, reading: Reading, values: pa.Array) -> Asked:
        """What the reading's model answers about values of its column."""
        batch, tally = Batch(reading.model, values), Tally()
        self._sort(batch)
        self._recall(batch)
        run = batch.unanswered()
        if run:
            batch.model.load()
            self._run(batch, run, tally)
            self._keep(batch, run)
        return _counted(batch, run, tally)

    def _sort(self, batch: Batch) -> None:
        for row, scalar in enumerate(batch.values):
            if not scalar.is_valid:
                continue
            try:
                batch.add(row, digest_of(batch.model, scalar))
            except MemoryError:
                raise
            except Exception as problem:
                # A model's own `content` may raise anything.
                self._trouble(batch, batch.add(row, None), problem)

    def _recall(self, batch: Batch) -> None:
        if self.cache is not None:
            version = _version(batch.model)
            for value, digest in enumerate(batch.digests):
                if digest is not None:
                    batch.marks[value] = self.cache.get(version, digest)

    def _run(self, batch: Batch, values: Sequence[int], tally: Tally) -> None:
        try:
            answers = self._predict(batch, values, tally)
        except MemoryError:
            raise
        except Exception:
            # A model may raise anything; on which values, shows when they are asked one by one.
            for value in values:
                self._run_alone(batch, value, tally)
        else:
            batch.answer(values, answers)

    def _run_alone(self, batch: Batch, value: int, tally: Tally) -> None:
        try:
            answers = self._predict(batch, [value], tally)
        except MemoryError:
            raise
        except Exception as problem:
            self._trouble(batch, value, problem)
        else:
            batch.answer([value], answers)

    def _predict(self, batch: Batch, values: Sequence[int], tally: Tally) -> Answers:
        taken = batch.taken(values)
        begin = self.clock()
        try:
            given = batch.model.predict(taken)
        finally:
            tally.milliseconds += 1000 * (self.clock() - begin)
        return Answers.of(given, len(values), len(batch.model.concepts))

    def _trouble(self, batch: Batch, value: int, problem: Exception) -> None:
        if isinstance(problem, Unreadable):
            batch.fail(value, str(problem), failed=False)
            return
        words = " ".join(f"{type(problem).__name__}: {problem}".split())
        reason = words.removesuffix(":")[:LONGEST_REASON]
        if self.on_error == "raise":
            raise ModelFailed(batch.firsts[value], reason) from problem
        batch.fail(value, reason, failed=True)

    def _keep(self, batch: Batch, values: Sequence[int]) -> None:
        if self.cache is not None:
            version = _version(batch.model)
            for value in values:
                digest, marks = batch.digests[value], batch.marks[value]
                if digest is not None and marks is not None:
                    self.cache.put(version, digest, marks)


def _counted(batch: Batch, run: Sequence[int], tally: Tally) -> Asked:
    """The answers, with the tally filled in."""
    marks = batch.by_row()
    problems = tuple(
        replace(batch.problems[value], row=row)
        for row, value in enumerate(batch.value_of.tolist())
        if value in batch.problems
    )
    answered = int(np.count_nonzero(batch.value_of >= 0)) - len(problems)
    tally.runs = len(run)
    tally.hits = answered - sum(value not in batch.problems for value in run)
    tally.failed = sum(problem.failed for problem in problems)
    tally.unreadable = len(problems) - tally.failed
    tally.yes = np.count_nonzero(marks == YES, axis=0)
    tally.known = np.count_nonzero(marks != UNKNOWN, axis=0)
    return Asked(marks, tally, problems)


def _version(model: Model) -> str:
    """The key that answers are kept under; two models never share it."""
    identity = repr((model.name, model.version, model.concepts))
    return hashlib.blake2b(identity.encode(), digest_size=16).hexdigest()
