"""Routing graphs on disk, version by version, for the workers to map into memory.

    graphs/
      CURRENT, versions/       as in `folders`
      segments/00000007/       the compiled matcher of a version
        links.json             its neighbours and subscribers, and where each entry leads
        advertised/            what events must satisfy that are published here, if not all may be

A version is published when a micro-batch needs it, so none goes while a task still reads it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from caddis.errors import IndexFolderError
from caddis.matching import Matcher
from caddis.overlay import Neighbour, Subscriber
from caddis.overlay.routing import PublicationRoutingGraph
from caddis.spark.base import VersionFolder

LINKS, ADVERTISED = "links.json", "advertised"


@dataclass(frozen=True, slots=True)
class LoadedGraph:
    """One version."""

    graph: PublicationRoutingGraph
    advertised: Matcher | None
    """Events that are published here satisfy its one link; None if any may be."""


class GraphFolder:
    """Written by one broker's driver, read by its workers."""

    def __init__(self, path: Path) -> None:
        self._versions = VersionFolder(path)

    def publish(self, graph: PublicationRoutingGraph, advertised: Matcher | None) -> str:
        """Write a version; its name."""
        name = self._versions.new_segment()
        folder = self._versions.segment(name)
        graph.matcher.save(folder)
        if advertised is not None:
            advertised.save(folder / ADVERTISED)
        links = {
            "neighbours": [link.name for link in graph.neighbours],
            "subscribers": [link.subscription_id for link in graph.subscribers],
            "link_of": graph.link_of.tolist(),
        }
        (folder / LINKS).write_text(json.dumps(links))
        return self._versions.publish((name,), {}).name

    def load(self, version: str) -> LoadedGraph:
        """A version by its name."""
        [segment] = self._versions.version(version).segments
        folder = self._versions.segment(segment)
        try:
            links = json.loads((folder / LINKS).read_text())
        except FileNotFoundError:
            raise IndexFolderError(f"{folder} is gone, or this machine does not see it") from None
        graph = PublicationRoutingGraph(
            Matcher.load(folder),
            tuple(map(Neighbour, links["neighbours"])),
            tuple(map(Subscriber, links["subscribers"])),
            np.array(links["link_of"], np.int32),
        )
        advertised = folder / ADVERTISED
        return LoadedGraph(graph, Matcher.load(advertised) if advertised.exists() else None)
