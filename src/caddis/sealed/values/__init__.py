"""What values become before they are compared under seal.

    hashed        keyed hashes of columns' values: elements of filters, and tokens
    coordinates   values as coordinates of plain points, and what is asked of them
    aspe          points and queries sealed, so that only the sign of their product can be known

Publishers and subscribers come to the same hashes and the same matrix from one key.
"""

from caddis.sealed.values.aspe import (
    Transform,
    decide_all,
    decide_pairs,
    norms,
    point_lengths,
    query_lengths,
    tolerance,
)
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
