"""What all brokers of an overlay agree on: the concepts, who answers them, and at what cost.

Concepts and models have the same numbers everywhere, so that marks travel as they are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from caddis.arrays import Floats, Int32s
from caddis.language import Concept
from caddis.ordering.kernels.layout import PlanArrays


@dataclass(frozen=True, slots=True)
class Beliefs:
    """Concepts by number, and what is believed of their models."""

    concepts: tuple[Concept, ...]
    plan: PlanArrays

    @classmethod
    def of(
        cls,
        concepts: tuple[Concept, ...],
        costs: Floats,
        selectivity: Floats,
        answered_by: Int32s | None = None,
    ) -> Beliefs:
        """From what each model costs, how often each concept is true, and which model tells.

        answered_by: by concept; each has a model of its own by default.
        """
        own = np.arange(len(concepts)) if answered_by is None else answered_by
        chances = np.stack([selectivity, 1 - selectivity], axis=1).ravel()
        arrays = costs.astype(np.float64), chances.astype(np.float64), own.astype(np.int32)
        return cls(concepts, PlanArrays(*arrays))

    def answers_of(self) -> tuple[tuple[int, ...], ...]:
        """By model: the concepts that it answers."""
        answered_by = self.plan.answered_by
        return tuple(
            tuple(np.flatnonzero(answered_by == model).tolist())
            for model in range(len(self.plan.costs))
        )
