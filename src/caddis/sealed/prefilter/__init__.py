"""Bloom filters that discard most clauses before the costly encrypted test.

    prefilter     filters, and the lists by rarest bit that Caddis uses
    paper_lists   the paper's candidate lists, to compare with
    wire          filters as bytes, plain or compressed
    kernels       loops over the words of filters

No key is needed here: to compare filters is to compare bits.
"""

from caddis.sealed.prefilter.kernels import PrefilterArrays
from caddis.sealed.prefilter.paper_lists import PaperLists
from caddis.sealed.prefilter.prefilter import (
    CountingFilter,
    Prefilter,
    filters_from,
    included,
    read_only,
)
from caddis.sealed.prefilter.wire import bytes_of, decode, encode
