"""Kernels that a wheel carries are used where they fit, and only there."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import llvmlite.binding as llvm
import pytest

from caddis.compiling import targets
from tests.compiling.packages import SmallPackage
from tests.compiling.test_cache import BOTH
from tests.runs import LONG

ROOT = Path(__file__).parents[2]
PORTABLE = """
from caddis.compiling import Need, start_compiling
start_compiling(Need("caddis.higher_kernels"), portable=True).wait()
"""
WITHOUT_AVX2 = {name: name != "avx2" for name in targets.FEATURES}
MATCH = """
import logging, sys
logging.basicConfig(stream=sys.stdout, format="%(message)s")
logging.getLogger("caddis.compiling").setLevel(logging.DEBUG)
import caddis
from caddis.compiling import prepare
from caddis.matching import NEEDED
from caddis.ordering import needed
prepare(NEEDED, needed())
NEEDED.compile()
needed().compile()
print(caddis.__file__)
"""

only_with_avx2 = pytest.mark.skipif(
    len(targets.usable_targets()) == 1, reason="needs an x86-64 processor with AVX2"
)


def ship(package: SmallPackage) -> Path:
    """Compile what a wheel carries, and put it where the wheel has it."""
    package.run(PORTABLE)
    shipped = package.package / "compiling" / "shipped"
    shutil.move(package.package / "__pycache__" / "kernels", shipped)
    shutil.rmtree(package.package / "__pycache__")
    return shipped


@only_with_avx2
def test_shipped_kernels_are_used_where_nothing_can_be_written(package):
    ship(package)
    package.make_read_only()
    asked = package.ask(HOME="/dev/null")
    assert (asked.answer, asked.compiled) == (21, [])


@only_with_avx2
def test_kernels_shipped_for_another_version_are_compiled_here(package):
    shipped = ship(package)
    [target] = shipped.iterdir()
    target.rename(shipped / target.name.replace("-numba", "-numba0."))
    asked = package.ask()
    assert (asked.answer, asked.compiled) == (21, BOTH)


@only_with_avx2
def test_kernels_shipped_with_other_sources_are_compiled_here(package):
    ship(package)
    package.write("numbers", "FACTOR = 3\n")
    asked = package.ask()
    assert (asked.answer, asked.compiled) == (31, BOTH)


def test_a_processor_without_avx2_compiles_its_own(monkeypatch):
    monkeypatch.setattr(llvm, "get_host_cpu_features", lambda: WITHOUT_AVX2)
    assert not targets.runs_portable_code.__wrapped__()


@only_with_avx2
@pytest.mark.skipif(not LONG, reason="compiles everything; runs in `make test-long`")
def test_a_wheel_matches_without_compiling_anything(tmp_path):
    subprocess.run(
        ["scripts/wheel.sh"], cwd=ROOT, env=os.environ | {"OUT": str(tmp_path / "dist")}, check=True
    )
    [wheel] = (tmp_path / "dist").iterdir()
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    (tmp_path / "site" / "caddis" / "__pycache__").write_text("")
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "site"), "HOME": "/dev/null"}
    for name in ("CADDIS_CACHE_DIR", "XDG_CACHE_HOME"):
        environment.pop(name, None)
    command = [sys.executable, "-c", MATCH]
    ran = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    assert ran.stdout == f"{tmp_path}/site/caddis/__init__.py\n"
