"""What models were seen to cost, and how often concepts were seen to be true.

A `Tally` counts what happened while a model ran; tallies add up over batches and workers.
`Statistics` starts from the models' own guesses, learns from tallies, and forgets, so that it
follows events that change: each observation counts 1 and makes all before it fade a little, so that
what was seen a half-life ago counts half. A guess counts as if it had been seen a few times. All is
kept by model, version and column: a model that was changed starts over.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

from caddis.arrays import Int64s
from caddis.errors import ModelError
from caddis.files import replace_file
from caddis.models.catalogue import Reading
from caddis.models.model import DEFAULT_SELECTIVITY


def _uncounted() -> Int64s:
    return np.zeros(0, np.int64)


@dataclass(slots=True, eq=False)
class Tally:
    """What was counted of one reading; adding `Tally()` changes nothing.

    >>> (Tally(needed=5, runs=2) + Tally(needed=5, hits=1)).saved
    8
    """

    needed: int = 0
    """How many events running everything would have run it on."""
    runs: int = 0
    """How many values it really ran on."""
    hits: int = 0
    """How many answers came from the cache, or from an equal value of the batch."""
    unreadable: int = 0
    """How many values could not be read."""
    failed: int = 0
    """How many values it raised on."""
    milliseconds: float = 0.0
    """How long its runs took."""
    yes: Int64s = field(default_factory=_uncounted)
    """How many answers to each concept were true, from runs and hits alike."""
    known: Int64s = field(default_factory=_uncounted)
    """How many answers to each concept were true or false, from runs and hits alike."""

    @property
    def saved(self) -> int:
        """How many events it was spared."""
        return max(0, self.needed - self.runs)

    def __add__(self, other: Tally) -> Tally:
        names = [one.name for one in fields(self)]
        return Tally(**{name: _sum(getattr(self, name), getattr(other, name)) for name in names})

    def to_json(self) -> dict[str, Any]:
        """The counts by name, as numbers and lists of numbers."""
        counts = {one.name: getattr(self, one.name) for one in fields(self)}
        return counts | {"yes": self.yes.tolist(), "known": self.known.tolist()}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Tally:
        """What `to_json` gave."""
        yes, known = (np.array(plain[name], np.int64) for name in ("yes", "known"))
        return cls(**{**plain, "yes": yes, "known": known})


def _sum(left: Any, right: Any) -> Any:
    """The sum of two counts; a tally that saw no answers has no counts by concept."""
    if isinstance(left, np.ndarray) and (len(left) == 0 or len(right) == 0):
        return left if len(left) else right
    return left + right


PRIOR_WEIGHT = 8.0
"""How many observations a guess counts as."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean, and how many observations it still stands for."""

    mean: float
    weight: float = PRIOR_WEIGHT

    def after(self, mean: float, count: int, half_life: float) -> Estimate:
        """The estimate after `count` more observations of this mean, as if they came one by one.

        One observation fades what is old by d = 2^(-1 / half_life). So `count` of them leave
        d^count of the old weight, and together weigh 1 + d + ... + d^(count - 1), which is
        (1 - d^count) / (1 - d). Learning them in parts of the same mean gives the same.

        >>> Estimate(0.0, weight=1.0).after(1.0, count=1, half_life=1.0)
        Estimate(mean=0.666..., weight=1.5)
        """
        fading = -math.log(2) / half_life
        old = self.weight * math.exp(fading * count)
        new = math.expm1(fading * count) / math.expm1(fading)
        return Estimate((old * self.mean + new * mean) / (old + new), old + new)


