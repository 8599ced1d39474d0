"""The experiment on delays: real nodes whose messages take random times, against rounds.

The other experiments are in rounds, where all that a node is told at one time is heard before it
answers. Here a vote of the paper's inputs is cast twice, on the same tree: by the engine in rounds,
and by the `Voter`s of `caddis.topics` behind their links, in virtual time.
"""

from __future__ import annotations

import numpy as np

from caddis.arrays import Int64s
from caddis.lab.figures import Measured
from caddis.lab.local_building_blocks.runs import Setup
from caddis.lab.local_building_blocks.votes import SECOND, check_outcome, quiet, tree_of
from caddis.lab.simulators import Delay, Tree, TreeSimulator, VoteRounds, a_while, gaussian_costs
from caddis.topics.voting import Voter

MEAN_MS = 50.0
"""How long a message takes, on average (`a_while`): the time of one round."""


def measure_delays(setup: Setup, setting: str, x: float, rng: np.random.Generator) -> Measured:
    """A first vote in rounds and with delays; x: d'(1,2), setting: the tree's shape."""
    nodes = setup.conditions.nodes
    tree = tree_of(setting, nodes, rng)
    costs = gaussian_costs(nodes, (x, SECOND), rng)
    vote = quiet(VoteRounds(tree, costs), costs)
    real = simulated(tree, costs, rng, a_while)
    return {
        "rounds": vote.messages,
        "rounds_time": vote.rounds,
        "delays": float(real.messages.sum()) / nodes,
        "delays_time": real.now / MEAN_MS,
    }


def simulated(tree: Tree, costs: Int64s, rng: np.random.Generator, delay: Delay) -> TreeSimulator:
    """A first vote of real nodes that is quiet, and whose outcome is right at every node."""
    voters = [Voter(choices=costs.shape[1]) for _ in costs]
    simulator = TreeSimulator(voters, rng, delay, parents=tree.parents)
    for node, voter in enumerate(voters):
        simulator.say(node, voter.set_input(costs[node]))
    simulator.run()
    check_outcome(np.array([voter.choice() for voter in voters]), costs)
    return simulator
