"""The options of `caddis lab local-building-blocks`, and what they stand for."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from caddis.cli.lab.runs import up_to, words
from caddis.errors import TopicError
from caddis.files import existing
from caddis.lab.figures import Figure
from caddis.lab.local_building_blocks import Conditions, Scale, Setup, figures_named
from caddis.lab.workloads import from_json, planted

FULL = Scale()
QUICK = Scale(
    repeats=5,
    few=2,
    distances=(0.01, 0.1, 0.5, 1, 4),
    second=(0, 0.1, 0.5, 1, 4),
    fixed=(0.1, 1),
    nodes=(1e3, 1e4, 1e5),
    choices=(2, 3, 5, 10),
    together=(1, 10, 30),
    bits=(50, 60, 80, 100),
    every=5,
    channels=(5, 10, 20),
    shares=(0.2, 1.0),
    delayed=(0.1, 1),
)
QUICK_SUBSCRIBERS = 2000


@dataclass(frozen=True, slots=True)
class BlocksOrder:
    """The options as they were given; None: as the size of the run has it."""

    out: Path
    figures: str
    interests: Path | None
    seed: int
    changed: float
    quick: bool
    repeats: int | None
    few: int | None
    nodes: int | None
    largest: int | None
    channels: int
    subscribers: int | None
    topics: int | None
    master: str

    def scale(self) -> Scale:
        """Where experiments are run, and how often."""
        usual = QUICK if self.quick else FULL
        return replace(
            usual,
            repeats=self.repeats or usual.repeats,
            few=self.few or usual.few,
            nodes=up_to(self.largest, usual.nodes),
        )

    def wanted(self) -> tuple[Figure, ...]:
        """The figures to draw."""
        return figures_named(words(self.figures), self.scale(), self.changed)

    def setup(self) -> Setup:
        """What all runs have in common, and the interests whose topics are voted on."""
        usual = Conditions()
        conditions = Conditions(
            nodes=self.nodes or usual.nodes,
            changed=self.changed,
            seed=self.seed,
            subscribers=self.subscribers
            or (QUICK_SUBSCRIBERS if self.quick else usual.subscribers),
            topics=self.topics or usual.topics,
            k=self.channels,
        )
        if self.interests is None:
            rng = np.random.default_rng(conditions.seed)
            return Setup(conditions, planted(conditions.subscribers, conditions.topics, rng))
        try:
            text = existing(self.interests, TopicError).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise TopicError(f"{self.interests}: not a text in UTF-8") from None
        try:
            interests, _ = from_json(text)
        except TopicError as wrong:
            raise TopicError(f"{self.interests}: {wrong}") from None
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        return Setup(conditions.of_file(interests, digest), interests)
