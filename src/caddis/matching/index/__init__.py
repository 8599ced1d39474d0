"""The access index: how clauses are laid out so that an event finds its candidates quickly.

    ClauseTable ──split, pack──▶ codes and needs ──build──▶ AccessIndex ──save, load──▶ a folder
    event batch ──BatchEncoder──▶ codes

`packing` turns clauses into intervals of codes, `building` posts each under its least likely
predicate, `encoding` turns a batch of events into the same codes, `ruling_out` tells of which
events no clause can be true, and `storage` is the only module of `matching` that touches files.
"""

from caddis.matching.index.building import (
    Postings,
    build,
    likelihood_by_clauses,
    likelihood_by_sample,
    post,
)
from caddis.matching.index.encoding import (
    BatchEncoder,
    BatchTexts,
    ColumnCoder,
    as_numbers,
    values_of,
)
from caddis.matching.index.packing import (
    NOTHING,
    Needs,
    PackedClauses,
    pack,
    split_needs,
)
from caddis.matching.index.ruling_out import ValueRange, may_hold
from caddis.matching.index.storage import MatcherParts, read_parts, write_parts
