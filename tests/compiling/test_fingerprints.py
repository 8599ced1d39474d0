"""What a kernel is made from: every kernel of Caddis can be told from what it was before."""

from importlib import import_module
from pkgutil import walk_packages
from typing import Any

from numba.core.dispatcher import Dispatcher

import caddis
from caddis.compiling import kernel
from caddis.compiling.fingerprints import fingerprint, name_of, reachable


@kernel
def down(number):
    return number if number == 0 else up(number - 1)


@kernel
def up(number):
    return down(number)


def kernels():
    found: dict[str, Any] = {}
    for module in walk_packages(caddis.__path__, "caddis."):
        if not module.name.startswith("caddis.cli") and not module.name.endswith("__main__"):
            values = vars(import_module(module.name)).values()
            found |= {name_of(one): one for one in values if isinstance(one, Dispatcher)}
    return found


def test_every_kernel_has_a_fingerprint_of_its_own():
    prints = {name: fingerprint(one) for name, one in kernels().items()}
    assert len(prints) > 100
    assert len(set(prints.values())) == len(prints)


def test_kernels_that_call_each_other_have_fingerprints():
    both: Any = [down, up]
    assert {frozenset(reachable(one)) for one in both} == {frozenset(both)}
    assert len({fingerprint(one) for one in both}) == 2
