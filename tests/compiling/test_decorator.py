"""How kernels are compiled; those that other kernels call can be called from Python, too."""

import gc
import pickle
import sys
from typing import Any

import numpy as np
import pytest
from numba import types
from numba.core import errors
from numba.core.compiler import Flags

from caddis.compiling import inner_kernel, kernel
from caddis.compiling.dispatching import QuickFlags, nothing_collected


@inner_kernel
def half(number):
    return number // 2


@inner_kernel(error_model="numpy")
def ratio(one, other):
    return one / other


@inner_kernel(borrows=True)
def first_part(numbers):
    return numbers[:1], len(numbers)


@inner_kernel
def copied(numbers):
    return numbers.copy()


@inner_kernel(borrows=True)
def sum_of_a_copy(numbers):
    return copied(numbers)[0]


@inner_kernel(borrows=True)
def made(number):
    return np.zeros(number)[0]


@inner_kernel(borrows=True)
def largest(numbers):
    most = numbers[0]
    for number in numbers[1:]:
        most = max(most, number)
    return most


@kernel
def largest_of_each(numbers):
    found = np.empty(len(numbers))
    for row in range(len(numbers)):
        found[row] = largest(numbers[row])
    return found


@kernel
def quarter(number):
    return half(half(number))


def test_an_inner_kernel_gives_the_same_to_python_and_to_kernels():
    assert [half(number) for number in (8, 9.5)] == [4, 4.0]
    assert quarter(17) == half(half(17)) == 4


def test_an_inner_kernel_has_its_options_when_it_is_called_from_python():
    assert ratio(1.0, 0.0) == np.inf


def test_flags_are_equal_if_the_same_was_set():
    flags: Any = Flags()
    flags.nrt, flags.error_model = True, "numpy"
    same: Any = QuickFlags(flags)
    other: Any = QuickFlags(flags)
    assert (same, hash(same)) == (other, hash(other))
    other.no_cpython_wrapper = True
    assert same != other
    assert same != flags


def test_a_kernel_is_compiled_once_for_the_same_types():
    quarters: Any = quarter
    quarters(17)
    quarters(18)
    assert [one.args for one in quarters.nopython_signatures] == [(types.int64,)]


def test_a_kernel_that_was_sent_elsewhere_gives_the_same_there():
    assert pickle.loads(pickle.dumps(quarter))(17) == 4


def test_garbage_is_left_for_later_and_then_collected_as_before():
    assert gc.isenabled()
    with nothing_collected():
        assert not gc.isenabled()
        with nothing_collected():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()


FLOATS = types.float64[::1]


@pytest.mark.parametrize(
    ("inner", "argument", "problem"),
    [
        (first_part, FLOATS, "first_part cannot be one that borrows: it gives back an array"),
        (sum_of_a_copy, FLOATS, "borrows: copied gives it an array"),
        (made, types.int64, "Only accept returning of array passed into the function"),
    ],
)
def test_a_kernel_that_borrows_must_not_own_arrays(inner, argument, problem):
    """Nobody would free them, or they would be freed while they are in use."""
    with pytest.raises((TypeError, errors.TypingError), match=problem):
        inner.compile((argument,))


def test_arrays_that_are_lent_are_neither_kept_nor_freed():
    numbers = np.arange(6.0).reshape(2, 3)
    before = sys.getrefcount(numbers)
    for _ in range(10):
        assert largest_of_each(numbers).tolist() == [2, 5]
    assert sys.getrefcount(numbers) == before
