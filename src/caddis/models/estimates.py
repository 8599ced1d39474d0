"""Means of observations that fade.

Each observation counts 1 and makes all before it fade a little, so that what was seen a half-life
ago counts half. A guess stands at the beginning, as if it had been seen a few times.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

PRIOR_WEIGHT = 8.0
"""Observations that a guess counts as."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean, and how many observations it still stands for."""

    mean: float
    weight: float = PRIOR_WEIGHT

    def after(self, mean: float, count: int, half_life: float) -> Estimate:
        """With `count` more observations of this mean, just as if they came one by one.

        One observation fades what is old by d = 2^(-1 / half_life). So `count` of them leave
        d^count of the old weight, and together weigh 1 + d + ... + d^(count - 1), which is
        (1 - d^count) / (1 - d). To learn them in parts of the same mean comes to the same.

        >>> Estimate(0.0, weight=1.0).after(1.0, count=1, half_life=1.0)
        Estimate(mean=0.666..., weight=1.5)
        """
        fading = -math.log(2) / half_life
        old = self.weight * math.exp(fading * count)
        new = math.expm1(fading * count) / math.expm1(fading)
        return Estimate((old * self.mean + new * mean) / (old + new), old + new)
