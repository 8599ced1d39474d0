import datetime as dt
import tracemalloc
from collections.abc import Callable, Sequence
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caddis.errors import EnvironmentProblem
from caddis.language import Column
from caddis.models import (
    NO,
    UNKNOWN,
    YES,
    AnswerCache,
    Answers,
    Asked,
    Asker,
    Model,
    ModelFailed,
    OnnxImages,
    Problem,
    Reading,
    Unreadable,
)
from caddis.models.asking import ENTRY_BYTES
from tests.models.graphs import colour_graph
from tests.models.photos import encoded, plain
from tests.models.readings import PHOTO, TITLE


class Clock:
    """Stands still, but for what a model takes."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


class Spelling(Model):
    """Answers whether a word is long and in capitals, and notes what it was asked.

    "?" it does not know, "~" it cannot read, and on words with "!" it raises.
    """

    name = "spelling"
    version = "1"
    concepts = ("long", "loud")

    def __init__(self, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self.calls: list[list[object]] = []

    def predict(self, values: pa.Array) -> object:
        words = values.to_pylist()
        self.calls.append(words)
        self.clock.seconds += 0.003 * len(words)
        if any("!" in word for word in words):
            raise ValueError("too loud")
        known = np.array([["?" not in word, True] for word in words])
        yes = np.array([[len(word) > 3, word.isupper()] for word in words])
        blurred = {at: "blurred" for at, word in enumerate(words) if "~" in word}
        return Answers(yes, known, blurred)


def marks_of(word: str | None) -> list[int]:
    if word is None or "!" in word or "~" in word:
        return [UNKNOWN, UNKNOWN]
    return [UNKNOWN if "?" in word else int(len(word) > 3), int(word.isupper())]


def asker(cache: AnswerCache | None = None, **options) -> Asker:
    return Asker(cache=cache, clock=Clock(), **options)


def ask(model: Model, values: Sequence[object] | pa.Array, **options) -> Asked:
    array = values if isinstance(values, pa.Array) else pa.array(values, pa.string())
    return asker(**options).ask(Reading(model, TITLE), array)


def answering(function: Callable[[pa.Array], object], *concepts: str) -> Model:
    class Answering(Model):
        name, version = "answering", "1"

        def predict(self, values):
            return function(values)

    made = Answering()
    made.concepts = concepts or ("a",)
    return made


# -- what is asked, and what is not


def test_answers_are_yes_no_or_unknown():
    assert ask(Spelling(), ["LONG", "abc", "wh?t"]).marks.tolist() == [
        [YES, YES],
        [NO, NO],
        [UNKNOWN, NO],
    ]


def test_nulls_are_unknown_without_asking_and_no_problem():
    model = Spelling()
    asked = ask(model, [None, "abc", None])
    assert asked.marks.tolist() == [[UNKNOWN] * 2, [NO, NO], [UNKNOWN] * 2]
    assert asked.problems == ()
    assert model.calls == [["abc"]]


def test_without_any_value_nothing_runs():
    model = Spelling()
    for values in ([], [None, None]):
        asked = ask(model, values)
        assert asked.marks.shape == (len(values), 2)
        assert asked.tally.known.tolist() == [0, 0]
    assert ask(model, pa.nulls(2)).marks.tolist() == [[UNKNOWN] * 2] * 2
    assert model.calls == []


def test_equal_values_run_once():
    model = Spelling()
    asked = ask(model, ["a", "LONG", "a", "a"])
    assert model.calls == [["a", "LONG"]]
    assert asked.marks.tolist() == [[NO, NO], [YES, YES], [NO, NO], [NO, NO]]
    assert (asked.tally.runs, asked.tally.hits) == (2, 2)


def test_what_the_cache_knows_does_not_run():
    model, cache = Spelling(), AnswerCache()
    first = ask(model, ["a", "LONG", "wh?t"], cache=cache)
    second = ask(model, ["LONG", "b", "LONG", "wh?t"], cache=cache)
    assert model.calls == [["a", "LONG", "wh?t"], ["b"]]
    assert second.marks.tolist() == [[YES, YES], [NO, NO], [YES, YES], [UNKNOWN, NO]]
    assert (first.tally.hits, second.tally.runs, second.tally.hits) == (0, 1, 3)
    assert second.tally.milliseconds == 0


def test_without_a_cache_nothing_is_kept_from_one_call_to_the_next():
    model = Spelling()
    for _ in range(2):
        ask(model, ["a"])
    assert model.calls == [["a"], ["a"]]


@pytest.mark.parametrize(
    "change", [{"name": "b"}, {"version": "2"}, {"concepts": ("loud", "long")}]
)
def test_no_two_models_share_answers(change):
    cache, other = AnswerCache(), Spelling()
    ask(Spelling(), ["a"], cache=cache)
    for part, value in change.items():
        setattr(other, part, value)
    ask(other, ["a"], cache=cache)
    assert other.calls == [["a"]]


def test_a_model_answers_alike_for_two_columns():
    model, asking = Spelling(), asker(AnswerCache())
    for column in (TITLE, Column(("name",), pa.string())):
        asking.ask(Reading(model, column), pa.array(["a"]))
    assert model.calls == [["a"]]


def test_the_clock_runs_around_predict_alone():
    clock = Clock()

    class Slow(Spelling):
        def load(self):
            clock.seconds += 100

        def content(self, value):
            clock.seconds += 10
            return super().content(value)

    asked = Asker(cache=AnswerCache(), clock=clock).ask(
        Reading(Slow(clock), TITLE), pa.array(["a", "b", "a"])
    )
    assert asked.tally.milliseconds == pytest.approx(6.0)


# -- what goes wrong


def test_a_value_on_which_the_model_raises_spoils_no_other():
    model = Spelling()
    asked = ask(model, ["a", "hey!", "LONG", "hey!"])
    assert asked.marks.tolist() == [[NO, NO], [UNKNOWN] * 2, [YES, YES], [UNKNOWN] * 2]
    reason = "ValueError: too loud"
    assert asked.problems == (Problem(1, reason, True), Problem(3, reason, True))
    assert model.calls == [["a", "hey!", "LONG"], ["a"], ["hey!"], ["LONG"]]
    tally = asked.tally
    assert (tally.runs, tally.hits, tally.failed, tally.unreadable) == (3, 0, 2, 0)


def test_a_model_that_fails_only_on_many_at_once_has_no_problems():
    model = answering(lambda values: [[True]] if len(values) == 1 else [[True]] * 99)
    asked = ask(model, ["a", "b"])
    assert (asked.marks.tolist(), asked.problems) == ([[YES], [YES]], ())


@pytest.mark.parametrize(
    "given_", [[[True, False]], [True], True, None, [[True], [True]]], ids=repr
)
def test_answers_of_a_wrong_shape_are_a_failure(given_):
    asked = ask(answering(lambda _: given_), ["a"])
    assert asked.marks.tolist() == [[UNKNOWN]]
    assert asked.problems[0].failed
    assert "gave answers of shape" in asked.problems[0].reason


def test_a_reason_is_one_line_of_bounded_length():
    def fail(_):
        raise ValueError("so\nmuch " * 1000)

    [problem] = ask(answering(fail), ["a"]).problems
    assert problem.reason.startswith("ValueError: so much so")
    assert len(problem.reason) <= 300


def test_a_failure_stops_everything_where_that_is_asked_for():
    with pytest.raises(ModelFailed) as raised:
        ask(Spelling(), [None, "a", "hey!", "ho!"], on_error="raise")
    assert (raised.value.row, raised.value.reason) == (2, "ValueError: too loud")
    assert isinstance(raised.value.__cause__, ValueError)


@pytest.mark.parametrize("on_error", ["unknown", "raise"])
def test_what_cannot_be_read_is_unknown_and_told(on_error):
    class Strict(Spelling):
        def content(self, value):
            if value == "none":
                raise Unreadable("no such file")
            return super().content(value)

    model = Strict()
    asked = ask(model, ["a", "bl~r", "none", "bl~r", "none"], on_error=on_error)
    assert asked.marks.tolist() == [[NO, NO]] + [[UNKNOWN] * 2] * 4
    assert asked.problems == (
        Problem(1, "blurred", False),
        Problem(2, "no such file", False),
        Problem(3, "blurred", False),
        Problem(4, "no such file", False),
    )
    assert model.calls == [["a", "bl~r"]]
    assert (asked.tally.runs, asked.tally.unreadable, asked.tally.failed) == (2, 4, 0)


def test_a_function_may_say_itself_that_a_value_cannot_be_read():
    def read(values):
        raise Unreadable("torn")

    assert ask(answering(read), ["a"], on_error="raise").problems == (Problem(0, "torn", False),)


def test_a_content_that_raises_is_a_failure_of_the_model():
    class Broken(Spelling):
        def content(self, value):
            raise KeyError(value)

    assert ask(Broken(), ["a"]).problems == (Problem(0, "KeyError: 'a'", True),)
    with pytest.raises(ModelFailed):
        ask(Broken(), ["a"], on_error="raise")


def test_only_answers_without_a_problem_are_kept():
    model, cache = Spelling(), AnswerCache()
    for _ in range(2):
        ask(model, ["a", "hey!", "bl~r"], cache=cache)
    assert cache.entries == 1
    assert model.calls[-2:] == [["hey!"], ["bl~r"]]


@pytest.mark.parametrize("problem", [KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("where", ["content", "predict"])
def test_what_is_no_fault_of_the_model_is_not_swallowed(problem, where):
    class Interrupted(Spelling):
        def raise_it(self, _):
            raise problem

    model = Interrupted()
    setattr(model, where, model.raise_it)
    with pytest.raises(problem):
        ask(model, ["a"])


def test_memory_that_runs_out_on_a_value_alone_is_not_swallowed_either():
    def predict(values):
        raise ValueError if len(values) > 1 else MemoryError

    with pytest.raises(MemoryError):
        ask(answering(predict), ["a", "b"])


def test_a_model_that_cannot_be_loaded_is_no_matter_of_values():
    class Missing(Spelling):
        def load(self):
            raise EnvironmentProblem("install caddis[images]")

    with pytest.raises(EnvironmentProblem):
        ask(Missing(), ["a"])


# -- all that Arrow may hold


@pytest.mark.parametrize(
    "array",
    [
        pa.array(["x", "a", None, "LONG", "a"])[1:],
        pa.chunked_array([["x"], ["a", None, "LONG", "a"]]).chunk(1),
        pa.array(["a", None, "LONG", "a"]).dictionary_encode(),
        pa.array(["x", "a", None, "LONG", "a"]).dictionary_encode()[1:],
        pa.DictionaryArray.from_arrays([0, 1, 2, 3], ["a", None, "LONG", "a"]),
        pa.array(["a", None, "LONG", "a"], pa.large_string()),
        pa.array(["x", "a", None, "LONG", "a"], pa.string_view())[1:],
    ],
    ids=["slice", "chunk", "dictionary", "its slice", "repetitive", "large", "view"],
)
def test_values_may_lie_in_any_layout(array):
    model = Spelling()
    asked = ask(model, array)
    assert asked.marks.tolist() == [marks_of(word) for word in ("a", None, "LONG", "a")]
    assert model.calls == [["a", "LONG"]]


@pytest.mark.parametrize(
    "array",
    [
        pa.array([True, False, True]),
        pa.array([1, 2, 1], pa.int8()),
        pa.array([0.5, float("nan"), 0.5]),
        pa.array([Decimal("1.50"), Decimal(2), Decimal("1.5")]),
        pa.array([dt.date(2026, 1, 1), dt.date(1, 1, 1), dt.date(2026, 1, 1)]),
        pa.array([1, 2, 1], pa.timestamp("ns", "Europe/Dublin")),
        pa.array([b"\xff", b"", b"\xff"]),
        pa.array([b"\xff", b"", b"\xff"], pa.binary_view()),
        pa.array([b"ab", b"cd", b"ab"], pa.binary(2)),
        pa.array([[1], [], [1]]),
        pa.array([{"a": 1}, {"a": None}, {"a": 1}]),
    ],
    ids=lambda array: str(array.type),
)
def test_values_may_be_of_any_type(array):
    asked_about: list[pa.Array] = []

    def note(values):
        asked_about.append(values)
        return [[True]] * len(values)

    assert ask(answering(note), array).marks.tolist() == [[YES]] * 3
    assert [len(values) for values in asked_about] == [2]


def test_what_python_cannot_hold_is_unreadable():
    torn = pa.array([b"fine", b"\xff"]).view(pa.string())
    late = pa.array([0, 1 << 30], pa.date32())
    for array in (torn, late):
        asked = ask(answering(lambda values: [[True]] * len(values)), array)
        assert asked.marks.tolist() == [[YES], [UNKNOWN]]
        assert [problem.failed for problem in asked.problems] == [False]


def test_text_and_bytes_that_look_alike_are_two_values():
    model, cache = answering(lambda values: [[pa.types.is_string(values.type)]]), AnswerCache()
    assert ask(model, pa.array(["a"]), cache=cache).marks.tolist() == [[YES]]
    assert ask(model, pa.array([b"a"]), cache=cache).marks.tolist() == [[NO]]


def test_one_picture_under_two_paths_runs_once_and_a_changed_one_again(tmp_path):
    first, second = tmp_path / "a.png", tmp_path / "b.png"
    for path in (first, second):
        path.write_bytes(encoded(plain("red")))
    model = OnnxImages(colour_graph(), {"red": [0]}, scores="logits", std=10.0)
    asking, photos = asker(AnswerCache()), Reading(model, PHOTO)
    values = pa.array([str(first), str(second), str(tmp_path / "none.png")])
    asked = asking.ask(photos, values)
    assert asked.marks.tolist() == [[YES], [YES], [UNKNOWN]]
    assert (asked.tally.runs, asked.tally.hits, asked.tally.unreadable) == (1, 1, 1)
    first.write_bytes(encoded(plain("blue")))
    asked = asking.ask(photos, values)
    assert asked.marks.tolist() == [[NO], [YES], [UNKNOWN]]
    assert (asked.tally.runs, asked.tally.hits) == (1, 1)


# -- whatever the batch


words = st.lists(st.none() | st.text("aB?~!", min_size=0, max_size=5), max_size=12)


@given(st.lists(words, max_size=4), st.sampled_from([None, 0, 700, 1 << 20]))
def test_answers_hang_on_the_values_alone_and_every_one_is_counted(batches, limit):
    asking = asker(None if limit is None else AnswerCache(limit))
    model = Spelling()
    for values in batches:
        model.calls.clear()
        asked = asking.ask(Reading(model, TITLE), pa.array(values, pa.string()))
        assert asked.marks.tolist() == [marks_of(word) for word in values]
        rows = [problem.row for problem in asked.problems]
        assert rows == [row for row, word in enumerate(values) if word and set(word) & {"!", "~"}]
        tally = asked.tally
        assert tally.failed == sum("!" in (word or "") for word in values)
        assert tally.failed + tally.unreadable == len(rows)
        assert tally.runs == len(model.calls[0] if model.calls else [])
        answered = [word for word in values if word is not None and not set(word) & {"!", "~"}]
        troubled = {values[row] for row in rows}
        assert tally.hits + tally.runs - len(troubled) == len(answered)
        assert tally.yes.tolist() == (asked.marks == YES).sum(axis=0).tolist()
        assert tally.known.tolist() == (asked.marks != UNKNOWN).sum(axis=0).tolist()
        assert tally.needed == 0


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
