"""How workers follow a store of subscriptions: what is loaded stays, what is new is loaded."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from caddis.arrays import Bools, Int32s
from caddis.errors import IndexFolderError
from caddis.matching import LinkMatcher, Matches
from caddis.spark.base import Version, VersionFolder
from caddis.spark.store.segments import load_segment


class StoreReader:
    """Matches batches against a version of a store; keeps its segments loaded."""

    def __init__(self, path: Path) -> None:
        self._folder = VersionFolder(path)
        self._version: Version | None = None
        self._segments: dict[str, LinkMatcher] = {}

    def use(self, version_name: str | None) -> None:
        """Turn to a version, or to the current one; what is loaded already stays."""
        name = version_name or self._folder.current_name
        if self._version is not None and self._version.name == name:
            return
        try:
            self._load(self._folder.version(name))
        except IndexFolderError:
            if version_name or self._folder.current_name == name:
                raise
            self.use(None)

    def _load(self, version: Version) -> None:
        loaded = {name: self._segments[name] for name in version.segments if name in self._segments}
        for name in version.segments:
            if name not in loaded:
                loaded[name] = load_segment(self._folder.segment(name))
        self._segments = {name: loaded[name] for name in version.segments}
        self._version = version

    @property
    def parts(self) -> list[tuple[LinkMatcher, Bools | None]]:
        """The segments of the version in use, each with which of its links are alive, or None
        if all are.
        """
        assert self._version is not None
        found: list[tuple[LinkMatcher, Bools | None]] = []
        for segment, matcher in self._segments.items():
            dead = self._version.removed.get(segment)
            alive = None if dead is None else np.ones(len(matcher), bool)
            if alive is not None:
                alive[dead] = False
            found.append((matcher, alive))
        return found

    @property
    def version(self) -> str | None:
        """The name of the version in use."""
        return None if self._version is None else self._version.name

    def match(self, batch: pa.RecordBatch) -> list[tuple[Int32s, pa.Array]]:
        """Rows and the ids of the subscriptions they match, segment by segment."""
        found = []
        for matcher, alive in self.parts:
            rows, ids = alive_pairs(matcher, alive, matcher.match(batch))
            if len(rows):
                found.append((rows, ids))
        return found


def alive_pairs(
    matcher: LinkMatcher, alive: Bools | None, matches: Matches
) -> tuple[Int32s, pa.Array]:
    """Rows and the ids of the subscriptions that they match, as far as these are alive."""
    rows, links = matches.rows, matches.links
    if alive is not None:
        rows, links = rows[alive[links]], links[alive[links]]
    return rows, matcher.subscription_ids.take(pa.array(links))
