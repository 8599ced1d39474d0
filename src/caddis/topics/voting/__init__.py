"""TODO."""

from caddis.topics.voting.aggregation import Aggregator
from caddis.topics.voting.inputs import LARGEST, ByLink, vote_numbers, whole_numbers
from caddis.topics.voting.kernels import least, must_send, take_rest
from caddis.topics.voting.measured_poll import (
    LARGEST_COUNTED,
    MeasuredPoll,
    choose_protocol,
    discriminability,
    moments,
)
from caddis.topics.voting.voter import Poll, Voter, Votes

__all__ = [
    "LARGEST",
    "LARGEST_COUNTED",
    "Aggregator",
    "ByLink",
    "MeasuredPoll",
    "Poll",
    "Voter",
    "Votes",
    "choose_protocol",
    "discriminability",
    "least",
    "moments",
    "must_send",
    "take_rest",
    "vote_numbers",
    "whole_numbers",
]
