"""What the first use on a new machine waits for: kernels that are compiled on an empty cache.

    python bench/cold.py [--policy NAME]

Each row starts from what the rows before it have compiled, in a copy of the package that has
compiled nothing at first. Kernels are compiled as `caddis.match` does it: in processes of their
own, as many at a time as there are cores. Then the same is compiled by one process, part after
part, from the same cache: what is gained, in wall time, and what that takes, in CPU time.

    matching         what matching without models needs
    models, policy   what a policy needs beyond that
    both at once     the two together, from nothing, as when models are given from the start
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
from dataclasses import astuple
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

import caddis
from caddis.compiling import Need
from caddis.matching import NEEDED as MATCHING
from caddis.ordering import POLICIES, needed
from caddis.sealed.matcher import NEEDED as SEALED

COLUMNS = ("compiled", "wall, s", "CPU, s", "kernels", "one: wall, s", "one: CPU, s", "wall ÷")
PREPARE = """
import json, resource, sys, threading, time
from caddis.compiling import Need, start_compiling
needs = [Need(room, choice, tuple(shares)) for room, choice, shares in json.loads(sys.argv[1])]
began = time.monotonic()
compilation = start_compiling(*needs)
compilation.wait()
wall = time.monotonic() - began
for thread in set(threading.enumerate()) - {threading.main_thread()}:
    thread.join()
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([wall, used.ru_utime + used.ru_stime, compilation.compiled]))
"""
ONE_PROCESS = f"""
import os
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
{PREPARE}"""
"""With one core to run on, no second process is started."""


class Measured(NamedTuple):
    """What compiling took, and how many kernels were compiled."""

    wall: float
    cpu: float
    kernels: int


def measured(script: str, home: Path, cache: Path, needs: list[Need]) -> Measured:
    """What it takes to compile what is missing of some needs."""
    inherited = {name: value for name, value in os.environ.items() if name != "XDG_CACHE_HOME"}
    ran = subprocess.run(
        [sys.executable, "-c", script, json.dumps([astuple(need) for need in needs])],
        env=inherited
        | {
            "PYTHONPATH": str(home),
            "HOME": str(home),
            "TMPDIR": str(home),
            "CADDIS_CACHE_DIR": str(cache),
        },
        check=True,
        capture_output=True,
        text=True,
    )
    return Measured(*json.loads(ran.stdout))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--policy", choices=sorted(POLICIES), help="how models are ordered")
    policy = POLICIES.named(parser.parse_args().policy).name
    models = needed(policy)
    table = Table(*COLUMNS, box=None, pad_edge=False)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        shutil.copytree(
            Path(caddis.__file__).parent,
            home / "caddis",
            ignore=shutil.ignore_patterns("__pycache__"),
        )
        for name, first, needs in (
            ("matching", True, [MATCHING]),
            (f"models, {policy}", False, [models]),
            ("both at once", True, [MATCHING, models]),
            ("sealed", False, [SEALED]),
            ("again", False, [MATCHING, models, SEALED]),
        ):
            if first:
                for cache in home.glob("cache-*"):
                    shutil.rmtree(cache)
            ours = measured(PREPARE, home, home / "cache-ours", needs)
            alone = measured(ONE_PROCESS, home, home / "cache-alone", needs)
            table.add_row(
                *(name, f"{ours.wall:.1f}", f"{ours.cpu:.1f}", f"{ours.kernels}"),
                *(f"{alone.wall:.1f}", f"{alone.cpu:.1f}"),
                f"{ours.wall / alone.wall:.2f}" if ours.kernels else "",
            )
    Console().print(table)


if __name__ == "__main__":
    main()
