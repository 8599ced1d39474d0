"""The options of `caddis lab bloom-prefiltering`, and what they stand for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from caddis.cli.lab.runs import up_to, words
from caddis.lab.bloom_prefiltering import Conditions, Scale, Setup, figures_named
from caddis.lab.figures import Figure

FULL = Scale()
QUICK = Scale(
    repeats=1,
    few=1,
    subscriptions=(1e3, 1e4, 1e5),
    aspe=(1e3, 1e4),
    tokens=(1e3, 1e4),
    equalities=(0, 0.3, 0.7, 1),
    rates=(0.1, 0.01, 0.001),
    bits=(128, 256, 384, 512),
    wire=(16, 32, 48),
    batches=(1, 100, 2000),
    seconds=0.2,
)
QUICK_SUBSCRIPTIONS, QUICK_EVENTS, QUICK_BATCH = 10_000, 100, 2_000


@dataclass(frozen=True, slots=True)
class PrefilteringOrder:
    """The options as they were given; None: as the size of the run has it."""

    out: Path
    figures: str
    seed: int
    rate: float
    quick: bool
    repeats: int | None
    few: int | None
    subscriptions: int | None
    events: int | None
    largest: int | None
    largest_aspe: int | None
    largest_tokens: int | None
    master: str

    def scale(self) -> Scale:
        """Where experiments are run, and how often."""
        usual = QUICK if self.quick else FULL
        return replace(
            usual,
            repeats=self.repeats or usual.repeats,
            few=self.few or usual.few,
            subscriptions=up_to(self.largest, usual.subscriptions),
            aspe=up_to(self.largest_aspe, usual.aspe),
            tokens=up_to(self.largest_tokens, usual.tokens),
        )

    def setup(self) -> Setup:
        """What all runs have in common."""
        usual = Conditions()
        if self.quick:
            usual = replace(usual, subscriptions=QUICK_SUBSCRIPTIONS, events=QUICK_EVENTS)
        conditions = Conditions(
            subscriptions=self.subscriptions or usual.subscriptions,
            events=self.events or usual.events,
            rate=self.rate,
            seed=self.seed,
        )
        seconds = self.scale().seconds
        return Setup(conditions, seconds, QUICK_BATCH) if self.quick else Setup(conditions, seconds)

    def wanted(self) -> tuple[Figure, ...]:
        """The figures to draw."""
        return figures_named(words(self.figures), self.setup().conditions)
