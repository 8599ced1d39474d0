"""When a node must speak: the two rules of local voting, and one node's votes under each of them.

    own       [vote, ...]         what the node says for itself
    received  [link, vote, ...]   the last that each neighbour sent
    sent      [link, vote, ...]   the last that was sent to each neighbour
    used      [link, vote]        whether anything was sent at all

The last dimension is the choice in multiple-choice votes (Algorithm 1 of "Local Building Blocks for
a Scalable Pub/Sub Infrastructure"); votes on the sign of a sum have none. What a neighbour surely
knows is what was sent to it and what it sent itself: the node stays silent as long as the neighbour
would judge the same by that alone.

All numbers are integers, so that both ends of a link agree on what it holds to the last unit; with
floats they never fall silent. In a vector of costs only the differences matter, so the least of
what is sent is always 0.
"""

from __future__ import annotations

import numpy as np

from caddis.arrays import Bools, Int32s, Int64s
from caddis.compiling import kernel


@kernel(inline="always")
def least(costs: Int64s) -> int:
    """Find the first place of the least cost."""
    best = 0
    for choice in range(1, len(costs)):
        if costs[choice] < costs[best]:
            best = choice
    return best


@kernel(inline="always")
def must_send(total: Int64s, best: int, sent: Int64s, received: Int64s) -> bool:
    """Tell whether a neighbour may choose otherwise than the node does.

    total: the sum of all that the node knows, by choice.
    best: where that is least.
    """
    lead = sent[best] + received[best]
    for choice in range(len(total)):
        margin = sent[choice] + received[choice] - lead
        # The neighbour's least, as far as it surely knows, is another choice.
        if margin < 0 or (margin == 0 and choice < best):
            return True
        # This choice has come closer to the best than the neighbour can know. It may have heard of
        # costs that fall short of the margin that it knows, but not of the true one.
        if total[choice] - total[best] < margin:
            return True
    return False


@kernel
def take_rest(total: Int64s, received: Int64s, sent: Int64s) -> None:
    """Send all but what the neighbour itself had sent, less the least of it."""
    lowest = total[0] - received[0]
    for choice in range(len(total)):
        sent[choice] = total[choice] - received[choice]
        lowest = min(lowest, sent[choice])
    for choice in range(len(total)):
        sent[choice] -= lowest


@kernel
def speak(
    rows: Int32s,
    own: Int64s,
    received: Int64s,
    sent: Int64s,
    used: Bools,
    choices: Int32s,
) -> Bools:
    """Judge some votes again, and put what must go out into `sent`.

    Returns, by link and row, whether that has to be sent.
    """
    links, _, size = received.shape
    due = np.zeros((links, len(rows)), np.bool_)
    total = np.empty(size, np.int64)
    for place in range(len(rows)):
        vote = rows[place]
        total[:] = own[vote]
        for link in range(links):
            total += received[link, vote]
        best = least(total)
        choices[vote] = best
        for link in range(links):
            one, other = sent[link, vote], received[link, vote]
            # The flag: to have sent zeros is not to have sent nothing. Without it, nodes whose
            # costs are all zero would send for ever.
            if used[link, vote] and not must_send(total, best, one, other):
                continue
            take_rest(total, other, one)
            used[link, vote] = due[link, place] = True
    return due


@kernel(inline="always")
def must_tell(total: int, sent: int, received: int) -> bool:
    """Tell whether a neighbour may take another sign for that of the sum than the node does.

    It must hear if the total is nearer to the other sign than what it surely knows.
    """
    shared = sent + received
    if shared >= 0:
        return total < shared
    return total > shared


@kernel
def speak_signs(
    rows: Int32s, own: Int64s, received: Int64s, sent: Int64s, used: Bools, signs: Bools
) -> Bools:
    """Judge some votes on signs again; the result is that of `speak`."""
    links = len(received)
    due = np.zeros((links, len(rows)), np.bool_)
    for place in range(len(rows)):
        vote = rows[place]
        total = own[vote]
        for link in range(links):
            total += received[link, vote]
        signs[vote] = total >= 0
        for link in range(links):
            heard = received[link, vote]
            if used[link, vote] and not must_tell(total, sent[link, vote], heard):
                continue
            sent[link, vote] = total - heard
            used[link, vote] = due[link, place] = True
    return due
