"""What a person sees who made a mistake, and what reaches another process of it."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caddis import errors
from caddis.errors import CaddisError, InvalidSubscriptions, SubscriptionError

WIDTH = 160


def lines(error: Exception) -> list[str]:
    return str(error).split("\n")


def test_the_message_names_the_subscription_the_problem_and_the_place():
    error = SubscriptionError("unknown column 'pricee'", "pricee < 200", (0, 6), "alice-17")
    assert lines(error) == [
        "subscription 'alice-17': unknown column 'pricee'",
        "  pricee < 200",
        "  ^^^^^^",
    ]


def test_a_subscription_without_an_id_is_not_named():
    assert str(SubscriptionError("wrong", "a = 1", (0, 1))) == "wrong\n  a = 1\n  ^"


def test_a_number_as_id_is_shown_as_a_number():
    assert lines(SubscriptionError("wrong", "a", (0, 1), 17))[0] == "subscription 17: wrong"


def test_without_a_place_the_text_stands_alone():
    assert str(SubscriptionError("wrong", "a = 1")) == "wrong\n  a = 1"


def test_without_a_text_the_problem_stands_alone():
    assert str(SubscriptionError("wrong", "", None, "a")) == "subscription 'a': wrong"


def test_of_several_lines_the_one_with_the_place_is_shown():
    where = "city = 'Cork'\n  AND pricee < 200\n  AND sold"
    assert lines(SubscriptionError("wrong", where, (20, 26))) == [
        "wrong",
        "    AND pricee < 200",
        "        ^^^^^^",
    ]


def test_a_place_that_runs_over_its_line_is_underlined_to_the_line_end():
    where = "a IN (1,\n2)"
    assert lines(SubscriptionError("wrong", where, (0, len(where)))) == [
        "wrong",
        "  a IN (1,",
        "  ^^^^^^^^",
    ]


def test_a_tab_takes_one_place_above_the_caret():
    assert lines(SubscriptionError("wrong", "\ta\t= 1", (1, 2))) == ["wrong", "   a = 1", "   ^"]


def test_a_place_behind_the_text_has_its_caret_there():
    assert lines(SubscriptionError("wrong", "a =", (3, 3))) == ["wrong", "  a =", "     ^"]


@given(before=st.integers(0, 500), after=st.integers(0, 500), width=st.integers(1, 20))
def test_of_a_long_line_the_part_around_the_place_is_shown(before, after, width):
    where = "a" * before + "X" * width + "b" * after
    _, text, caret = lines(SubscriptionError("wrong", where, (before, before + width)))
    assert len(text) == min(WIDTH, len(where)) + 2
    assert [text[i] for i, mark in enumerate(caret) if mark == "^"] == ["X"] * width


@pytest.mark.parametrize(("count", "shown"), [(1, 1), (5, 5), (6, 5)])
def test_at_most_five_subscriptions_are_shown(count, shown):
    error = InvalidSubscriptions([SubscriptionError("wrong", "", None, i) for i in range(count)])
    assert sum("wrong" in line for line in lines(error)) == shown
    assert len(error.errors) == count


def test_of_more_than_five_it_says_how_many_more():
    error = InvalidSubscriptions([SubscriptionError("wrong", "", None, i) for i in range(1_239)])
    assert lines(error)[-1] == "... and 1,234 more subscriptions with errors"


def test_five_errors_have_no_line_about_more():
    error = InvalidSubscriptions([SubscriptionError("wrong", "a", (0, 1), i) for i in range(5)])
    assert "more" not in str(error)


def test_a_subscription_error_survives_pickling():
    error = SubscriptionError("wrong", "a = 1", (0, 1), "alice")
    again = pickle.loads(pickle.dumps(error))
    assert isinstance(again, SubscriptionError)
    assert str(again) == str(error)
    assert (again.problem, again.where, again.span, again.subscription_id) == (
        "wrong",
        "a = 1",
        (0, 1),
        "alice",
    )


def test_invalid_subscriptions_survive_pickling_with_every_error():
    error = InvalidSubscriptions([SubscriptionError("wrong", "a", (0, 1), i) for i in range(7)])
    again = pickle.loads(pickle.dumps(error))
    assert isinstance(again, InvalidSubscriptions)
    assert str(again) == str(error)
    assert [one.subscription_id for one in again.errors] == list(range(7))


def public_errors() -> list[type[CaddisError]]:
    found = [value for value in vars(errors).values() if isinstance(value, type)]
    return [value for value in found if value.__module__ == errors.__name__]


@pytest.mark.parametrize("kind", public_errors(), ids=lambda kind: kind.__name__)
def test_every_error_is_a_caddis_error_and_is_drawn_in_the_tree(kind):
    assert issubclass(kind, CaddisError)
    assert errors.__doc__ is not None
    assert kind.__name__ in errors.__doc__


@pytest.mark.parametrize(
    "kind",
    [
        errors.SubscriptionTableError,
        errors.EventError,
        errors.IndexFolderError,
        errors.EnvironmentProblem,
    ],
)
def test_plain_errors_survive_pickling(kind):
    again = pickle.loads(pickle.dumps(kind("what is wrong")))
    assert type(again) is kind
    assert str(again) == "what is wrong"
