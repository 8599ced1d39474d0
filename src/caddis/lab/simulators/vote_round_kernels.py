"""One round of a vote on a whole tree: what nodes hear, and what they then send.

Links are directed and numbered node by node: those of node u are offsets[u] to offsets[u + 1], link
`l` leads from `owner[l]` to `owner[back[l]]`, and `back[l]` is the same link seen from there.

    own         [node, entry]   the node's own input
    received    [link, entry]   the last message from the link's other end
    sent        [link, entry]   the last message to it
    ever_sent   [link]          whether anything was sent: the first message may be all zeros
    heard       [link]          the distance of the farthest node that `received` speaks of
    sent_reach  [link]          the distance of the farthest node that `sent` speaks of
    waiting     [node]          whether the node is already among those that judge this round

Only links in the queue carry anything and only nodes that hear something judge, so that a round
costs what happens in it, whatever the size of the tree. All is carried before anybody judges, so
a node answers all that it hears in a round at once. `judge` is the paper's Algorithm 1, with the
rule of the real nodes; `judge_pairs` is Wolff and Schuster's majority vote on every pair.
"""

from __future__ import annotations

import numpy as np

from caddis.arrays import Bools, Int32s, Int64s
from caddis.compiling import kernel
from caddis.topics.voting import least, must_send, must_tell, take_rest


@kernel
def links_of(parents: Int32s) -> tuple[Int32s, Int32s, Int32s]:
    """Offsets, back and owner of a tree; a node without a parent has a negative one."""
    nodes = len(parents)
    offsets = np.zeros(nodes + 1, np.int32)
    for node in range(nodes):
        if parents[node] >= 0:
            offsets[node + 1] += 1
            offsets[parents[node] + 1] += 1
    for node in range(nodes):
        offsets[node + 1] += offsets[node]
    free = offsets[:-1].copy()
    back, owner = np.empty(offsets[-1], np.int32), np.empty(offsets[-1], np.int32)
    for node in range(nodes):
        above = parents[node]
        if above >= 0:
            up, down = free[node], free[above]
            free[node] += 1
            free[above] += 1
            back[up], back[down] = down, up
            owner[up], owner[down] = node, above
    return offsets, back, owner


@kernel
def carry(
    queue: Int32s,
    back: Int32s,
    owner: Int32s,
    received: Int64s,
    sent: Int64s,
    heard: Int32s,
    sent_reach: Int32s,
    waiting: Bools,
    nodes: Int32s,
) -> int:
    """Deliver all messages; gives how many nodes received one, which are put into `nodes`."""
    count = 0
    for link in queue:
        there = back[link]
        for entry in range(received.shape[1]):
            received[there, entry] = sent[link, entry]
        heard[there] = sent_reach[link]
        node = owner[there]
        if not waiting[node]:
            waiting[node] = True
            nodes[count] = node
            count += 1
    return count


@kernel(inline="always")
def _farthest(heard: Int32s, begin: int, end: int) -> tuple[int, int, int]:
    """The farthest that a node heard of, the link it came through, and the farthest by others.

    A message must not count what came through its own link, so the second is kept as well.
    """
    first, second, through = 0, 0, -1
    for link in range(begin, end):
        if heard[link] > first:
            first, second, through = heard[link], first, link
        elif heard[link] > second:
            second = heard[link]
    return first, second, through


@kernel(inline="always")
def _sum_up(own: Int64s, received: Int64s, begin: int, end: int, total: Int64s) -> None:
    """Sum up what a node knows: its own entries, and the last message of each of its links."""
    for entry in range(len(own)):
        total[entry] = own[entry]
    for link in range(begin, end):
        for entry in range(len(own)):
            total[entry] += received[link, entry]


@kernel
def judge(
    nodes: Int32s,
    offsets: Int32s,
    own: Int64s,
    received: Int64s,
    sent: Int64s,
    ever_sent: Bools,
    heard: Int32s,
    sent_reach: Int32s,
    waiting: Bools,
    choices: Int32s,
    messages: Int32s,
    numbers: Int64s,
    queue: Int32s,
) -> int:
    """Let nodes judge a vote and send; gives how many links carry a message, which are queued."""
    size, count = own.shape[1], 0
    total = np.empty(size, np.int64)
    for node in nodes:
        waiting[node] = False
        begin, end = offsets[node], offsets[node + 1]
        _sum_up(own[node], received, begin, end, total)
        best = least(total)
        choices[node] = best
        first, second, through = _farthest(heard, begin, end)
        for link in range(begin, end):
            if ever_sent[link] and not must_send(total, best, sent[link], received[link]):
                continue
            # A message is all that the node knows without what came through this very link.
            take_rest(total, received[link], sent[link])
            ever_sent[link] = True
            sent_reach[link] = 1 + (second if link == through else first)
            messages[link] += 1
            numbers[link] += size
            queue[count] = link
            count += 1
    return count


@kernel
def judge_pairs(
    nodes: Int32s,
    offsets: Int32s,
    own: Int64s,
    received: Int64s,
    sent: Int64s,
    ever_sent: Bools,
    heard: Int32s,
    sent_reach: Int32s,
    waiting: Bools,
    choices: Int32s,
    messages: Int32s,
    numbers: Int64s,
    queue: Int32s,
) -> int:
    """Let nodes judge votes on every pair of choices; an entry is how much more the second costs.

    A pair must be sent if the sum has come closer to the other outcome than the neighbour can know.
    Pairs that a link carries in one round are one message.
    """
    size, count = own.shape[1], 0
    total = np.empty(size, np.int64)
    for node in nodes:
        waiting[node] = False
        begin, end = offsets[node], offsets[node + 1]
        _sum_up(own[node], received, begin, end, total)
        choices[node] = winner(total)
        first, second, through = _farthest(heard, begin, end)
        for link in range(begin, end):
            spoken = 0
            for entry in range(size):
                here, there = sent[link, entry], received[link, entry]
                if not ever_sent[link] or must_tell(total[entry], here, there):
                    sent[link, entry] = total[entry] - there
                    spoken += 1
            if spoken == 0:
                continue
            ever_sent[link] = True
            sent_reach[link] = 1 + (second if link == through else first)
            messages[link] += 1
            numbers[link] += spoken
            queue[count] = link
            count += 1
    return count


@kernel
def winner(pairs: Int64s) -> int:
    """The choice that wins against every other; of equals the first, of a cycle the last winner.

    Pairs are (0, 1), (0, 2), ..., (1, 2), ...; below 0 the second choice is better.
    """
    best, other = 0, 1
    choices = 1
    while choices * (choices - 1) // 2 < len(pairs):
        choices += 1
    while other < choices:
        row = best * choices - best * (best + 1) // 2
        if pairs[row + other - best - 1] < 0:
            best = other
        other += 1
    return best


@kernel
def paths_up(parents: Int32s, order: Int32s, changed: Int64s) -> int:
    """How many nodes must send their parent a new sum, if each waits for all nodes below it.

    order: parents before children.
    changed: how much each node's costs rose; afterwards, the same for the node and all below it.
    """
    count = 0
    for place in range(len(order) - 1, 0, -1):
        node = order[place]
        new = False
        for choice in range(changed.shape[1]):
            if changed[node, choice] != 0:
                new = True
                changed[parents[node], choice] += changed[node, choice]
        count += new
    return count
