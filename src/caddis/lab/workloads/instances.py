"""Instances of the shared-filter ordering problem, drawn from a generator that is passed in.

The workloads are those of section V of "Adaptive Filtering of Visual Content in
Distributed Publish/Subscribe Systems"; the small ones are for comparison with the exact optimum.
"""

from dataclasses import replace
from typing import Literal

import numpy as np

from caddis.arrays import Bools, Floats
from caddis.ordering.certificate import Clause, Instance

Popularity = Literal["zipf", "uniform"]
Range = tuple[float, float]


def paper_workload(
    subscriptions: int,
    concepts: int = 100,
    *,
    popularity: Popularity = "zipf",
    exponent: float = 1.0,
    at_most: int = 5,
    costs: Range = (12, 16),
    selectivity: Range = (0, 0.25),
    rng: np.random.Generator,
) -> Instance:
    """The paper's workload: a link of one clause for every subscription, a model per concept.

    A clause asks for 1..at_most distinct concepts, all of them positive. `zipf`: concept 0 is
    the most popular one, concept c is chosen in proportion to (c + 1) ** -exponent. `uniform`
    is the paper's name for weights drawn from [0, 1]; `exponent` is not used then.
    """
    weights = _weights(concepts, popularity, exponent, rng)
    return Instance(
        costs=rng.uniform(*costs, size=concepts),
        answered_by=np.arange(concepts, dtype=np.int32),
        selectivity=rng.uniform(*selectivity, size=concepts),
        clauses=_conjunctions(subscriptions, weights, at_most, rng),
        links=subscriptions,
    )


def spread_costs(
    subscriptions: int,
    concepts: int = 100,
    *,
    popularity: Popularity = "zipf",
    exponent: float = 1.0,
    at_most: int = 5,
    costs: Range = (1, 1000),
    selectivity: Range = (0, 0.25),
    rng: np.random.Generator,
) -> Instance:
    """The paper's workload, but for costs that are log-uniform: some models are cheap.

    From the same generator it has the same clauses and selectivities as `paper_workload`.
    """
    close = paper_workload(
        subscriptions,
        concepts,
        popularity=popularity,
        exponent=exponent,
        at_most=at_most,
        selectivity=selectivity,
        rng=rng,
    )
    return replace(close, costs=_log_uniform(costs, concepts, rng))


def random_instance(
    rng: np.random.Generator,
    *,
    models: tuple[int, int] = (2, 7),
    concepts: tuple[int, int] = (2, 8),
    clauses: tuple[int, int] = (1, 8),
    literals: tuple[int, int] = (1, 4),
    negated: float = 0.3,
    joined: float = 0.4,
    costs: Range = (1, 100),
    selectivity: Range = (0.05, 0.95),
) -> Instance:
    """A small instance for comparison with the exact optimum; pairs are inclusive ranges.

    `negated`: the chance that a literal asks for false; `joined`: that a clause belongs to the
    link of the clause before it. Every model answers at least one concept.
    """
    model_count = int(rng.integers(models[0], min(models[1], concepts[1]) + 1))
    concept_count = int(rng.integers(max(concepts[0], model_count), concepts[1] + 1))
    clause_count = int(rng.integers(clauses[0], clauses[1] + 1))
    first_of_link = rng.random(clause_count) >= joined
    first_of_link[0] = True
    links = np.cumsum(first_of_link) - 1
    extra = rng.integers(0, model_count, size=concept_count - model_count)
    answered_by = np.concatenate([np.arange(model_count), extra])
    return Instance(
        costs=_log_uniform(costs, model_count, rng),
        answered_by=rng.permutation(answered_by).astype(np.int32),
        selectivity=rng.uniform(*selectivity, size=concept_count),
        clauses=tuple(
            (int(link), _literals(concept_count, literals, negated, rng)) for link in links
        ),
        links=int(links[-1]) + 1,
    )


def outcomes(instance: Instance, events: int, rng: np.random.Generator) -> Bools:
    """What is true of each event: a matrix of events × concepts."""
    return rng.random((events, instance.concepts)) < instance.selectivity


def _weights(
    concepts: int, popularity: Popularity, exponent: float, rng: np.random.Generator
) -> Floats:
    if popularity == "zipf":
        return np.arange(1, concepts + 1, dtype=np.float64) ** -exponent
    return 1.0 - rng.random(concepts)


def _conjunctions(
    subscriptions: int, weights: Floats, at_most: int, rng: np.random.Generator
) -> tuple[Clause, ...]:
    """One clause a link; the highest of weight-tilted Gumbel draws are a weighted choice
    without replacement.
    """
    draws = np.log(weights) + rng.gumbel(size=(subscriptions, len(weights)))
    preferred = np.argsort(-draws, axis=1)[:, :at_most]
    sizes = rng.integers(1, preferred.shape[1] + 1, size=subscriptions)
    return tuple(
        (link, tuple(sorted(2 * concept for concept in row[:size])))
        for link, (row, size) in enumerate(zip(preferred.tolist(), sizes.tolist(), strict=True))
    )


def _literals(
    concepts: int, sizes: tuple[int, int], negated: float, rng: np.random.Generator
) -> tuple[int, ...]:
    size = int(rng.integers(min(sizes[0], concepts), min(sizes[1], concepts) + 1))
    chosen = np.sort(rng.choice(concepts, size=size, replace=False))
    return tuple((2 * chosen + (rng.random(size) < negated)).tolist())


def _log_uniform(between: Range, size: int, rng: np.random.Generator) -> Floats:
    return np.exp(rng.uniform(np.log(between[0]), np.log(between[1]), size=size))
