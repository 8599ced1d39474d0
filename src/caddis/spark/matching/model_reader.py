"""Matches a worker's batches against a store with models, and reports what they did."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa

from caddis.arrays import Int32s
from caddis.models import AnswerCache, Asker, Tally
from caddis.ordering import POLICIES, Executor, Outcome
from caddis.spark.matching.model_folder import Learning, LearningAlone, ModelFolder
from caddis.spark.matching.reporting import KEPT, KeyedProblem, task_reports
from caddis.spark.matching.worker import Recent, TaskReader
from caddis.spark.places import local_folder
from caddis.spark.store import StoreReader

OnError = Literal["unknown", "raise"]

_ANSWERS = AnswerCache()
"""The answers of this process, shared by all matches: they are kept by model and version."""
KEPT_READERS = 8
"""A reader holds loaded models, which are large: a worker keeps those of its last matches."""


@dataclass(frozen=True, slots=True)
class Models:
    """Opens readers for subscriptions that may call models.

    folder: the address of the models' folder.
    policy: the name of the policy that orders them.
    on_error: what to do with an event on which a model raises.
    reports: where tasks report, if workers only have a copy of the folder; None if it is shared,
        and tasks report there.
    """

    folder: str
    policy: str
    on_error: OnError
    reports: str | None = None

    unique_keys = True

    def reader(self, store: StoreReader) -> TaskReader:
        """This process's reader for a match; it keeps its models between tasks."""
        _readers.drop(lambda key: not Path(key[0].folder).exists())
        here = replace(self, folder=str(local_folder(self.folder)))
        return _readers.get((here, store), lambda: ModelReader(store, here))


class ModelReader:
    """Matches one task after the other: `begin`, `match` its batches, `finish`."""

    def __init__(self, store: StoreReader, models: Models) -> None:
        self._store = store
        folder = ModelFolder(Path(models.folder))
        self._catalogue = folder.catalogue
        self._learning: Learning = (
            folder
            if models.reports is None
            else LearningAlone(folder, task_reports(models.reports))
        )
        self._policy = models.policy
        cache = _ANSWERS if POLICIES.named(models.policy).shares else None
        self._asker = Asker(cache=cache, clock=time.perf_counter, on_error=models.on_error)
        self._executor: Executor | None = None
        self._version: str | None = None
        self._tallies: list[Tally] = []
        self._problems: list[KeyedProblem] = []

    def begin(self, version: str | None) -> None:
        """Switch to a version, or to the current one, and read what other tasks have learnt."""
        self._store.use(version)
        if self._executor is None or self._version != self._store.version:
            parts = self._store.parts
            self._executor = Executor(
                [matcher for matcher, _ in parts],
                self._catalogue,
                statistics=self._learning.statistics(),
                asker=self._asker,
                policy=self._policy,
                alive=[alive for _, alive in parts],
            )
            self._version = self._store.version
        else:
            self._executor.statistics = self._learning.statistics()
        self._tallies = [Tally() for _ in self._executor.readings]
        self._problems = []

    def match(
        self, batch: pa.RecordBatch, keys: pa.Array
    ) -> Iterator[list[tuple[Int32s, pa.Array]]]:
        """Rows and the ids of the subscriptions they match, segment by segment, in turns."""
        assert self._executor is not None
        for outcome in self._executor.match_in_turns(batch, keys=keys):
            self._count(outcome, keys)
            yield _by_segment(self._executor, outcome)

    def _count(self, outcome: Outcome, keys: pa.Array) -> None:
        """Remember what the models did in a turn."""
        self._tallies = [one + new for one, new in zip(self._tallies, outcome.tallies, strict=True)]
        self._problems += [
            KeyedProblem(
                keys[one.row].as_py(),
                one.reading.column.name,
                one.reading.model.name,
                one.reason,
                one.failed,
            )
            for one in outcome.problems[: max(0, KEPT - len(self._problems))]
        ]

    def finish(self) -> None:
        """Report what the models did."""
        assert self._executor is not None
        if any(tally.needed for tally in self._tallies):
            self._learning.add(self._executor.readings, self._tallies, self._problems)


_readers: Recent[tuple[Models, StoreReader], ModelReader] = Recent(KEPT_READERS)


def _by_segment(executor: Executor, outcome: Outcome) -> list[tuple[Int32s, pa.Array]]:
    segments = []
    offsets = executor.demand.link_offsets
    part = np.searchsorted(offsets, outcome.links, side="right") - 1
    for number, matcher in enumerate(executor.matchers):
        mine = part == number
        if mine.any():
            links = outcome.links[mine] - np.int32(offsets[number])
            segments.append((outcome.rows[mine], matcher.subscription_ids.take(pa.array(links))))
    return segments
