"""`caddis doctor`: whether everything is there that Caddis needs, and what to do if not.

Each check says what it found, and what to do about it. Nothing heavy is imported before Spark is
tried, so that the doctor also works where something is broken.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.text import Text

from caddis.cli.shell import (
    JAVA_ADVICE,
    OLDEST_JAVA,
    AsJson,
    Job,
    Master,
    debugging,
    examples,
    fills,
    find_java,
    flag,
    needed_kernels,
    run,
)
from caddis.errors import CaddisError

EXAMPLES = examples("doctor", "doctor --no-spark --json")
GIB = 1 << 30
PACKAGES = {
    "pyspark": ((4, 3), (4, 4)),
    "pyarrow": ((18,), None),
    "pandas": ((2, 2), (3,)),
    "numpy": ((2,), (3,)),
    "numba": ((0, 61), (1,)),
    "sqlglot": ((30,), (31,)),
}
"""The versions that Caddis works with: the oldest, and the first that is too new."""
_STYLES = {"ok": "green", "warn": "yellow", "fail": "bold red"}
app = typer.Typer()


@dataclass(frozen=True, slots=True)
class DoctorOptions:
    """What to check."""

    spark: Annotated[bool, flag("--spark/--no-spark", "Whether to start Spark and run a job.")] = (
        True
    )
    master: Master = "local[*]"
    as_json: AsJson = False


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at, what was found, and what to do about it."""

    name: str
    status: Literal["ok", "warn", "fail"]
    found: str
    advice: str = ""


@dataclass(frozen=True, slots=True)
class DoctorSummary:
    """All that was looked at."""

    checks: tuple[Check, ...]

    def number(self, status: str) -> int:
        """How many checks ended with this status."""
        return sum(check.status == status for check in self.checks)

    @property
    def ok(self) -> bool:
        """Whether nothing failed."""
        return not self.number("fail")

    def as_json(self) -> dict[str, object]:
        """The values that --json prints."""
        return {"ok": self.ok, "checks": [asdict(check) for check in self.checks]}

    def show(self, console: Console) -> None:
        """Print a line for each check, and below it what to do."""
        for check in self.checks:
            line = Text.assemble(
                (f"{check.status:<5}", _STYLES[check.status]), f"{check.name:<13}", check.found
            )
            console.print(line, soft_wrap=True)
            if check.advice:
                console.print(Text(f"{'':<18}{check.advice}", style="dim"), soft_wrap=True)
        console.print(f"\n{self._verdict()}")

    def _verdict(self) -> str:
        failed, warned = self.number("fail"), self.number("warn")
        if failed:
            return f"{failed} of these must be fixed before Caddis can work."
        if warned:
            return f"Caddis can work; {warned} of these could be better."
        return "All is well. Next: [bold]caddis demo[/bold]"


@app.command(name="doctor", epilog=EXAMPLES)
@fills(DoctorOptions)
def command(options: DoctorOptions) -> None:
    """Check that this machine has what Caddis needs: Java, Python, Spark.

    Each line says ok, warn or fail; below a warn or fail, a line says what to
    do. The exit code is 1 if anything fails.
    """
    summaries: list[DoctorSummary] = []

    def work(job: Job) -> DoctorSummary:
        packages = package_checks()
        checks = [*machine_checks(), *packages]
        if all(check.status != "fail" for check in packages):
            checks.append(kernel_check())
        if options.spark and all(check.status != "fail" for check in checks):
            with job.screen.step(f"Starting Spark on {options.master}") as step:
                step.done = "Spark tried"
                checks += spark_checks(options.master, job)
        summaries.append(DoctorSummary(tuple(checks)))
        return summaries[0]

    run(work, as_json=options.as_json)
    if not summaries[0].ok:
        raise typer.Exit(1)


def machine_checks() -> list[Check]:
    """Python, Java, memory, the temporary folder and the environment."""
    return [_python(), _java(), _memory(), _temporary_folder(), *_environment()]


def package_checks() -> list[Check]:
    """The packages' versions, as installed; none is imported."""
    return [_package(name, *bounds) for name, bounds in PACKAGES.items()]


def kernel_check() -> Check:
    """Which kernels are still missing, and where compiled ones are kept."""
    from caddis.compiling import chosen_folder, unusable

    folder = chosen_folder()
    missing = [need.name for need in needed_kernels(models=True) if not need.is_met()]
    found = f"not compiled yet: {', '.join(missing)}" if missing else "compiled"
    if folder is None:
        advice = "set CADDIS_CACHE_DIR to a folder that can be written to"
        return Check("kernels", "warn", f"{found}; there is no folder to keep new ones in", advice)
    found = f"{found}; new ones are kept in {folder.path}"
    passed_over = unusable()
    if passed_over is not None:
        advice = "it cannot be written to, or others could write to it"
        return Check("kernels", "warn", f"{found}, and not in {passed_over}", advice)
    if missing:
        return Check("kernels", "ok", found, "the first match compiles them, as caddis warm does")
    return Check("kernels", "ok", found)


