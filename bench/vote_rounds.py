"""How quick votes in rounds are: node updates a second of CPU time, up to a million nodes.

    python bench/vote_rounds.py [--sizes 1000 ...] [--seconds 2]

A node is updated when it has heard something in a round and judges its votes again. Inputs are the
paper's: normally distributed, three choices, d'(2,3) = 1. Voting is Algorithm 1, pairwise a
majority vote on each pair of choices; real nodes are `Voter` objects in the simulator, on the same
inputs.
"""

import argparse
import time
from collections.abc import Callable

import numpy as np
from rich.console import Console

from caddis.arrays import Int64s
from caddis.lab.figures import Row, print_table
from caddis.lab.simulators import (
    PairRounds,
    Tree,
    TreeSimulator,
    VoteRounds,
    a_round,
    complete_binary_tree,
    gaussian_costs,
    random_binary_tree,
)
from caddis.topics.voting import Voter

SIZES = (1_000, 100_000, 1_000_000)
DISTANCES = (0.01, 0.1, 1.0)
REAL, REAL_UP_TO = "real nodes", 1_000


def timed(run: Callable[[], int], seconds: float) -> tuple[float, int]:
    """Updates per second of CPU time, over as many runs as fit, and how many runs those were."""
    run()
    begin, updates, runs = time.process_time(), 0, 0
    while runs == 0 or time.process_time() - begin < seconds:
        updates += run()
        runs += 1
    return updates / (time.process_time() - begin), runs


def real(tree: Tree, costs: Int64s, updates: int) -> int:
    """The same vote by node objects, which judge as often as the engine does."""
    voters = [Voter(costs.shape[1]) for _ in costs]
    simulator = TreeSimulator(voters, np.random.default_rng(0), a_round, parents=tree.parents)
    for node, voter in enumerate(voters):
        simulator.say(node, voter.set_input(costs[node]))
    simulator.run()
    return updates


def rows(size: int, distance: float, seconds: float) -> list[Row]:
    rng = np.random.default_rng(1)
    costs = gaussian_costs(size, (distance, 1.0), rng)
    complete = Tree.of(complete_binary_tree(size))
    ways: dict[str, Callable[[], int]] = {
        "voting, complete tree": lambda: VoteRounds(complete, costs).run().updates,
        "pairwise, complete tree": lambda: PairRounds(complete, costs).run().updates,
    }
    scattered = Tree.of(random_binary_tree(size, rng))
    ways["voting, random tree"] = lambda: VoteRounds(scattered, costs).run().updates
    if size <= REAL_UP_TO:
        updates = VoteRounds(complete, costs).run().updates
        ways[REAL] = lambda: real(complete, costs, updates)
    made = []
    for name, way in ways.items():
        figure, runs = timed(way, seconds)
        made.append(Row(size, name, figure, "updates/s", runs, "votes"))
    return made


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES), metavar="NODES")
    parser.add_argument("--distances", nargs="+", type=float, default=list(DISTANCES))
    parser.add_argument("--seconds", type=float, default=2.0, help="of each figure, about")
    arguments, console = parser.parse_args(), Console()
    for distance in arguments.distances:
        found = [row for size in arguments.sizes for row in rows(size, distance, arguments.seconds)]
        title = f"Votes in rounds, one core, d'(1,2) = {distance:g}"
        print_table(console, title, found, (REAL,), size="nodes")
        console.print()


if __name__ == "__main__":
    main()
