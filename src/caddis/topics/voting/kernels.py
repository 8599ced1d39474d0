"""When a node must speak: the rule of multiple-choice voting, and one node's votes under it.

    own       costs[vote, choice]         what the node says for itself
    received  costs[link, vote, choice]   the last that each neighbour sent
    sent      costs[link, vote, choice]   the last that was sent to each neighbour
    told      [link, vote]                whether anything was sent at all

All costs are integers, so that a node and its neighbour agree on what their link holds to the last
unit; with floats they never fall silent. A vector means the differences of its entries: the least
of what is sent is always 0.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from caddis.arrays import Bools, Int32s, Int64s


@njit(cache=True, inline="always")
def least(costs: Int64s) -> int:
    """The first place of the least cost."""
    best = 0
    for choice in range(1, len(costs)):
        if costs[choice] < costs[best]:
            best = choice
    return best


@njit(cache=True)
def must_send(total: Int64s, best: int, sent: Int64s, received: Int64s) -> bool:
    """Whether a neighbour may judge otherwise than a node does.

    total: the sum of all that the node knows; best: where that is least. Sent and received together
    are what the neighbour surely knows. It must hear if its least is elsewhere, or if some choice
    has come closer to the best than it can know.
    """
    lead = sent[best] + received[best]
    for choice in range(len(total)):
        margin = sent[choice] + received[choice] - lead
        if margin < 0 or (margin == 0 and choice < best):
            return True
        if total[choice] - total[best] < margin:
            return True
    return False


@njit(cache=True)
def take_rest(total: Int64s, received: Int64s, sent: Int64s) -> None:
    """Send all but what the neighbour itself had sent, less the least of it."""
    lowest = total[0] - received[0]
    for choice in range(len(total)):
        sent[choice] = total[choice] - received[choice]
        lowest = min(lowest, sent[choice])
    for choice in range(len(total)):
        sent[choice] -= lowest


@njit(cache=True)
def speak(
    rows: Int32s,
    own: Int64s,
    received: Int64s,
    sent: Int64s,
    told: Bools,
    choices: Int32s,
) -> Bools:
    """Judge some votes anew; by link and row, what has to be sent, which `sent` then holds."""
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
            if told[link, vote] and not must_send(total, best, one, other):
                continue
            take_rest(total, other, one)
            told[link, vote] = due[link, place] = True
    return due
