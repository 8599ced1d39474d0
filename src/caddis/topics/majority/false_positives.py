"""How often a majority filter takes an unpopular element for a popular one.

Theorem 1 of "Local Building Blocks for a Scalable Pub/Sub Infrastructure" (Shraer et al.) bounds
what many unpopular elements do together. It supposes that each node sets each bit independently of
the other nodes. They share the hash functions, so they do not: a bit's holders are all who hold any
of the elements that fall on it, and a few elements of middling support on one bit make it popular,
however many nodes there are. `expected_false_positives` takes that into account, from the elements'
supports; `bits_for` inverts it, and `popular_bits` says what given sets settle on.

The theorem's functions take its letters in its order: n nodes, l elements a node, h hashes, b bits,
and λ, the threshold.
"""

from __future__ import annotations

from math import ceil, exp, log

import numpy as np
import numpy.typing as npt
from scipy.special import bdtrc

from caddis.arrays import Bools, Floats, Int32s, Int64s
from caddis.errors import TopicError
from caddis.topics.majority.sign_voter import Threshold, as_threshold

LARGEST_EPSILON = 2 * np.e - 1
"""Up to here the form of the Chernoff bound holds that the theorem uses."""
POOL = 8192
"""How many bits a rate is estimated from: enough for small filters, which are drawn repeatedly."""
SURE = 50.0
"""The load of a bit that every node has set: e to its negative is practically zero."""


def share_of_ones(elements: float, hashes: int, bits: int) -> float:
    """The probability that a bit of one node's filter is set."""
    _check_sizes(bits, hashes)
    if not elements >= 0:
        raise TopicError(f"a node holds 0 elements or more, not {elements}")
    return 1 - exp(-hashes * elements / bits)


def aggregation_bound_per_bit(
    nodes: int, elements: float, hashes: int, bits: int, threshold: Threshold
) -> float:
    """Theorem 1's bound on the probability that unpopular elements make a bit popular.

    It is 1 where bits are set as often as the threshold asks for. Where ε is beyond the theorem's
    2e - 1, the other form of the Chernoff bound that it uses holds: 2 ** (-λ n).

    >>> f"{aggregation_bound_per_bit(1000, 20, 3, 50, '0.8'):.4f}"
    '0.0256'
    >>> f"{aggregation_bound_per_bit(1000, 20, 3, 100, '0.8'):.1e}"
    '5.3e-30'
    """
    share, reached = share_of_ones(elements, hashes, bits), float(as_threshold(threshold))
    _check_nodes(nodes)
    if share == 0:
        return 0.0
    epsilon = reached / share - 1
    if epsilon <= 0:
        return 1.0
    if epsilon > LARGEST_EPSILON:
        return exp(-reached * nodes * log(2))
    return exp(-nodes * share * epsilon**2 / 4)


def aggregation_bound(
    nodes: int, elements: float, hashes: int, bits: int, threshold: Threshold
) -> float:
    """Theorem 1's bound on the probability that an element seems popular, as all its bits do.

    >>> f"{aggregation_bound(1000, 20, 3, 50, '0.8'):.1e}"
    '1.7e-05'
    """
    return aggregation_bound_per_bit(nodes, elements, hashes, bits, threshold) ** hashes


def aggregation_tail_per_bit(
    nodes: int, elements: float, hashes: int, bits: int, threshold: Threshold
) -> float:
    """The probability itself that a bit is popular, under the theorem's premise (equation 3).

    >>> f"{aggregation_tail_per_bit(1000, 20, 3, 50, '0.8'):.1e}"
    '2.8e-13'
    """
    _check_nodes(nodes)
    share = share_of_ones(elements, hashes, bits)
    return float(bdtrc(ceil(as_threshold(threshold) * nodes) - 1, nodes, share))


def popular_bits(interests: Bools, places: Int32s, bits: int, threshold: Threshold) -> Bools:
    """The bits that a majority filter settles on.

    interests: who holds what, by node and element.
    places: the places of each element.
    """
    falls_on = np.zeros((len(places), bits), np.float32)
    np.put_along_axis(falls_on, places.astype(np.int64), 1, axis=1)
    holders: Int64s = np.count_nonzero(interests.astype(np.float32) @ falls_on, axis=0)
    share = as_threshold(threshold)
    return np.asarray(holders * share.denominator >= share.numerator * len(interests))