def spark_checks(master: str, job: Job) -> list[Check]:
    """Whether a session starts, and whether its workers run this Python.

    job: closes the session.
    """
    began = time.monotonic()
    try:
        from caddis.spark.base import local_session, spark_failures, worker_versions

        with spark_failures():
            session = job.resources.enter_context(local_session(master, quiet=not debugging()))
            started = Check(
                "Spark", "ok", f"{session.version} on {master}, {_since(began)} to start"
            )
            began = time.monotonic()
            worker = worker_versions(session)
    except (CaddisError, ImportError) as error:
        return [Check("Spark", "fail", str(error), "CADDIS_DEBUG=1 shows Spark's own log")]
    return [started, _worker(worker, _since(began))]


def _python() -> Check:
    version = ".".join(map(str, sys.version_info[:3]))
    return Check("Python", "ok", f"{version} at {sys.executable}")


def _java() -> Check:
    java = find_java()
    if java is None:
        home = os.environ.get("JAVA_HOME")
        found = f"none at JAVA_HOME ({home})" if home else "none"
        return Check("Java", "fail", found, JAVA_ADVICE)
    found = f"{java.version} at {java.path}"
    if java.major < OLDEST_JAVA:
        return Check("Java", "fail", found, f"{JAVA_ADVICE}, and point JAVA_HOME at it")
    return Check("Java", "ok", found)


def _memory() -> Check:
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    free = _available() or pages
    found = f"{free / GIB:.1f} GiB available of {pages / GIB:.1f} GiB"
    if free < 2 * GIB:
        return Check(
            "memory", "warn", found, "Spark and its workers want 2 GiB; close other programs"
        )
    return Check("memory", "ok", found)


def _available() -> int | None:
    """Linux's own estimate; None on other systems."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    kilobytes = [int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")]
    return kilobytes[0] << 10 if kilobytes else None


def _temporary_folder() -> Check:
    advice = "point TMPDIR at a folder with room; Spark and the compiled subscriptions use it"
    try:
        folder = tempfile.gettempdir()
        with tempfile.NamedTemporaryFile(dir=folder) as probe:
            probe.write(b"caddis")
    except OSError as error:
        return Check("temporary", "fail", str(error), advice)
    free = shutil.disk_usage(folder).free
    found = f"{folder}, {free / GIB:.1f} GiB free"
    return (
        Check("temporary", "warn", found, advice) if free < GIB else Check("temporary", "ok", found)
    )


def _environment() -> Iterator[Check]:
    """Settings that make Spark start another Spark than ours."""
    home = os.environ.get("SPARK_HOME")
    if home:
        advice = "unset it, or make sure that it is Spark 4.3, which is started in place of ours"
        yield Check("SPARK_HOME", "warn", home, advice)
    remote = os.environ.get("SPARK_REMOTE")
    if remote:
        yield Check(
            "SPARK_REMOTE", "warn", remote, "unset it: the commands start a session of their own"
        )


def _package(name: str, low: tuple[int, ...], below: tuple[int, ...] | None) -> Check:
    wanted = f"{name}>={_dotted(low)}" + (f",<{_dotted(below)}" if below else "")
    advice = f"{sys.executable} -m pip install '{wanted}'"
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        return Check(name, "fail", "not installed", advice)
    numbers = tuple(int(part) for part in version.split(".")[:3] if part.isdigit())
    fits = numbers >= low and (below is None or numbers < below)
    return (
        Check(name, "ok", version)
        if fits
        else Check(name, "fail", f"{version}, wanted {wanted}", advice)
    )


def _worker(worker: dict[str, str], took: str) -> Check:
    found = f"a job ran in Python {worker['python']} at {worker['executable']}, {took}"
    here = {name: metadata.version(name) for name in ("pyarrow", "pandas", "numba")}
    here["python"] = ".".join(map(str, sys.version_info[:3]))
    others = [f"{name} {worker[name]}" for name, version in here.items() if worker[name] != version]
    if others:
        advice = "install the same versions for the Python that the workers run"
        return Check("workers", "warn", f"{found}, but with {', '.join(others)}", advice)
    return Check("workers", "ok", found)


def _dotted(numbers: tuple[int, ...]) -> str:
    return ".".join(map(str, numbers))


def _since(began: float) -> str:
    return f"{time.monotonic() - began:.1f} s"