FORMAT = 1
DEFAULT_HALF_LIFE = 2000.0
LEAST_COST = 1e-6
"""Milliseconds: a clock may be too coarse to see a quick model run, but nothing is free."""
LEAST_SELECTIVITY = 0.001
"""Nothing is taken to be impossible or certain: an answer may always surprise."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """What is known of one reading."""

    cost: Estimate
    concepts: Mapping[str, Estimate]


class Statistics:
    """Costs and selectivities, guessed at first and then measured.

    half_life: after how many observations one counts half; a cost observes values that were run,
        a selectivity answers that were true or false.
    """

    def __init__(self, half_life: float = DEFAULT_HALF_LIFE) -> None:
        if not 0 < half_life < math.inf:
            raise ModelError(f"statistics have a half-life of {half_life}; it is positive")
        self.half_life = float(half_life)
        self._seen: dict[tuple[str, str, str], _Seen] = {}

    def cost(self, reading: Reading) -> float:
        """What a value costs, in milliseconds."""
        return max(LEAST_COST, self._cost(reading).mean)

    def selectivity(self, reading: Reading, concept: str) -> float:
        """How often a concept is true, among the values of which that is known."""
        share = self._share(reading, concept).mean
        return min(max(LEAST_SELECTIVITY, share), 1 - LEAST_SELECTIVITY)

    def learn(self, reading: Reading, tally: Tally) -> None:
        """Take in what was counted: a tally's observations, by the rule of `Estimate.after`."""
        cost = self._cost(reading)
        if tally.runs:
            cost = cost.after(tally.milliseconds / tally.runs, tally.runs, self.half_life)
        concepts = {name: self._share(reading, name) for name in reading.model.concepts}
        counts = zip(concepts, tally.yes.tolist(), tally.known.tolist(), strict=False)
        for name, yes, known in counts:
            if known:
                concepts[name] = concepts[name].after(yes / known, known, self.half_life)
        self._seen[_key(reading)] = _Seen(cost, concepts)

    def copy(self) -> Statistics:
        """A copy that goes on learning by itself."""
        copied = Statistics(self.half_life)
        copied._seen = self._seen.copy()
        return copied

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to a file, which is replaced as a whole."""
        readings = [
            {
                "model": model,
                "version": version,
                "column": column,
                "cost": _plain(seen.cost),
                "concepts": {name: _plain(share) for name, share in seen.concepts.items()},
            }
            for (model, version, column), seen in sorted(self._seen.items(), key=lambda one: one[0])
        ]
        plain = {"format": FORMAT, "half_life": self.half_life, "readings": readings}
        replace_file(Path(path), json.dumps(plain, indent=1, sort_keys=True) + "\n")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Statistics:
        """What `save` wrote."""
        try:
            plain = json.loads(Path(path).read_text("utf-8"))
            found = plain["format"]
        except (OSError, ValueError, LookupError, TypeError) as problem:
            raise ModelError(f"{path} holds no statistics of models: {problem}") from None
        if found != FORMAT:
            raise ModelError(
                f"{path} has format {found}, this version reads {FORMAT}: remove it to start over"
            )
        try:
            loaded = cls(plain["half_life"])
            for one in plain["readings"]:
                key = (str(one["model"]), str(one["version"]), str(one["column"]))
                shares = {name: _estimate(share, 1.0) for name, share in one["concepts"].items()}
                loaded._seen[key] = _Seen(_estimate(one["cost"]), shares)
        except (ModelError, ValueError, LookupError, TypeError, AttributeError) as problem:
            raise ModelError(f"{path} is damaged: {problem}; remove it to start over") from None
        return loaded

    def _cost(self, reading: Reading) -> Estimate:
        seen = self._seen.get(_key(reading))
        return Estimate(reading.model.cost) if seen is None else seen.cost

    def _share(self, reading: Reading, concept: str) -> Estimate:
        seen = self._seen.get(_key(reading))
        if seen is not None and concept in seen.concepts:
            return seen.concepts[concept]
        return Estimate(reading.model.selectivity.get(concept, DEFAULT_SELECTIVITY))


def _key(reading: Reading) -> tuple[str, str, str]:
    return reading.model.name, reading.model.version, reading.column.name


def _plain(estimate: Estimate) -> dict[str, float]:
    return {"mean": estimate.mean, "weight": estimate.weight}


def _estimate(plain: Mapping[str, float], most: float = sys.float_info.max) -> Estimate:
    """What `_plain` gave, if it is a mean of something from 0 to `most`."""
    estimate = Estimate(float(plain["mean"]), float(plain["weight"]))
    if not (0 <= estimate.mean <= most and 0 < estimate.weight < math.inf):
        raise ValueError(f"{plain} is no mean")
    return estimate
