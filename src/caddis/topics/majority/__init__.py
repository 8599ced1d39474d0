"""TODO."""

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
    must_tell,
    pairwise,
)

__all__ = [
    "BloomFilter",
    "Hashing",
    "MajorityCascade",
    "MajorityFilter",
    "SignVoter",
    "Threshold",
    "aggregation_bound",
    "aggregation_bound_per_bit",
    "aggregation_tail_per_bit",
    "as_threshold",
    "bits_for",
    "expected_false_positives",
    "majority_input",
    "must_tell",
    "pairwise",
    "popular_bits",
]
