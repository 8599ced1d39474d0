"""What breaks ASPE: a broker that knows some plain events beside their sealed points.

This is no test of a promise, but of a weakness that docs/sealed.md tells users about.
"""

from random import Random

import numpy as np
import pytest

from caddis.arrays import Floats
from caddis.sealed.design import StreamDesign
from caddis.sealed.values.aspe import Transform
from caddis.sealed.values.coordinates import CELLS
from tests.sealed.plain_points import Value, design_of, key_of, plain_points, random_event

DESIGN = design_of(2, 2)


def learnt_columns(points: Floats, plain: Floats) -> Floats:
    """A matrix G such that G · p' is the plain point of p', up to one factor for all coordinates.

    points, plain: sealed points, and what is known of each: all its coordinates but the padding.

    There is such a G: the rows of the secret matrix's inverse. Of each known event, G p' = a·x with
    an unknown scale a, which is the constant's coordinate; so for every other coordinate j

        g_j · p'  -  x_j (g_constant · p')  =  0

    is linear in the unknown rows g_j and g_constant. Points live in a space of r dimensions (those
    of the design without the half of the padding that is 0 in events), so that somewhat more than r
    events leave one solution up to scale: the null vector of the system. Fresh scales and random
    padding have cost the attacker a few more events, nothing else.
    """
    rank = int(np.linalg.matrix_rank(points))
    basis = np.linalg.svd(points, full_matrices=False)[2][:rank]
    seen = points @ basis.T
    seen = seen / np.linalg.norm(seen, axis=1, keepdims=True)
    known = plain.shape[1] - 1
    system = np.zeros((known, len(seen), known + 1, rank))
    for j in range(known):
        system[j, :, j] = seen
        system[j, :, known] = -plain[:, j, None] * seen
    flat = system.reshape(known * len(seen), (known + 1) * rank)
    solution = np.linalg.svd(flat, full_matrices=False)[2][-1]
    learnt: Floats = solution.reshape(known + 1, rank) @ basis
    return learnt


def opened(points: Floats, learnt: Floats) -> Floats:
    """Plain points, without their padding, of sealed ones."""
    scaled = points @ learnt.T
    return scaled / scaled[:, -1:]


def sealed(
    design: StreamDesign, events: list[list[Value]], random: Random
) -> tuple[Floats, Floats]:
    """Sealed points of the events, and their plain ones."""
    plain = plain_points(design, events)
    return Transform.of(key_of(), design).points(plain, random.randbytes), plain


def some_events(random: Random, count: int) -> list[list[Value]]:
    return [random_event(random, 4, nulls=0.3) for _ in range(count)]


def test_a_few_more_known_events_than_dimensions_open_all_others():
    random = Random(1)
    points, plain = sealed(DESIGN, some_events(random, DESIGN.dimensions + 4), random)
    learnt = learnt_columns(points, plain)
    secret = some_events(random, 50)
    found = opened(sealed(DESIGN, secret, random)[0], learnt)
    cells = (found[:, 0:8:2] + 0.5) * CELLS
    for row, event in enumerate(secret):
        for column in range(4):
            value = event[column]
            if value is not None:
                assert cells[row, column] == pytest.approx(value[0], abs=0.01)
    assert np.abs(found - plain_points(DESIGN, secret)).max() < 1e-6


def test_fewer_known_events_than_dimensions_do_not():
    random = Random(2)
    points, plain = sealed(DESIGN, some_events(random, DESIGN.dimensions // 2), random)
    learnt = learnt_columns(points, plain)
    secret = some_events(random, 50)
    found = opened(sealed(DESIGN, secret, random)[0], learnt)
    assert np.median(np.abs(found - plain_points(DESIGN, secret))[:, :-1]) > 0.05
