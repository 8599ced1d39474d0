"""Compiles the kernels once, before the tests' processes would each compile them for themselves.

    python -m tests.compiled (matching | ordering | overlay | topics | sealed)

What is compiled is kept beside the sources, and every process of the same checkout finds it there.
Besides what users need (`warm_up`), random clauses over random columns need most of what matches,
one choice of a model all that orders models, one event all that brokers run, one of each of the
lab's experiments all that votes and clusters, and one sealed batch in each scheme all that seals
and compares; what is missing, a test compiles when it needs it.
"""

import sys
from random import Random

import numpy as np
import pyarrow as pa

from caddis.lab import draw_workload, simulate
from caddis.lab.figures.runs import Place
from caddis.lab.local_building_blocks.clusterings import LAST
from caddis.lab.local_building_blocks.figures import EXPERIMENTS
from caddis.lab.local_building_blocks.votes import Conditions, Setup
from caddis.lab.workloads.instances import paper_workload, random_instance
from caddis.lab.workloads.interests import planted
from caddis.lab.yardsticks.ordering_costs import policy_costs
from caddis.matching import NEEDED as MATCHING
from caddis.ordering import POLICIES, needed
from caddis.overlay import FORWARDINGS, Topology
from caddis.sealed.design import SCHEMES
from caddis.sealed.matcher.groups import Sifting
from caddis.sealed.matcher.matcher import NEEDED as SEALED
from caddis.sealed.matcher.matcher import SealedMatcher
from caddis.sealed.prefilter.wire import decode, encode
from caddis.topics.majority.sign_voter import SignVoter
from caddis.topics.voting.voter import Voter
from tests.oracle.clauses import Clauses
from tests.oracle.events import random_batch, random_schema
from tests.oracle.judges import ask_caddis
from tests.sealed.homes import sealed_events, sealed_wheres

SCHEMAS = 6
SIFTINGS: tuple[Sifting, ...] = ("rarest-bit", "paper", None)


def matching() -> None:
    MATCHING.compile()
    for seed in range(SCHEMAS):
        random = Random(seed)
        batch = random_batch(random, random_schema(random), rows=20)
        clauses = Clauses(random, batch)
        ask_caddis(batch, [clauses.tree() for _ in range(60)])


def ordering() -> None:
    needed().compile()
    instance = random_instance(np.random.default_rng(0))
    policy_costs(instance, np.ones((1, instance.concepts), bool), POLICIES["foresight"])


def overlay() -> None:
    tree = Topology.synthetic(3)
    rng = np.random.default_rng(0)
    workload = draw_workload(tree, paper_workload(5, 3, rng=rng), events=2, rng=rng)
    for policy in FORWARDINGS:
        simulate(tree, workload, policy)


def topics() -> None:
    small = Setup(Conditions(nodes=9, k=3), planted(30, 8, np.random.default_rng(0)))
    for name, setting, x in (
        ("distance", "random", 1.0),
        ("interests", LAST, 1.0),
        ("clustering", "", 3.0),
        ("convergence", "5", 0.5),
    ):
        EXPERIMENTS[name].measure(small, Place(setting, x, 0))
    for node in (Voter(choices=2), SignVoter()):
        node.neighbour_joined("west")
        node.set_input([1, 0] if isinstance(node, Voter) else [1])


def sealed() -> None:
    SEALED.compile()
    for scheme in SCHEMES:
        events, wheres = sealed_events(scheme), sealed_wheres(scheme)
        for prefilter in SIFTINGS:
            SealedMatcher.compile(wheres, sample=events, prefilter=prefilter).match(events)
    filters = np.array([[1 << 40]], np.uint64)
    decode(pa.array(encode(filters, compressed=True), pa.binary()), bits=64)


ROOMS = {
    "matching": matching,
    "ordering": ordering,
    "overlay": overlay,
    "topics": topics,
    "sealed": sealed,
}

if __name__ == "__main__":
    ROOMS[sys.argv[1]]()
