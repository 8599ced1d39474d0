"""Kernels that other kernels call can be called from Python, too, though only tests do so."""

import numpy as np

from caddis.compiling import inner_kernel, kernel


@inner_kernel
def half(number):
    return number // 2


@inner_kernel(error_model="numpy")
def ratio(one, other):
    return one / other


@kernel
def quarter(number):
    return half(half(number))


def test_an_inner_kernel_gives_the_same_to_python_and_to_kernels():
    assert [half(number) for number in (8, 9.5)] == [4, 4.0]
    assert quarter(17) == half(half(17)) == 4


def test_an_inner_kernel_has_its_options_when_it_is_called_from_python():
    assert ratio(1.0, 0.0) == np.inf
