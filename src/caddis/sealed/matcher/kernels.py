"""Loops over the tokens of events and sealed clauses; each has a plain twin in the tests.

    event_tokens[event_starts[row]:event_starts[row + 1]]     an event's tokens, ascending
    tokens[token_starts[clause]:token_starts[clause + 1]]     those that a clause asks for

An event has dozens of tokens and a clause a few, so each of the few is found by halving.
"""

from __future__ import annotations

import numpy as np

from caddis.arrays import Bools, Int32s, Int64s, Words
from caddis.compiling import inner_kernel, kernel


@inner_kernel(borrows=True)
def has_token(token: np.uint64, tokens: Words, begin: int, end: int) -> bool:
    """Whether a token is among those from `begin` to `end`, which ascend."""
    last = end
    while begin < end:
        middle = (begin + end) // 2
        if tokens[middle] < token:
            begin = middle + 1
        else:
            end = middle
    return begin < last and tokens[begin] == token


@inner_kernel(borrows=True)
def has_tokens(
    row: int,
    clause: int,
    token_starts: Int64s,
    tokens: Words,
    event_starts: Int64s,
    event_tokens: Words,
) -> bool:
    """Whether an event has all tokens of a clause."""
    begin, end = event_starts[row], event_starts[row + 1]
    for i in range(token_starts[clause], token_starts[clause + 1]):
        if not has_token(tokens[i], event_tokens, begin, end):
            return False
    return True


@kernel
def pairs_have_tokens(
    rows: Int32s,
    clauses: Int32s,
    token_starts: Int64s,
    tokens: Words,
    event_starts: Int64s,
    event_tokens: Words,
) -> Bools:
    """Whether the event of each pair has all tokens of its clause."""
    held = np.empty(len(rows), np.bool_)
    for pair in range(len(rows)):
        row, clause = rows[pair], clauses[pair]
        held[pair] = has_tokens(row, clause, token_starts, tokens, event_starts, event_tokens)
    return held


@kernel
def pairs_with_tokens(
    token_starts: Int64s, tokens: Words, event_starts: Int64s, event_tokens: Words
) -> Int32s:
    """All pairs (row, clause) where the event has the clause's tokens, rows ascending."""
    found = np.empty((1024, 2), np.int32)
    used = 0
    for row in range(len(event_starts) - 1):
        for clause in range(len(token_starts) - 1):
            if has_tokens(row, clause, token_starts, tokens, event_starts, event_tokens):
                if used == len(found):
                    larger = np.empty((2 * used, 2), np.int32)
                    for pair in range(used):
                        larger[pair, 0], larger[pair, 1] = found[pair, 0], found[pair, 1]
                    found = larger
                found[used, 0], found[used, 1] = row, clause
                used += 1
    return found[:used]


@kernel
def rows_ascend(starts: Int64s, numbers: Words) -> Bools:
    """Whether the numbers of each row ascend, no two of them equal."""
    ascend = np.ones(len(starts) - 1, np.bool_)
    for row in range(len(ascend)):
        for i in range(starts[row] + 1, starts[row + 1]):
            if numbers[i] <= numbers[i - 1]:
                ascend[row] = False
                break
    return ascend
