"""The loops of matching, compiled by numba.

`layout` draws the arrays that they share. `posting` fills an index, `encoding` turns Arrow
buffers into codes, `candidates` brings rows and clauses together, and `deciding` sorts rows by code
and tests what an index entry has no room for. Each kernel has a twin in plain Python in the tests.
"""

from caddis.matching.kernels.candidates import match_batch
from caddis.matching.kernels.deciding import in_row_order
from caddis.matching.kernels.encoding import (
    code_bytes,
    code_floats,
    code_ints,
    code_presence,
    hash_table,
)
from caddis.matching.kernels.layout import BatchArrays, IndexArrays
from caddis.matching.kernels.posting import (
    EVERY_EVENT,
    ClauseArrays,
    access_predicates,
    count_postings,
    fill_postings,
    ordered_members,
    post_clauses,
)
