"""The loops over tokens against sets of plain Python."""

from itertools import pairwise
from random import Random

import numpy as np

from caddis.arrays import Int64s, Words
from caddis.sealed.matcher.kernels import pairs_have_tokens, pairs_with_tokens, rows_ascend
from caddis.sealed.prefilter.prefilter import read_only

MANY = 2**64 - 1


def drawn_lists(random: Random, count: int) -> list[list[int]]:
    pool = [0, 1, 2, 3, 2**63, MANY]
    return [sorted(random.sample(pool, random.choice((0, 1, 2, 4)))) for _ in range(count)]


def packed(lists: list[list[int]]) -> tuple[Int64s, Words]:
    starts = np.cumsum([0, *map(len, lists)])
    members = np.array([member for one in lists for member in one], np.uint64)
    return read_only(starts), read_only(members)


def lists_of(starts: Int64s, members: Words) -> list[list[int]]:
    return [members[begin:end].tolist() for begin, end in pairwise(starts)]


def test_an_event_has_the_tokens_of_a_clause_if_all_are_among_its_own():
    for seed in range(50):
        random = Random(seed)
        events, clauses = (drawn_lists(random, random.randint(1, 8)) for _ in range(2))
        expected = [
            (row, clause)
            for row, event in enumerate(events)
            for clause, asked in enumerate(clauses)
            if set(asked) <= set(event)
        ]
        found = pairs_with_tokens(*packed(clauses), *packed(events))
        assert list(map(tuple, found.tolist())) == expected
        every = [(row, clause) for row in range(len(events)) for clause in range(len(clauses))]
        rows, numbers = np.array(every, np.int32).T
        held = pairs_have_tokens(
            np.ascontiguousarray(rows),
            np.ascontiguousarray(numbers),
            *packed(clauses),
            *packed(events),
        )
        assert [pair for pair, one in zip(every, held, strict=True) if one] == expected


def test_more_pairs_than_there_was_room_for_are_all_found():
    nothing_asked, events = packed([[]] * 60), packed([[1]] * 60)
    assert len(pairs_with_tokens(*nothing_asked, *events)) == 3_600


def test_rows_whose_numbers_do_not_ascend_are_told():
    lists = [[], [5], [1, 2, MANY], [2, 1], [3, 3], [1, 2]]
    ascend = rows_ascend(*packed(lists))
    assert ascend.tolist() == [one == sorted(set(one)) for one in lists_of(*packed(lists))]
