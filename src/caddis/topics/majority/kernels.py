"""When a node must speak: the rule of majority voting, and one node's votes under it.

    own       values[vote]         what the node says for itself
    received  values[link, vote]   the last that each neighbour sent
    sent      values[link, vote]   the last that was sent to each neighbour
    told      [link, vote]         whether anything was sent at all

All values are integers, so that both ends of a link agree on what it holds to the last unit.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from caddis.arrays import Bools, Int32s, Int64s


@njit(cache=True, inline="always")
def must_tell(total: int, sent: int, received: int) -> bool:
    """Whether a neighbour may judge otherwise than a node does.

    total: the sum of all that the node knows. Sent and received together are what the neighbour
    surely knows; it must hear if the total is nearer to the other sign than that.
    """
    shared = sent + received
    if shared >= 0:
        return total < shared
    return total > shared


@njit(cache=True)
def speak(
    rows: Int32s, own: Int64s, received: Int64s, sent: Int64s, told: Bools, signs: Bools
) -> Bools:
    """Judge some votes anew; by link and row, what has to be sent, which `sent` then holds."""
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
            if told[link, vote] and not must_tell(total, sent[link, vote], heard):
                continue
            sent[link, vote] = total - heard
            told[link, vote] = due[link, place] = True
    return due
