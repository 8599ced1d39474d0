"""Majority filters: which elements, such as topics, at least a share of all nodes hold.

    a node's set ─▶ its BloomFilter ─▶ a vote on each bit (SignVoter) ─▶ the popular elements

`MajorityFilter` does that for one threshold, `MajorityCascade` for several in a row. No popular
element is ever missed; `expected_false_positives` and `bits_for` say how often others slip through.
"""

from caddis.topics.majority.false_positives import (
    aggregation_bound,
    aggregation_bound_per_bit,
    aggregation_tail_per_bit,
    bits_for,
    expected_false_positives,
    popular_bits,
)
from caddis.topics.majority.filter import BloomFilter, Hashing, MajorityCascade, MajorityFilter
from caddis.topics.majority.sign_voter import (
    SignVoter,
    Threshold,
    as_threshold,
    majority_input,
    pairwise,
)
