"""Random trees of brokers, and random workloads on them."""

from __future__ import annotations

import numpy as np

from caddis.lab.workloads.instances import (
    Subscription,
    Workload,
    outcomes,
    parsed,
    random_instance,
    where_of,
)
from caddis.overlay.topology.tree import Topology


def drawn_topology(rng: np.random.Generator, most: int = 12) -> Topology:
    """A tree whose delays are now and then alike, or nothing."""
    count = int(rng.integers(1, most + 1))
    parents = [-1, *(int(rng.integers(place)) for place in range(1, count))]
    delays = rng.choice([0.0, 5.0, 5.0, 40.0], count) + rng.choice([0.0, 1.0], count) * rng.random()
    delays[0] = 0
    names = tuple(f"b{place}" for place in range(count))
    return Topology(names, names[0], tuple(parents), delays)


def drawn_workload(rng: np.random.Generator, topology: Topology, events: int = 4) -> Workload:
    """Subscriptions with OR and NOT, models of several concepts, publishers here and there."""
    instance = random_instance(rng, clauses=(1, 25), concepts=(2, 9))
    wheres = [
        " OR ".join(f"({where_of(literals)})" for of, literals in instance.clauses if of == link)
        for link in range(instance.links)
    ]
    homes = rng.choice(topology.brokers, instance.links).tolist()
    return Workload(
        instance,
        tuple(
            Subscription(home, f"s{link}", where)
            for link, (home, where) in enumerate(zip(homes, wheres, strict=True))
        ),
        outcomes(instance, events, rng),
        tuple(rng.choice(topology.brokers[:4], events).tolist()),
        parsed(wheres, instance.concepts),
        event_bytes=int(rng.integers(1000)),
    )
