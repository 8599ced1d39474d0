import numpy as np
import pytest

from caddis.arrays import Int32s
from caddis.lab.simulators.tree import (
    complete_binary_tree,
    eccentricities,
    random_binary_tree,
    random_tree,
)
from tests.runs import seeds


def drawn(seed: int) -> Int32s:
    rng = np.random.default_rng(seed)
    nodes = int(rng.integers(1, 40))
    if seed % 3 == 0:
        return complete_binary_tree(nodes)
    return random_tree(nodes, rng) if seed % 3 == 1 else random_binary_tree(nodes, rng)


def distances(parents: Int32s, start: int) -> list[int]:
    """From a node to each, by walking in plain Python."""
    linked: list[list[int]] = [[] for _ in parents]
    for node, parent in enumerate(parents.tolist()):
        if parent >= 0:
            linked[node].append(parent)
            linked[parent].append(node)
    far = {start: 0}
    walk = [start]
    for node in walk:
        for other in linked[node]:
            if other not in far:
                far[other] = far[node] + 1
                walk.append(other)
    return [far[node] for node in range(len(parents))]


@pytest.mark.parametrize("seed", seeds(10, 100))
def test_parents_stand_before_their_children(seed: int):
    parents = drawn(seed)
    assert parents.dtype == np.int32
    assert parents[0] == -1
    assert all(0 <= parent < node for node, parent in enumerate(parents[1:].tolist(), start=1))


def test_a_random_binary_tree_draws_from_all_that_have_fewer_than_two_children():
    counts: dict[tuple[int, ...], int] = {}
    rng = np.random.default_rng(1)
    for _ in range(6000):
        parents = tuple(random_binary_tree(4, rng)[1:].tolist())
        counts[parents] = counts.get(parents, 0) + 1
    shares = {parents: count / 6000 for parents, count in counts.items()}
    expected = {(0, 0, 1): 1 / 4, (0, 0, 2): 1 / 4}
    expected |= {(0, 1, parent): 1 / 6 for parent in (0, 1, 2)}
    assert shares.keys() == expected.keys()
    assert all(abs(shares[one] - share) < 0.02 for one, share in expected.items())


def test_no_node_of_a_binary_tree_has_three_children():
    parents = random_binary_tree(5000, np.random.default_rng(0))
    assert np.bincount(parents[1:]).max() == 2


@pytest.mark.parametrize("seed", seeds(10, 100))
def test_eccentricities_are_the_greatest_distances(seed: int):
    parents = drawn(seed)
    expected = [max(distances(parents, node)) for node in range(len(parents))]
    assert eccentricities(parents).tolist() == expected


def test_the_mean_over_a_complete_binary_tree_of_1000_is_the_papers():
    assert eccentricities(complete_binary_tree(1000)).mean() == pytest.approx(17, abs=0.05)


@pytest.mark.parametrize("nodes", [0, 1])
def test_a_tree_may_be_a_root_or_nothing(nodes: int):
    rng = np.random.default_rng(0)
    trees = complete_binary_tree(nodes), random_tree(nodes, rng), random_binary_tree(nodes, rng)
    for parents in trees:
        assert parents.tolist() == [-1] * nodes


def test_a_million_nodes_are_drawn_and_measured():
    parents = random_binary_tree(1_000_000, np.random.default_rng(0))
    far = eccentricities(parents)
    assert 2 * far.min() in (far.max(), far.max() + 1)
