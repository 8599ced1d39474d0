"""A topology is a tree, the lightest one, and the same from every root."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caddis.errors import OverlayError
from caddis.overlay.topology.round_trips import (
    draw_places,
    grow_spanning_tree,
    link_times,
    spanning_tree,
)
from caddis.overlay.topology.tree import Topology

seeds = st.integers(0, 2**32 - 1)


def random_matrix(nodes: int, gaps: float, seed: int) -> np.ndarray:
    """Times that differ both ways, often equal each other, and of which some are missing."""
    rng = np.random.default_rng(seed)
    matrix = rng.integers(1, 30, (nodes, nodes)).astype(np.float64)
    missing = rng.random((nodes, nodes)) < gaps
    matrix[missing] = rng.choice([0.0, -1.0, np.nan, np.inf], int(missing.sum()))
    return matrix


def prim_weight(matrix: np.ndarray) -> float | None:
    """The least weight of a tree over all nodes, written down plainly; None if there is none."""
    inside, weight = {0}, 0.0
    while len(inside) < len(matrix):
        best = None
        for i in inside:
            for j in set(range(len(matrix))) - inside:
                for time in (matrix[i, j], matrix[j, i]):
                    if 0 < time < np.inf and (best is None or time < best[0]):
                        best = (time, j)
        if best is None:
            return None
        weight += best[0]
        inside.add(best[1])
    return weight


def links_of(tree: Topology) -> set[tuple[frozenset[str], float]]:
    return {(frozenset((one, other)), delay) for one, other, delay in tree.links()}


def assert_is_tree(tree: Topology) -> None:
    links = list(tree.links())
    assert len(links) == len(tree) - 1
    reached = {tree.root}
    for parent, child, _ in links:
        assert parent in reached
        assert child not in reached
        reached.add(child)
    assert reached == set(tree.brokers)


@st.composite
def trees(draw: st.DrawFn) -> Topology:
    parents = [-1] + [draw(st.integers(0, place)) for place in range(draw(st.integers(0, 12)))]
    delays = np.array([0.0, *(float(draw(st.integers(0, 9))) for _ in parents[1:])])
    return Topology(tuple(f"b{i}" for i in range(len(parents))), "b0", tuple(parents), delays)


@given(st.integers(1, 9), st.sampled_from([0.0, 0.3, 0.7]), seeds)
def test_the_tree_of_a_matrix_is_the_lightest_one_or_there_is_none(nodes, gaps, seed):
    matrix = random_matrix(nodes, gaps, seed)
    weight = prim_weight(matrix)
    if weight is None:
        with pytest.raises(OverlayError, match=f"no {nodes} nodes are connected"):
            Topology.from_round_trips(matrix, nodes)
        return
    tree = Topology.from_round_trips(matrix, nodes, seed)
    assert_is_tree(tree)
    assert 2 * sum(delay for *_, delay in tree.links()) == weight


@given(st.integers(2, 9), st.sampled_from([0.3, 0.7]), seeds)
def test_chosen_nodes_are_connected_by_what_was_measured(nodes, gaps, seed):
    matrix = random_matrix(nodes, gaps, seed)
    try:
        tree = Topology.from_round_trips(matrix, nodes - 1, seed)
    except OverlayError:
        return
    assert_is_tree(tree)
    rows = [int(name.removeprefix("node-")) for name in tree.brokers]
    assert 2 * sum(delay for *_, delay in tree.links()) == prim_weight(matrix[np.ix_(rows, rows)])


@given(st.integers(1, 60), seeds)
def test_growing_a_tree_row_by_row_gives_the_tree_of_the_matrix(nodes, seed):
    places = draw_places(nodes, np.random.default_rng(seed))
    matrix = np.array([places.times_from(node) for node in range(nodes)])
    parents, times = spanning_tree(link_times(matrix), root=nodes // 2)
    grown = grow_spanning_tree(places.times_from, nodes, root=nodes // 2)
    assert grown[0].tolist() == parents.tolist()
    assert grown[1].tolist() == times.tolist()


@given(trees(), st.data())
def test_another_root_keeps_the_links(tree, data):
    name = data.draw(st.sampled_from(tree.brokers))
    turned = tree.rooted_at(name)
    assert turned.root == name
    assert_is_tree(turned)
    assert links_of(turned) == links_of(tree)
    assert turned.rooted_at(tree.root) == tree


@given(trees())
def test_paths_neighbours_depths_and_delays_tell_of_the_same_links(tree):
    linked = dict(links_of(tree))
    for name, depth in zip(tree.brokers, tree.depths, strict=True):
        path = tree.path(name)
        assert (path[0], path[-1], len(path)) == (tree.root, name, depth + 1)
        for one, other in pairwise(path):
            assert (
                tree.delay(one, other) == tree.delay(other, one) == linked[frozenset((one, other))]
            )
        assert {frozenset((name, near)) for near in tree.neighbours(name)} == {
            pair for pair in linked if name in pair
        }
        assert tree.neighbours(name)[:1] == path[-2:-1] or name == tree.root


def test_the_same_seed_gives_the_same_tree_and_another_seed_another():
    matrix = random_matrix(60, 0.1, seed=1)
    for make in (
        lambda seed: Topology.from_round_trips(matrix, 20, seed),
        lambda seed: Topology.synthetic(20, seed),
    ):
        assert make(5) == make(5) == make(np.random.default_rng(5))
        assert hash(make(5)) == hash(make(5))
        assert make(5) != make(6)


def test_brokers_and_root_are_chosen_evenly_where_nothing_is_missing():
    matrix = random_matrix(10, 0.0, seed=1)
    rng = np.random.default_rng(1)
    drawn = [Topology.from_round_trips(matrix, 3, rng) for _ in range(1000)]
    for row in range(10):
        name = f"node-{row}"
        assert sum(name in tree.brokers for tree in drawn) == pytest.approx(300, abs=60)
        assert sum(name == tree.root for tree in drawn) == pytest.approx(100, abs=40)


def test_a_root_that_is_given_is_among_the_chosen():
    matrix = random_matrix(30, 0.1, seed=1)
    assert {Topology.from_round_trips(matrix, 4, seed, root=7).root for seed in range(20)} == {
        "node-07"
    }


def test_ten_thousand_brokers_are_one_tree():
    parents = (-1, *(place // 3 for place in range(9_999)))
    tree = Topology(tuple(map(str, range(10_000))), "0", parents, np.zeros(10_000))
    assert_is_tree(tree.rooted_at("9999"))
    assert_is_tree(Topology.synthetic(1_000, seed=1))


def test_a_topology_is_a_value():
    tree = Topology.synthetic(30, seed=1)
    assert pickle.loads(pickle.dumps(tree)) == tree
    assert tree != "tree"
    for array in (tree.delays, tree.depths):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


@pytest.mark.parametrize(
    ("brokers", "root", "parents", "delays", "problem"),
    [
        (("a", "a"), "a", (-1, 0), (0, 1), "2 brokers are named 'a'"),
        (("a", "b"), "c", (-1, 0), (0, 1), "the root 'c' is not among the brokers"),
        ((), "a", (), (), "the root 'a' is not among the brokers"),
        (("a", "b"), "a", (-1,), (0, 1), "2 brokers need as many parents and delays, not 1 and 2"),
        (("a", "b"), "a", (-1, 2), (0, 1), "a parent is a broker's number below 2, or -1"),
        (("a", "b"), "a", (-1, -1), (0, 1), "the root 'a', and no other broker"),
        (("a", "b"), "b", (-1, 0), (0, 1), "the root 'b', and no other broker"),
        (("a", "b"), "a", (-1, 0), (0, -1), "a delay is a finite number of milliseconds"),
        (("a", "b"), "a", (-1, 0), (0, np.nan), "a delay is a finite number of milliseconds"),
        (("a", "b", "c"), "a", (-1, 2, 1), (0, 1, 1), "no links lead from the root 'a' to 'b'"),
    ],
)
def test_what_is_no_tree_is_refused(brokers, root, parents, delays, problem):
    with pytest.raises(OverlayError) as caught:
        Topology(brokers, root, parents, np.array(delays))
    assert problem in str(caught.value)


def test_brokers_and_links_that_do_not_exist_are_named():
    tree = Topology(("galway", "cork", "kerry"), "galway", (-1, 0, 0), np.zeros(3))
    with pytest.raises(OverlayError, match="no broker 'galwya'; did you mean 'galway'"):
        tree.neighbours("galwya")
    with pytest.raises(OverlayError, match="no link joins 'cork' and 'kerry'"):
        tree.delay("cork", "kerry")


@pytest.mark.parametrize(
    ("shape", "brokers", "root", "problem"),
    [
        ((3, 4), 2, None, "a matrix of round trips is square, not (3, 4)"),
        ((3, 3), 4, None, "4 brokers cannot be chosen among 3 nodes"),
        ((3, 3), 0, None, "0 brokers cannot be chosen among 3 nodes"),
        ((3, 3), 2, 3, "the root is a row of the matrix, 0 to 2, not 3"),
        ((3, 3), 2, None, "no 2 nodes are connected by measured round trips; at most 1 are"),
        ((3, 3), 2, 1, "node 1 was measured, directly or by way of others, with 0 nodes"),
    ],
)
def test_a_matrix_without_such_a_tree_is_refused(shape, brokers, root, problem):
    with pytest.raises(OverlayError) as caught:
        Topology.from_round_trips(np.zeros(shape), brokers, root=root)
    assert problem in str(caught.value)


def test_a_synthetic_tree_has_at_least_one_broker():
    assert len(Topology.synthetic(1)) == 1
    with pytest.raises(OverlayError, match="at least one broker, not 0"):
        Topology.synthetic(0)
