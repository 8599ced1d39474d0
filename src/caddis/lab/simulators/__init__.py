"""The product's nodes in virtual time: real code, simulated links, clocks and losses.

    overlay       brokers that decide and forward events (`simulate`)
    tree          any nodes on a tree that changes (`TreeSimulator`), and shapes of trees
    clustering    nodes that cluster topics together, on such a tree
    channels      publishers and receivers of channels, over a network that loses messages
    vote_rounds   votes on a million nodes, by arrays instead of nodes

A run is determined by its arguments and the seed of its generator.
"""

from caddis.lab.simulators.channels import ChannelSimulator, ChannelWorkload, live
from caddis.lab.simulators.clustering import ClusteringSimulation, Spell
from caddis.lab.simulators.overlay import Crash, RoutingTables, simulate, subscribe_all
from caddis.lab.simulators.overlay_report import MEANS, Mean, OverlayReport
from caddis.lab.simulators.tree import (
    Delay,
    TreeSimulator,
    a_round,
    a_while,
    complete_binary_tree,
    random_binary_tree,
    random_tree,
)
from caddis.lab.simulators.vote_rounds import (
    PairRounds,
    Tree,
    VoteRounds,
    aggregated,
    aggregated_again,
    gaussian_costs,
    packets,
)
