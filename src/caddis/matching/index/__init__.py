"""TODO."""

from caddis.matching.index.building import AccessIndex, Postings, build, post
from caddis.matching.index.encoding import BatchEncoder, BatchTexts, ColumnCoder, values_of
from caddis.matching.index.needs import NOTHING, Needs
from caddis.matching.index.packing import WIDE_DECIMAL_BIAS, PackedClauses, pack

__all__ = [
    "NOTHING",
    "WIDE_DECIMAL_BIAS",
    "AccessIndex",
    "BatchEncoder",
    "BatchTexts",
    "ColumnCoder",
    "Needs",
    "PackedClauses",
    "Postings",
    "build",
    "pack",
    "post",
    "values_of",
]
