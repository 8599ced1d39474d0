"""ImageNet's thousand classes, and the everyday concepts that they make up.

The classes overlap with how people speak only in part: there are 118 breeds of dogs and no dog. The
two tables beside this module (`imagenet_classes.csv`, `imagenet_concepts.csv`) bridge that; a
concept's probability is the sum of its classes'.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType


@cache
def imagenet_classes() -> tuple[str, ...]:
    """The name of each class, in the order of the ids.

    >>> imagenet_classes()[281]
    'tabby'
    """
    rows = _table("imagenet_classes.csv")
    return tuple(name for _, name in sorted((int(number), name) for number, name in rows))


@cache
def imagenet_concepts() -> Mapping[str, tuple[int, ...]]:
    """The classes of each concept.

    >>> [imagenet_classes()[number] for number in imagenet_concepts()["big_cat"]][:3]
    ['cougar', 'lynx', 'leopard']
    """
    return MappingProxyType(
        {concept: _class_ids(ranges) for concept, ranges in _table("imagenet_concepts.csv")}
    )


def _class_ids(ranges: str) -> tuple[int, ...]:
    """The ids that ranges such as '2-4 7' stand for."""
    ids: list[int] = []
    for part in ranges.split():
        first, _, last = part.partition("-")
        ids.extend(range(int(first), int(last or first) + 1))
    return tuple(ids)


def _table(name: str) -> list[list[str]]:
    lines = (
        files("caddis.models.efficientnet").joinpath(name).read_text(encoding="utf-8").splitlines()
    )
    return list(csv.reader(lines))[1:]
