"""TODO."""

from caddis.sealed.prefilter.filters import filters_from, included, read_only
from caddis.sealed.prefilter.kernels import PrefilterArrays
from caddis.sealed.prefilter.paper_lists import PaperLists
from caddis.sealed.prefilter.prefilter import Prefilter
from caddis.sealed.prefilter.wire import decode, encode

__all__ = [
    "PaperLists",
    "Prefilter",
    "PrefilterArrays",
    "decode",
    "encode",
    "filters_from",
    "included",
    "read_only",
]
