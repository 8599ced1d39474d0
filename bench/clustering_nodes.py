"""What it takes nodes to cluster topics together, with real messages on simulated trees.

    python bench/clustering_nodes.py [--parts change locality] [--nodes 50 100 200]
        [--channels 5 10 20] [--runs 10] [--models uniform planted] [--protocols aggregation]

    change     20 of 100 topics change for everybody at once: do the votes come to rest?
    locality   one node drops or adds one topic: what is sent, against the first clustering

Each run draws a random tree, interests in 100 topics, and delays of up to 100 ms a link, by a seed
of its own. A run converged if the nodes came to rest at a map that no single move improves; a very
large change is left to the leader, topic by topic. Figures do not depend on the machine.
"""

import argparse
import statistics
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from caddis.lab.local_building_blocks import outcomes_and_cost
from caddis.lab.simulators import ClusteringSimulation, Spell
from caddis.lab.workloads import MODELS, redrawn
from caddis.topics.clustering import PROTOCOLS, Interests, Mode

TOPICS, CHANGED, SINGLE_CHANGES = 100, 20, 20


class Setup(NamedTuple):
    """One row of a table."""

    model: str
    protocol: str
    nodes: int
    k: int

    def simulation(self, seed: int, start: Mode) -> tuple[ClusteringSimulation, Interests]:
        """Nodes and their interests, and the interests that they change to."""
        rng = np.random.default_rng([seed, self.nodes, self.k])
        before, other = (MODELS[self.model](self.nodes, TOPICS, rng) for _ in range(2))
        simulation = ClusteringSimulation(before, self.k, rng, protocol=self.protocol, start=start)
        return simulation, redrawn(before, other, CHANGED, rng)


def setups(options: argparse.Namespace) -> Iterator[Setup]:
    for model in options.models:
        for protocol in options.protocols:
            for nodes in options.nodes:
                for k in options.channels:
                    yield Setup(model, protocol, nodes, k)


def change(setup: Setup, runs: int) -> list[str]:
    converged, after = 0, list[Spell]()
    for seed in range(runs):
        simulation, others = setup.simulation(seed, "concurrent")
        simulation.run()
        simulation.change(others)
        spell = simulation.run()
        chosen, _ = outcomes_and_cost(others, spell.channels, setup.k)
        converged += spell.at_rest and bool((chosen == spell.channels).all())
        after.append(spell)
    return [
        f"{converged} of {runs}",
        f"{sum(spell.fell_back for spell in after)}",
        f"{statistics.mean(spell.waves for spell in after):.0f}",
        f"{max(spell.waves for spell in after)}",
        *sent(after, setup.nodes),
        f"{statistics.mean(spell.ms for spell in after) / 1000:.0f}",
    ]


def sent(spells: list[Spell], nodes: int) -> list[str]:
    packets = statistics.mean(spell.packets for spell in spells) / nodes
    nbytes = statistics.mean(spell.nbytes for spell in spells) / nodes
    return [figure(packets), figure(nbytes / 1000)]


def figure(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.2g}"


def locality(setup: Setup, runs: int) -> list[str]:
    first, single, difficulties = list[Spell](), list[Spell](), list[float]()
    for seed in range(runs):
        simulation, _ = setup.simulation(seed, "leader")
        first.append(simulation.run())
        difficulties += simulation.difficulties().tolist()
        rng = np.random.default_rng([seed, 1])
        for _ in range(SINGLE_CHANGES):
            node, topic = int(rng.integers(setup.nodes)), int(rng.integers(TOPICS))
            simulation.want(node, set(simulation.nodes[node].wanted.tolist()) ^ {topic})
            single.append(simulation.run())
    quiet = [spell for spell in single if not spell.waves]
    return [
        f"{statistics.median(difficulties):.2g}",
        f"{statistics.mean(spell.waves for spell in first):.0f}",
        *sent(first, setup.nodes),
        f"{len(quiet)} of {len(single)}",
        *sent(quiet, setup.nodes),
        *sent(single, setup.nodes),
    ]


PARTS: dict[str, tuple[Callable[[Setup, int], list[str]], str, list[str]]] = {
    "change": (
        change,
        f"{CHANGED} of {TOPICS} topics change for everybody",
        ["converged", "by the leader", "waves", "at most", "packets a node", "kB a node", "s"],
    ),
    "locality": (
        locality,
        "the first clustering, topic by topic; then one node changes one topic",
        [
            "median d'",
            "first: waves",
            "packets a node",
            "kB a node",
            "changes that leave the map",
            "packets a node",
            "kB a node",
            "all changes: packets a node",
            "kB a node",
        ],
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--nodes", nargs="+", type=int, default=[50, 100, 200])
    parser.add_argument("--channels", nargs="+", type=int, default=[5, 10, 20])
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=["uniform", "planted"])
    parser.add_argument("--protocols", nargs="+", choices=PROTOCOLS, default=["aggregation"])
    options = parser.parse_args()
    console = Console(width=150)
    for part in options.parts:
        measure, title, columns = PARTS[part]
        table = Table("interests", "protocol", "nodes", "k", *columns, title=title)
        for setup in setups(options):
            table.add_row(*map(str, setup), *measure(setup, options.runs))
        console.print(table)


if __name__ == "__main__":
    main()
