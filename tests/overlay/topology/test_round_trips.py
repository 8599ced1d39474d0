"""Measured matrices are read or refused with the line; made-up ones look like PlanetLab's."""

from pathlib import Path

import numpy as np
import pytest

from caddis.errors import OverlayError
from caddis.overlay.topology.round_trips import draw_places, parse_round_trips
from caddis.overlay.topology.tree import Topology
from tests.overlay.topology.planetlab import PLANETLAB, Profile, synthetic_round_trips

MEASURED = Path(__file__).resolve().parents[4] / "shared" / "data" / "planetlab"
needs_planetlab = pytest.mark.skipif(
    not MEASURED.is_dir(), reason="PlanetLab's matrices are not beside the repository"
)


def profile(matrices: list[np.ndarray], trees: int) -> Profile:
    """The numbers of PLANETLAB, of other matrices."""
    rng = np.random.default_rng(1)
    grown = [Topology.from_round_trips(one, 100, rng) for one in matrices for _ in range(trees)]
    pairs = np.concatenate([one[np.triu_indices(len(one), 1)] for one in matrices])
    links = [2 * delay for tree in grown for *_, delay in tree.links()]
    return Profile(
        PLANETLAB.shares,
        tuple(np.quantile(pairs, PLANETLAB.shares)),
        tuple(np.quantile(links, PLANETLAB.shares)),
        float(np.mean([tree.depths.mean() for tree in grown])),
        float(np.mean([tree.depths.max() for tree in grown])),
        float(np.mean([leaves(tree) for tree in grown])),
    )


def leaves(tree: Topology) -> float:
    return float(np.mean([len(tree.neighbours(name)) == 1 for name in tree.brokers]))


def assert_like_planetlab(found: Profile, within: float, at_the_ends: float) -> None:
    """The ends are the quickest 10% and the slowest 5% of the links, and the slowest 1% of pairs.

    They are few in a tree, or one slow node's.
    """
    ratios = np.divide(found.pairs, PLANETLAB.pairs)
    assert ratios[:-1] == pytest.approx(1, abs=within)
    assert ratios[-1] == pytest.approx(1, abs=at_the_ends)
    ratios = np.divide(found.links, PLANETLAB.links)
    assert ratios[2:-2] == pytest.approx(1, abs=within)
    assert ratios == pytest.approx(1, abs=at_the_ends)
    assert found.mean_depth == pytest.approx(PLANETLAB.mean_depth, rel=within)
    assert found.greatest_depth == pytest.approx(PLANETLAB.greatest_depth, rel=within)
    assert found.leaves == pytest.approx(PLANETLAB.leaves, rel=within)


@needs_planetlab
def test_the_profile_of_planetlab_is_what_was_measured():
    matrices = [
        parse_round_trips((MEASURED / f"PlanetLabData_{i}").read_text(), str(i))
        for i in range(1, 6)
    ]
    for matrix in matrices:
        assert matrix.shape == (490, 490)
        assert np.array_equal(matrix, matrix.T)
        assert np.array_equal(matrix == 0, np.eye(490, dtype=bool))
    assert_like_planetlab(profile(matrices, trees=10), within=0.08, at_the_ends=0.15)


def test_made_up_matrices_are_like_planetlab():
    made = [synthetic_round_trips(490, np.random.default_rng([3, i])) for i in range(10)]
    assert_like_planetlab(profile(made, trees=5), within=0.25, at_the_ends=0.4)


def test_made_up_times_are_symmetric_positive_and_from_the_seed():
    one, same, other = (synthetic_round_trips(300, np.random.default_rng(i)) for i in (1, 1, 2))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)
    assert np.array_equal(one, one.T)
    assert np.array_equal(one > 0, ~np.eye(300, dtype=bool))


@pytest.mark.parametrize("nodes", [0, 1, 2])
def test_there_may_be_few_nodes(nodes):
    assert synthetic_round_trips(nodes, np.random.default_rng(1)).shape == (nodes, nodes)


def test_some_places_keep_their_times():
    places = draw_places(60, np.random.default_rng(1))
    chosen = np.array([3, 4, 17, 50])
    assert places.some(chosen).times_from(1).tolist() == places.times_from(4)[chosen].tolist()


def test_a_matrix_is_read_with_its_gaps_and_without_its_empty_lines():
    text = "0\t1.5  -1\n\n2 0 nan\n3 4 0\n\n"
    expected = np.array([[0, 1.5, -1], [2, 0, np.nan], [3, 4, 0]])
    assert np.array_equal(parse_round_trips(text, "times"), expected, equal_nan=True)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("0 1\n1 0 2\n", ", line 2: 3 numbers; the lines before have 2"),
        ("0 1\n\n1 fast\n", ", line 3: 'fast', in column 2, is not a number"),
        ("0 1\n", ": 1 lines of 2 numbers; a matrix of round trips has as many lines as"),
        ("\n\n", ": there are no numbers in it"),
    ],
)
def test_what_is_no_square_matrix_is_refused_with_its_place(text, problem):
    with pytest.raises(OverlayError) as caught:
        parse_round_trips(text, "times.txt")
    assert str(caught.value).startswith(f"times.txt{problem}")
