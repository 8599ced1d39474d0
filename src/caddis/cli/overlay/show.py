"""An overlay as a tree of text, seen from its root."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from caddis.cli.overlay.order import PreparedOverlay
from caddis.cli.shell import count


@dataclass(frozen=True, slots=True)
class OverlayTree:
    """What the file says, once everything in it has been checked."""

    prepared: PreparedOverlay

    def as_json(self) -> dict[str, object]:
        """The same for a machine."""
        prepared, topology = self.prepared, self.prepared.overlay.topology
        brokers = [
            {
                "name": broker.name,
                "neighbours": topology.neighbours(broker.name),
                "joins": broker.joins,
                "delay_ms": broker.delay_ms,
                "subscriptions": len(prepared.subscriptions[broker.name]),
                "publishes": broker.publishes,
                "advertises": broker.advertises,
            }
            for broker in prepared.overlay.brokers
        ]
        return {
            "policy": prepared.policy,
            "root": prepared.overlay.root,
            "schema": prepared.overlay.schema,
            "models": [model.name for model in prepared.models],
            "dir": prepared.order.folder,
            "brokers": brokers,
        }

    def show(self, console: Console) -> None:
        """Policy and models, then the tree."""
        prepared = self.prepared
        names = ", ".join(model.name for model in prepared.models) or "none"
        console.print(Text(f"policy {prepared.policy}; models: {names}"))
        console.print()
        for line in self.lines():
            console.print(Text(line), soft_wrap=True)

    def lines(self) -> Iterator[str]:
        """A line a broker, below the one towards the root."""
        yield from self._below(self.prepared.overlay.root, "", "", "")

    def _below(self, name: str, above: str, first: str, rest: str) -> Iterator[str]:
        topology = self.prepared.overlay.topology
        delay = f"{topology.delay(name, above):g} ms ── " if above else ""
        yield f"{first}{delay}{name}  {self._told(name)}".rstrip()
        children = [other for other in topology.neighbours(name) if other != above]
        for child in children:
            last = child == children[-1]
            yield from self._below(
                child,
                name,
                rest + ("└── " if last else "├── "),
                rest + ("    " if last else "│   "),
            )

    def _told(self, name: str) -> str:
        broker = self.prepared.entry(name)
        told = []
        if self.prepared.subscriptions[name]:
            told.append(count(len(self.prepared.subscriptions[name]), "subscription"))
        if broker.publishes is not None:
            where = f" where {broker.advertises}" if broker.advertises else ""
            told.append(f"publishes {broker.publishes}{where}")
        return "; ".join(told)
