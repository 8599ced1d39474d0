"""`caddis doctor`: is everything here that Caddis needs, and if not, what to do."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from caddis.cli.doctor.checks import Check, machine_checks, package_checks, spark_checks
from caddis.cli.shell import AsJson, Job, Master, run

NAME = "doctor"
EXAMPLES = """
[bold]Examples[/bold]

  caddis doctor

  caddis doctor --no-spark --json
"""
app = typer.Typer()

_STYLES = {"ok": "green", "warn": "yellow", "fail": "bold red"}


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """All that was looked at."""

    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing failed."""
        return all(check.status != "fail" for check in self.checks)

    def as_json(self) -> dict[str, object]:
        """The same for a machine."""
        return {"ok": self.ok, "checks": [asdict(check) for check in self.checks]}

    def show(self, console: Console) -> None:
        """One line a check, and below it what to do."""
        for check in self.checks:
            line = Text.assemble(
                (f"{check.status:<5}", _STYLES[check.status]), f"{check.name:<13}", check.found
            )
            console.print(line, soft_wrap=True)
            if check.advice:
                console.print(Text(f"{'':<18}{check.advice}", style="dim"), soft_wrap=True)
        failed = sum(check.status == "fail" for check in self.checks)
        warned = sum(check.status == "warn" for check in self.checks)
        console.print(_verdict(failed, warned))


@app.command(name=NAME, epilog=EXAMPLES)
def command(
    spark: Annotated[
        bool, typer.Option("--spark/--no-spark", help="Whether to start Spark and run a job.")
    ] = True,
    master: Master = "local[*]",
    as_json: AsJson = False,
) -> None:
    """Check that everything is here that Caddis needs: Java, Python, Spark.

    Each line is ok, warn or fail; with the last two comes what to do. Exits
    with 1 if something fails.
    """
    found: list[Diagnosis] = []

    def work(job: Job) -> Diagnosis:
        checks = [*machine_checks(), *package_checks()]
        if spark and all(check.status != "fail" for check in checks):
            with job.screen.step(f"Starting Spark on {master}") as step:
                step.done = "Spark tried"
                checks += spark_checks(master, job)
        found.append(Diagnosis(tuple(checks)))
        return found[0]

    run(work, as_json=as_json)
    if not found[0].ok:
        raise typer.Exit(1)


def _verdict(failed: int, warned: int) -> str:
    if failed:
        return f"\n{failed} of these must be mended before Caddis can work."
    if warned:
        return f"\nCaddis can work; {warned} of these could be better."
    return "\nAll is well. Next: [bold]caddis demo[/bold]"