def expected_false_positives(
    supports: npt.ArrayLike,
    bits: int,
    hashes: int,
    threshold: Threshold,
    nodes: int,
    rng: np.random.Generator,
) -> Floats:
    """The probability of each element that it seems popular and is not; 0 for popular ones.

    Interests in different elements are taken as independent, and hash functions as random.

    supports: the share of the nodes that hold each element; 0 stands for one that nobody holds.
    nodes: how many nodes there are.
    """
    _check_sizes(bits, hashes)
    supports, needed = _shares(supports, nodes), ceil(as_threshold(threshold) * nodes)
    holders = np.rint(supports * nodes).astype(np.int64)
    popular = holders >= needed
    loads = np.where(popular, SURE, -np.log1p(-np.where(popular, 0, supports)))
    draws = max(4, POOL // bits)
    places = np.sort(rng.integers(bits, size=(draws, len(loads), hashes)), axis=2)
    on_bits = _loads_of_bits(loads, places, bits)
    # Elements with the same number of holders fare alike: one of each such kind is looked at.
    kinds, first, kind = np.unique(holders, return_index=True, return_inverse=True)
    found = np.zeros(len(kinds))
    for row in np.flatnonzero(kinds < needed):
        others = _without(on_bits, places[:, first[row]], loads[first[row]])
        lacking, rest = int(needed - kinds[row]), int(nodes - kinds[row])
        one = _mean_tail(lacking, rest, -np.expm1(-others))
        found[row] = _all_popular(one, bits, hashes)
    return np.asarray(found[kind])


def bits_for(
    supports: npt.ArrayLike,
    hashes: int,
    threshold: Threshold,
    nodes: int,
    rate: float,
    seed: int = 0,
) -> int:
    """The fewest bits, to within about 2%, with which few unpopular elements seem popular.

    rate: the share of the unpopular elements that may seem popular.
    """
    supports = _shares(supports, nodes)
    unpopular = np.rint(supports * nodes) < as_threshold(threshold) * nodes
    if not 0 < rate < 1 or not unpopular.any():
        raise TopicError(
            f"a rate is above 0 and below 1, and some element must be unpopular; the rate is {rate}"
        )

    def is_enough(bits: int) -> bool:
        rng = np.random.default_rng(seed)
        found = expected_false_positives(supports, bits, hashes, threshold, nodes, rng)
        return bool(found[unpopular].mean() <= rate)

    most = 8
    while not is_enough(most):
        most *= 2
    least = most // 2
    while most - least > max(1, most // 50):
        middle = (least + most) // 2
        least, most = (least, middle) if is_enough(middle) else (middle, most)
    return most


def _shares(supports: npt.ArrayLike, nodes: int) -> Floats:
    _check_nodes(nodes)
    shares = np.asarray(supports, np.float64)
    if shares.ndim != 1 or not ((shares >= 0) & (shares <= 1)).all():
        raise TopicError(f"supports are shares of the nodes, from 0 to 1, not {shares}")
    return shares


def _check_sizes(bits: int, hashes: int) -> None:
    if bits < 1 or hashes < 1:
        raise TopicError(f"a filter needs a bit and a hash, not {bits} and {hashes}")


def _check_nodes(nodes: int) -> None:
    if nodes < 1:
        raise TopicError(f"a vote needs a node, not {nodes}")


def _loads_of_bits(loads: Floats, places: Int64s, bits: int) -> Floats:
    """The loads that fall on each bit of each draw, each once; places are in ascending order.

    A load is -log(1 - support), so that loads of independent elements add up.
    """
    draws = len(places)
    again = np.zeros(places.shape, np.bool_)
    again[:, :, 1:] = places[:, :, 1:] == places[:, :, :-1]
    weights = np.where(again, 0, loads[:, None])
    flat = places + bits * np.arange(draws)[:, None, None]
    sums = np.bincount(flat.ravel(), weights.ravel(), minlength=draws * bits)
    return sums.astype(np.float64).reshape(draws, bits)


def _without(on_bits: Floats, places: Int64s, load: float) -> Floats:
    """The loads on bits without those of one element."""
    others = on_bits.copy()
    rest = np.take_along_axis(on_bits, places, axis=1) - load
    np.put_along_axis(others, places, rest, axis=1)
    return others


def _mean_tail(needed: int, nodes: int, shares: Floats) -> float:
    """The mean probability that at least `needed` of the nodes hold a bit.

    shares: the probability that one node holds it, for each bit.
    """
    # The tail is computed on a grid around the step, where it changes, and interpolated: there are
    # thousands of bits, and the binomial tail is slow to compute.
    middle = needed / nodes
    width = 8 * np.sqrt(middle * (1 - middle) / nodes) + 20 / nodes
    grid = np.linspace(max(middle - width, 0), min(middle + width, 1), 257)
    return float(np.interp(shares, grid, bdtrc(needed - 1, nodes, grid)).mean())


def _all_popular(one: float, bits: int, hashes: int) -> float:
    """The probability that all places of an element are popular, if `one` is that of each.

    Places may coincide; `distinct[d]` is the probability that there are d of them.
    """
    distinct = np.zeros(hashes + 1)
    distinct[0] = 1
    taken = np.arange(hashes + 1) / bits
    for _ in range(hashes):
        distinct[1:] = distinct[1:] * taken[1:] + distinct[:-1] * (1 - taken[:-1])
        distinct[0] = 0
    return float(distinct @ one ** np.arange(hashes + 1))
