"""A package like Caddis with two kernels, one of which calls the other in another file.

What these tests do to a package (make it read-only, change its sources, damage what it keeps) is
done to a copy, in processes of its own.
"""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import caddis

SOURCES = Path(caddis.__file__).parent

CALLER = """
import numpy as np
from caddis.compiling import kernel
from caddis.lower_kernels import Row, double

@kernel
def answer(row):
    return double(row.first) + row.second

def warm_up():
    answer(Row(np.int64(10), np.int64(1)))
"""
CALLEE = """
from typing import NamedTuple
import numpy as np
from caddis.compiling import kernel
from caddis.numbers import FACTOR

class Row(NamedTuple):
    first: int
    second: int

@kernel
def double(number):
    return FACTOR * number
"""
ASK = """
import json, logging, sys, tempfile, warnings
import numpy as np
tempfile.tempdir = TEMPORARY
compiled = []
class Listed(logging.Handler):
    def emit(self, record):
        if record.msg.startswith("compiling"):
            compiled.append(str(record.args[0]))
logging.getLogger("caddis.compiling").setLevel(logging.DEBUG)
logging.getLogger("caddis.compiling").addHandler(Listed())
with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    from caddis.higher_kernels import Row, answer
    got = answer(Row(np.int64(10), np.int64(1)))
    where = answer._cache.cache_path
print(json.dumps([int(got), sorted(compiled), [str(one.message) for one in warned], where]))
"""
NO_BYTECODE = {"PYTHONDONTWRITEBYTECODE": "1"}
"""Python goes by a source's time and size, and these tests change sources faster than that."""


@dataclass(frozen=True)
class Asked:
    """What a process said: the kernel's answer, what it compiled, warned of, and keeps where."""

    answer: int
    compiled: list[str]
    warnings: list[str]
    folder: str | None


class Nursery:
    """Runs code in processes that have imported numba already; see `nursery`."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(Path(__file__).with_name("nursery.py"))],
            env=without_settings() | NO_BYTECODE,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, code: str, environment: dict[str, str], output: Path) -> int:
        """Run it with its output in a file, and give its status."""
        told, heard = self._process.stdin, self._process.stdout
        assert told is not None
        assert heard is not None
        told.write(f"{json.dumps([code, environment, str(output)])}\n")
        told.flush()
        return int(heard.readline())

    def close(self) -> None:
        self._process.communicate()


def without_settings() -> dict[str, str]:
    """This process's environment without what says how kernels are compiled and kept."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("CADDIS_", "XDG_", "COV", "NUMBA_"))
    }


class SmallPackage:
    """The copy, with the environment of the processes that use it."""

    def __init__(self, folder: Path, nursery: Nursery) -> None:
        self.nursery = nursery
        self.package = folder / "caddis"
        self.package.mkdir()
        for name in ("__init__.py", "__init__.pyi"):
            shutil.copy(SOURCES / name, self.package / name)
        shutil.copytree(SOURCES / "compiling", self.package / "compiling")
        self.write("numbers", "FACTOR = 2\n")
        self.write("lower_kernels", CALLEE)
        self.write("higher_kernels", CALLER)
        self.temporary = folder / "temporary"
        self.temporary.mkdir()
        self.home = folder / "home"
        self.home.mkdir()

    def write(self, module: str, text: str) -> None:
        (self.package / f"{module}.py").write_text(text)

    def make_read_only(self) -> None:
        """Nobody can make a folder below a file: that holds for root, too."""
        (self.package / "__pycache__").write_text("")

    def kept(self) -> list[Path]:
        return sorted(self.package.parent.rglob("*.kernel"))

    def start(self, code: str = ASK, **environment: str) -> "subprocess.Popen[str]":
        """A process of its own, for what has to run at the same time as others."""
        return subprocess.Popen(
            [sys.executable, "-c", self._here(code)],
            env=self._environment() | environment,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, code: str, **environment: str) -> list[str]:
        """The lines that a process prints."""
        output = self.package.parent / "output"
        assert not any(name.startswith("NUMBA_") for name in environment), "numba has read those"
        self.nursery.run(self._here(code), self._environment() | environment, output)
        return output.read_text().splitlines()

    def ask(self, **environment: str) -> Asked:
        return Asked(*json.loads("".join(self.run(ASK, **environment))))

    def _here(self, code: str) -> str:
        return code.replace("TEMPORARY", repr(str(self.temporary)))

    def _environment(self) -> dict[str, str]:
        ours = {"HOME": str(self.home), "PYTHONPATH": str(self.package.parent)}
        return without_settings() | ours | NO_BYTECODE


def said(process: "subprocess.Popen[str]") -> Asked:
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    return Asked(*json.loads(out))
