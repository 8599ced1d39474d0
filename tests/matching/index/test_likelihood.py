"""Likelihoods are guesses, but they rank predicates as a person would."""

import numpy as np
import pyarrow as pa
import pytest

from caddis.arrays import Floats
from caddis.language import parse_all
from caddis.matching.index import likelihood_by_clauses, likelihood_by_sample
from caddis.matching.index.encoding import BatchEncoder, ColumnCoder
from caddis.matching.index.packing import PackedClauses, pack
from tests.runs import seeds

SCHEMA = pa.schema([("city", pa.string()), ("price", pa.int32()), ("tags", pa.list_(pa.string()))])


def packed_of(*wheres: str) -> PackedClauses:
    return pack(parse_all(wheres, SCHEMA))


def from_sample(packed: PackedClauses, sample: pa.RecordBatch) -> Floats:
    pairs = zip(packed.columns, packed.boundaries, strict=True)
    coders = [ColumnCoder.of(column, boundaries) for column, boundaries in pairs]
    return likelihood_by_sample(packed, BatchEncoder(coders).encode(sample))


def first_members(packed: PackedClauses, likelihood: Floats) -> list[float]:
    """The likelihood of each subscription's only predicate."""
    by_owner = dict(zip(packed.owner.tolist(), packed.members.tolist(), strict=True))
    return [float(likelihood[by_owner[owner]]) for owner in sorted(by_owner)]


def sample(cities: list[str | None], prices: list[int | None]) -> pa.RecordBatch:
    return pa.record_batch({"city": cities, "price": prices, "tags": [["a"]] * len(cities)}, SCHEMA)


def test_a_sample_tells_common_values_from_rare_ones():
    packed = packed_of("city = 'common'", "city = 'rare'", "city IS NULL", "city = 'absent'")
    batch = sample(["common"] * 90 + ["rare"] * 5 + [None] * 5, [1] * 100)
    common, rare, null, absent = first_members(packed, from_sample(packed, batch))
    assert common > rare > absent
    assert rare == pytest.approx(null)
    assert common == pytest.approx(0.9, abs=0.05)


def test_a_sample_tells_how_much_a_range_covers():
    packed = packed_of("price < 10", "price < 50", "price >= 50", "price IN (1, 99)")
    batch = sample(["x"] * 100, list(range(100)))
    low, half, other, two = first_members(packed, from_sample(packed, batch))
    assert two < low < half
    assert [low, half, other] == pytest.approx([0.1, 0.5, 0.5], abs=0.03)


def test_a_sample_counts_the_elements_of_arrays():
    packed = packed_of("array_contains(tags, 'a')", "array_contains(tags, 'b')")
    common, rare = first_members(packed, from_sample(packed, sample(["x"] * 20, [1] * 20)))
    assert common > rare


def test_without_a_sample_a_value_is_as_common_as_it_is_among_clauses():
    packed = packed_of(*["city = 'asked'"] * 5, "city = 'seldom'")
    likelihood = first_members(packed, likelihood_by_clauses(packed))
    assert likelihood[0] > likelihood[-1]


def test_without_a_sample_a_wider_range_is_more_likely():
    packed = packed_of(*[f"price < {i}" for i in range(0, 50, 10)])
    likelihood = first_members(packed, likelihood_by_clauses(packed))
    assert likelihood == sorted(likelihood)


@pytest.mark.parametrize("seed", seeds(3, 10))
def test_likelihoods_are_between_zero_and_one(seed):
    random = np.random.default_rng(seed)
    wheres = [
        f"price IN ({a}, {b}, {c}) OR price > {b}" for a, b, c in random.integers(0, 9, (8, 3))
    ]
    wheres += ["city LIKE '%x'", "NOT array_contains(tags, 'a')", "tags IS NULL", "city <> 'a'"]
    packed = packed_of(*wheres)
    batch = sample(["a"] * 9, list(range(9)))
    for likelihood in (likelihood_by_clauses(packed), from_sample(packed, batch)):
        assert len(likelihood) == len(packed.predicates)
        assert np.all((likelihood >= 0) & (likelihood <= 1))


def test_what_codes_cannot_decide_counts_as_likely():
    packed = packed_of("city LIKE '%x'", "NOT array_contains(tags, 'a')")
    assert first_members(packed, likelihood_by_clauses(packed)) == [1, 1]
