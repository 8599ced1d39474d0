"""Votes among the nodes of a tree: which of some choices costs all of them the least together.

    Poll ─┬─ Voter          local voting: few messages if the race is not close
          ├─ Aggregator     sums go up, outcomes come down: two messages a node, always
          └─ MeasuredPoll   begins as an Aggregator, and goes over to a Voter where that pays

All three have the same methods, and end with the same choices. `LocalVotes` is what `Voter` shares
with the votes on signs of `caddis.topics.majority`.
"""

from caddis.topics.voting.aggregation import Aggregator
from caddis.topics.voting.kernels import least, must_send, must_tell, speak_signs, take_rest
from caddis.topics.voting.local import LARGEST, LocalVotes, Poll, vote_numbers, whole_numbers
from caddis.topics.voting.measured_poll import (
    LARGEST_COUNTED,
    MeasuredPoll,
    choose_protocol,
    discriminability,
    moments,
)
from caddis.topics.voting.voter import Voter, Votes
