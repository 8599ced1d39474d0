"""The options of `caddis lab adaptive-filtering`, and what they stand for."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from caddis.arrays import Floats
from caddis.cli.lab.runs import words
from caddis.errors import CaddisError, OverlayError
from caddis.files import text_of
from caddis.lab.adaptive_filtering import SYNTHETIC, Conditions, Figure, Scale, figure, policy_named
from caddis.lab.simulators import Mean
from caddis.overlay.topology import parse_round_trips

FULL, FULL_EVENTS = Scale(), 1000
QUICK_EVENTS = 10
QUICK = Scale(
    topologies=2,
    repeats=1,
    subscriptions=(250, 500, 1000),
    concepts=(20, 50, 100),
    fixed_subscriptions=500,
)


@dataclass(frozen=True, slots=True)
class FigureOrder:
    """The options as they were given; None: as the size of the run has it."""

    out: Path
    figures: str
    policies: str
    round_trips: tuple[Path, ...]
    seed: int
    mean: Mean
    exponent: float
    at_most: int
    covering: bool
    link_delays: bool
    quick: bool
    events: int | None
    topologies: int | None
    repeats: int | None
    brokers: int | None
    subscriptions: str | None
    concepts: str | None
    fixed_subscriptions: int | None
    fixed_concepts: int | None
    master: str

    def scale(self) -> Scale:
        """Where figures are measured, and how often."""
        usual = QUICK if self.quick else FULL
        return Scale(
            topologies=self.topologies or usual.topologies,
            repeats=self.repeats or usual.repeats,
            subscriptions=_numbers(self.subscriptions, "--subscriptions") or usual.subscriptions,
            concepts=_numbers(self.concepts, "--concepts") or usual.concepts,
            fixed_subscriptions=self.fixed_subscriptions or usual.fixed_subscriptions,
            fixed_concepts=self.fixed_concepts or usual.fixed_concepts,
        )

    def conditions(self, matrices: Sequence[Floats]) -> Conditions:
        """What all runs have in common."""
        return Conditions(
            events=self.events or (QUICK_EVENTS if self.quick else FULL_EVENTS),
            brokers=self.brokers or Conditions().brokers,
            exponent=self.exponent,
            at_most=self.at_most,
            covering=self.covering,
            link_delays=self.link_delays,
            seed=self.seed,
            trees=_digest(matrices) if matrices else SYNTHETIC,
        )

    def wanted(self) -> tuple[Figure, ...]:
        """The figures to draw, with their policies."""
        policies = words(self.policies)
        for name in policies:
            policy_named(name)
        names = words(self.figures)
        if not names or not policies:
            raise CaddisError("name at least one figure and one policy")
        return tuple(figure(name, self.scale(), policies) for name in names)

    def matrices(self) -> tuple[Floats, ...]:
        """The round trips of --round-trips."""
        return tuple(
            parse_round_trips(text_of(path, OverlayError), str(path)) for path in self.round_trips
        )


def _numbers(text: str | None, option: str) -> tuple[int, ...]:
    given = words(text or "")
    wrong = [word for word in given if not word.isdigit() or int(word) == 0]
    if wrong:
        raise CaddisError(f"{option}: {wrong[0]!r} is not a number; write them as 500,1000,2000")
    return tuple(sorted(map(int, given)))


def _digest(matrices: Sequence[Floats]) -> str:
    found = hashlib.sha256()
    for matrix in matrices:
        found.update(matrix.tobytes())
    return found.hexdigest()[:16]
