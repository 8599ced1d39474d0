"""The loops of matching, compiled by numba.

`layout` draws the arrays that they share. `posting` fills an index, `encoding` turns Arrow
buffers into codes, `sorting` sorts rows by code, `candidates` brings rows and clauses together, and
`deciding` tests what an index entry has no room for. Each kernel has a twin in plain Python in the
tests.
"""

from caddis.matching.kernels.candidates import TRIED, USED, match_batch
from caddis.matching.kernels.deciding import decide
from caddis.matching.kernels.encoding import (
    code_bytes,
    code_numbers,
    hash_table,
)
from caddis.matching.kernels.layout import BatchArrays, IndexArrays, Workspace
from caddis.matching.kernels.posting import (
    EVERY_EVENT,
    access_predicates,
    fill_postings,
    ordered_members,
    post_clauses,
)
from caddis.matching.kernels.sorting import in_row_order, workspace
