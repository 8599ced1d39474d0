import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from caddis.models import AnswerCache
from caddis.models.asking import ENTRY_BYTES


def digest(number: int) -> bytes:
    return number.to_bytes(16, "big")


def room_for(entries: int) -> int:
    return entries * (ENTRY_BYTES + 16 + 2)


def test_answers_are_found_under_the_version_that_gave_them():
    cache = AnswerCache()
    cache.put("v1", digest(1), b"\0\1")
    assert cache.get("v1", digest(1)) == b"\0\1"
    assert cache.get("v2", digest(1)) is None
    assert cache.get("v1", digest(2)) is None


def test_what_was_not_asked_for_longest_leaves_first():
    cache = AnswerCache(limit=room_for(2))
    cache.put("v", digest(1), b"..")
    cache.put("v", digest(2), b"..")
    cache.get("v", digest(1))
    cache.put("v", digest(3), b"..")
    assert [cache.get("v", digest(number)) for number in (1, 2, 3)] == [b"..", None, b".."]


def test_what_is_larger_than_the_cache_is_not_kept():
    cache = AnswerCache(limit=100)
    cache.put("v", digest(1), b"..")
    assert (cache.entries, cache.nbytes) == (0, 0)


def test_the_bytes_counted_are_those_that_python_takes():
    tracemalloc.start()
    try:
        cache = AnswerCache()
        for number in range(20_000):
            cache.put("v" * 32, bytes([7]) * 8 + number.to_bytes(8, "big"), bytes([1]) * 40)
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert 0.75 * cache.nbytes < taken < 1.1 * cache.nbytes


@given(
    st.lists(st.tuples(st.booleans(), st.integers(0, 6), st.integers(0, 1)), max_size=40),
    st.integers(0, 5),
)
def test_it_holds_just_what_was_used_last(steps, entries):
    """Against a plain dictionary, what was used last at its end."""
    cache = AnswerCache(limit=room_for(entries))
    expected: dict[tuple[str, bytes], bytes] = {}
    for is_put, number, version in steps:
        key = (f"v{version}", digest(number))
        if is_put:
            expected.pop(key, None)
            expected[key] = bytes([number, version])
            cache.put(*key, expected[key])
        else:
            assert cache.get(*key) == expected.get(key)
            if key in expected:
                expected[key] = expected.pop(key)
        while len(expected) > entries:
            del expected[next(iter(expected))]
        assert (cache.entries, cache.nbytes) == (len(expected), room_for(len(expected)))
