"""TODO."""

from caddis.sealed.values.aspe import (
    Transform,
    decide_all,
    norms,
    point_lengths,
    query_lengths,
    tolerance,
)
from caddis.sealed.values.aspe_kernels import decide_pairs
from caddis.sealed.values.coordinates import Coordinates, orders_of
from caddis.sealed.values.hashed import (
    DistinctValues,
    Hashed,
    HashedValues,
    canonical,
    distinct_values,
    filters_of,
    present_rows,
    sorted_tokens,
)

__all__ = [
    "Coordinates",
    "DistinctValues",
    "Hashed",
    "HashedValues",
    "Transform",
    "canonical",
    "decide_all",
    "decide_pairs",
    "distinct_values",
    "filters_of",
    "norms",
    "orders_of",
    "point_lengths",
    "present_rows",
    "query_lengths",
    "sorted_tokens",
    "tolerance",
]
