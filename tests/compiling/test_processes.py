"""What rooms need is compiled by processes of their own, once."""

import subprocess
import sys

import pytest

from caddis.compiling import prepare
from caddis.compiling.targets import portable_target, usable_targets
from caddis.matching import NEEDED
from caddis.ordering import needed
from tests.compiling.packages import CALLER

PREPARE = """
import logging, sys
logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(levelname)s %(message).40s")
from caddis.compiling import Need, prepare
need = Need("caddis.higher_kernels")
print(need.is_met(), "caddis.higher_kernels" in sys.modules)
prepare(need)
print(need.is_met(), "caddis.higher_kernels" in sys.modules)
"""
SAID = ["INFO compiling kernels: higher_kernels", "INFO compiled the kernels of higher_kernels i"]
WATCH = """
from caddis.compiling import Need, start_compiling
need = Need("caddis.higher_kernels")
compilation = start_compiling(need)
print(compilation.needs == start_compiling(need).needs == (need,))
told = []
compilation.wait(lambda *numbers: told.append(numbers))
print(told[-1], compilation.needs)
"""
CARRY = """
from caddis.compiling import Need, start_compiling
need = Need("caddis.higher_kernels")
for portable in (True, False):
    compilation = start_compiling(need, portable=portable)
    compilation.wait()
    print(compilation.compiled, compilation.failed, need.is_met(portable=portable))
"""
SHARES = """
import logging, os, sys
logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(levelname)s %(message).40s")
os.sched_getaffinity = lambda _: {0}
from caddis.compiling import Need, start_compiling
need = Need("caddis.higher_kernels", shares=("first", "second", "third"))
compilation = start_compiling(need)
compilation.wait()
print(compilation.compiled, [part.is_met() for part in need.parts], compilation.failed == (need,))
"""
SHARED = CALLER.replace(
    "def warm_up():\n",
    """
import os

def warm_up(share):
    if share == "second":
        raise ValueError
    print(1, share, os.getpid())
""",
)
STOP = """
from caddis.compiling import Need, start_compiling
need = Need("caddis.higher_kernels", shares=("first", "second"))
compilation = start_compiling(need)
compilation.stop()
compilation.wait()
print(compilation.needs, [part.is_met() for part in need.parts])
again = start_compiling(need)
again.wait()
print(again.failed)
"""
MODELS = """
import logging, time, sys
import pyarrow as pa
logging.basicConfig(stream=sys.stdout, format="%(message)s")
logging.getLogger("caddis.compiling").setLevel(logging.DEBUG)
from caddis.matching import Matcher
from caddis.models import Asker, Catalogue, Statistics, concept
from caddis.ordering import Executor

@concept(answers=["one", "two"])
def both(_):
    return [True, False]

@concept()
def three(_):
    return True

catalogue = Catalogue([both, three])
schema = pa.schema([("text", pa.string())])
wheres = ["one(text) AND NOT two(text)", "three(text) OR two(text)"]
table = pa.table({"subscription_id": [0, 1], "where": wheres})
matcher = Matcher.compile(table, schema, concepts=catalogue.vocabulary)
asker = Asker(cache=None, clock=time.perf_counter)
executor = Executor([matcher], catalogue, statistics=Statistics(), asker=asker)
print(executor.match(pa.record_batch({"text": ["a"]}, schema)).links.tolist())
"""


def test_missing_kernels_are_compiled_in_another_process_and_only_once(package):
    first, second = package.run(PREPARE), package.run(PREPARE)
    assert first == ["False False", *SAID, "True False"]
    assert second == ["True False", "True False"]
    assert package.ask().compiled == []


def test_a_changed_source_is_looked_at_again(package):
    package.run(PREPARE)
    package.write("higher_kernels", CALLER.replace("+ row", "- row"))
    assert package.run(PREPARE)[0] == "False False"
    assert package.ask().answer == 19


def test_where_nothing_can_be_kept_no_process_is_started(package):
    package.make_read_only()
    nowhere = PREPARE.replace(
        "import logging", "import tempfile; tempfile.tempdir = '/dev/null'; import logging", 1
    )
    assert package.run(nowhere, HOME="/dev/null") == ["False False", "False False"]


def test_a_room_that_fails_is_left_to_those_who_call_its_kernels(package):
    package.write("higher_kernels", CALLER.replace("    answer(", "    missing("))
    assert package.run(PREPARE)[2:] == [
        "WARNING the kernels of higher_kernels could not ",
        "False False",
    ]
    assert package.ask().answer == 21


def test_two_callers_with_the_same_need_share_a_process_and_see_its_progress(package):
    assert package.run(WATCH) == ["True", "(2, 2) ()"]


def test_a_share_that_fails_does_not_keep_the_others_from_being_compiled(package):
    package.write("higher_kernels", SHARED)
    assert package.run(SHARES) == [
        "INFO compiled the kernels of higher_kernels-f",
        "WARNING the kernels of higher_kernels-second cou",
        "INFO compiled the kernels of higher_kernels-t",
        "4 [True, False, True] True",
    ]


def test_what_was_stopped_is_compiled_when_it_is_needed_again(package):
    package.write("higher_kernels", SHARED.replace('"second"', "None"))
    assert package.run(STOP) == ["() [False, False]", "()"]


@pytest.mark.skipif(len(usable_targets()) == 1, reason="needs an x86-64 processor with AVX2")
def test_portable_kernels_also_run_here(package):
    assert package.run(CARRY) == ["2 () True", "0 () True"]
    assert package.ask().compiled == []
    assert {path.parent.name for path in package.kept()} == {portable_target()}


def test_a_match_with_models_finds_everything_compiled_that_its_rooms_need():
    prepare(NEEDED, needed())
    ran = subprocess.run(
        [sys.executable, "-c", MODELS], check=True, capture_output=True, text=True, timeout=300
    )
    assert ran.stdout == "[0, 1]\n"
