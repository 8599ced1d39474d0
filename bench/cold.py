"""What the first use on a new machine waits for: kernels that are compiled on an empty cache.

    python bench/cold.py [--policy NAME]

Each row starts from what the rows before it have compiled, in a copy of the package that has
compiled nothing at first. Kernels are compiled as `caddis.match` does it: in processes of their
own, as many at a time as there are cores.

    matching         what matching without models needs
    models, policy   what a policy needs beyond that
    both at once     the two side by side, from nothing, as when models are given from the start
    sealed           what sealed matching needs
    again            all of it once more: what every later use waits for
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

import caddis
from caddis.ordering import POLICIES

COLUMNS = ("compiled", "wall, s", "CPU, s", "kernels")
PREPARE = """
import json, resource, sys, time
from caddis.compiling import Need, start_compiling
needs = [Need(*need) for need in json.loads(sys.argv[1])]
began = time.monotonic()
compilation = start_compiling(*needs)
compilation.wait()
wall = time.monotonic() - began
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([wall, used.ru_utime + used.ru_stime, compilation.compiled]))
"""
MATCHING, SEALED = ("caddis.matching",), ("caddis.sealed.matcher",)


def measured(home: Path, *needs: tuple[str, ...]) -> tuple[str, str, str]:
    """The wall time, the CPU time and the number of kernels of compiling what is missing."""
    inherited = {name: value for name, value in os.environ.items() if name != "XDG_CACHE_HOME"}
    ran = subprocess.run(
        [sys.executable, "-c", PREPARE, json.dumps(needs)],
        env=inherited
        | {
            "PYTHONPATH": str(home),
            "HOME": str(home),
            "TMPDIR": str(home),
            "CADDIS_CACHE_DIR": str(home / "cache"),
        },
        check=True,
        capture_output=True,
        text=True,
    )
    wall, used, kernels = json.loads(ran.stdout)
    return f"{wall:.1f}", f"{used:.1f}", f"{kernels}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--policy", choices=sorted(POLICIES), help="how models are ordered")
    policy = POLICIES.named(parser.parse_args().policy).name
    models = ("caddis.ordering", policy)
    table = Table(*COLUMNS, box=None, pad_edge=False)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        shutil.copytree(
            Path(caddis.__file__).parent,
            home / "caddis",
            ignore=shutil.ignore_patterns("__pycache__"),
        )
        table.add_row("matching", *measured(home, MATCHING))
        table.add_row(f"models, {policy}", *measured(home, models))
        shutil.rmtree(home / "cache")
        table.add_row("both at once", *measured(home, MATCHING, models))
        table.add_row("sealed", *measured(home, SEALED))
        table.add_row("again", *measured(home, MATCHING, models, SEALED))
    Console().print(table)


if __name__ == "__main__":
    main()
