"""The models of a verb: those that `--models` names, and a summary of what they did.

A model is built in, or comes from a Python file or from a module. A file is run, but does not stay
among the imported modules. Therefore what it defines is pickled by value for Spark's workers, and
no worker has to find the file. What a module defines is pickled by name.
"""

from __future__ import annotations

import importlib
import os
import sys
import time
import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from caddis.cli.shell.screen import short, text_table
from caddis.errors import CaddisError, InvalidSubscriptions, ModelError, SubscriptionError
from caddis.names import nearest

if TYPE_CHECKING:
    import pyarrow as pa

    from caddis.models import Asker, Model
    from caddis.ordering import Executor
    from caddis.spark import ModelUse, Report

PROBLEMS = "_problems.jsonl"
BUILT_IN = {f"efficientnet-lite{which}": which for which in range(3)}
NONE_GIVEN = "no models are given"
"""The end of the error that a subscription with a concept gets if there are no models."""


def load_models(specs: Sequence[str]) -> list[Model]:
    """The models that the specs name, in order and without duplicates.

    specs: the values of `--models`: built-in names, Python files or modules.
    """
    models = [model for spec in specs for model in _models_of(spec)]
    return list({id(model): model for model in models}.values())


def local_executor(
    subscriptions: pa.Table,
    schema: pa.Schema,
    models: Sequence[Model],
    *,
    policy: str | None = None,
    timezone: str = "UTC",
) -> tuple[Executor, Asker]:
    """An executor that decides events in this process as Spark's workers would, and its asker.

    The asker keeps the models' answers. Subscriptions that are invalid for the schema are left out.
    """
    from caddis.matching import Matcher
    from caddis.models import AnswerCache, Asker, Catalogue, Statistics
    from caddis.ordering import Executor

    catalogue = Catalogue(models)
    catalogue.check(schema)
    matcher = Matcher.compile(
        subscriptions,
        schema,
        timezone=timezone,
        on_invalid="skip",
        concepts=catalogue.vocabulary,
    )
    asker = Asker(cache=AnswerCache(), clock=time.perf_counter)
    executor = Executor([matcher], catalogue, statistics=Statistics(), asker=asker, policy=policy)
    return executor, asker


def with_models_hint(problem: str) -> str:
    """The problem of a subscription; if models are missing, it also names the option for them."""
    return problem.replace(NONE_GIVEN, f"{NONE_GIVEN}; name some with --models")


@contextmanager
def hinting_at_models() -> Iterator[None]:
    """Add the hint of `with_models_hint` to the errors of subscriptions."""
    try:
        yield
    except InvalidSubscriptions as error:
        hinted = [
            SubscriptionError(
                with_models_hint(one.problem), one.where, one.span, one.subscription_id
            )
            for one in error.errors
        ]
        raise InvalidSubscriptions(hinted) from error


def _models_of(spec: str) -> list[Model]:
    if spec in BUILT_IN:
        from caddis.models import efficientnet_lite

        return [efficientnet_lite(BUILT_IN[spec])]
    if spec.endswith(".py") or os.sep in spec:
        return _models_in(_run_file(Path(spec)), spec)
    return _models_in(_imported(spec), f"the module {spec!r}")


def _models_in(module: ModuleType, called: str) -> list[Model]:
    from caddis.models import Model

    models = [value for value in vars(module).values() if isinstance(value, Model)]
    if not models:
        raise ModelError(
            f"{called} defines no models; turn a function into one with @caddis.concept(...), or "
            "assign a model of caddis.models to a name"
        )
    return models


def _run_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise ModelError(f"{path}: there is no such file")
    name = f"models of {path}"
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ModelError(f"{path} is not a Python file; its name should end in .py")
    module = sys.modules[name] = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise ModelError(_located(error, path)) from error
    finally:
        # Dataclasses look up their module while it runs; afterwards nobody must find it.
        del sys.modules[name]
    return module


def _imported(name: str) -> ModuleType:
    spec = _spec_of(name)
    if spec is None:
        raise ModelError(_no_such(name))
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:
        raise ModelError(_located(error, Path(spec.origin or name))) from error


def _spec_of(name: str) -> ModuleSpec | None:
    try:
        return find_spec(name)
    except (ImportError, ValueError):
        return None


def _no_such(name: str) -> str:
    known = [*BUILT_IN, *(path.name for path in Path().glob("*.py"))]
    near = nearest(name, known) or nearest(f"{name}.py", known)
    hint = f"did you mean {near!r}?" if near else f"built in are {', '.join(BUILT_IN)}"
    return f"--models {name}: there is no such model, Python file or module; {hint}"


def _located(error: BaseException, path: Path) -> str:
    """The error in words, with the file and the last of its lines that ran."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if Path(frame.filename) == path.absolute()]
    reason = str(error) if isinstance(error, CaddisError) else f"{type(error).__name__}: {error}"
    if isinstance(error, SyntaxError) and error.filename == str(path.absolute()):
        lines, reason = [error.lineno], f"{type(error).__name__}: {error.msg}"
    place = f", line {lines[-1]}" if lines else ""
    return f"{path}{place}: {reason}"


@dataclass(frozen=True, slots=True)
class ModelSummary:
    """What each model did.

    listed: how many of the events that got no answer are listed in the file of problems.
    """

    uses: tuple[ModelUse, ...] = ()
    listed: int = 0

    @property
    def problems(self) -> int:
        """How often an event got no answer from a model."""
        return sum(use.unreadable + use.failed for use in self.uses)

    def as_json(self, out: Path) -> dict[str, object]:
        """The values that --json prints."""
        models = [{**asdict(use), "ms_per_run": milliseconds_a_run(use)} for use in self.uses]
        path = out / PROBLEMS if self.problems else None
        return {"models": models, "problems": self.problems, "problems_path": path}

    def rows(self, out: Path) -> list[tuple[str, str, str]]:
        """The row for a summary of counts that says how many problems there were, if any."""
        if not self.problems:
            return []
        which = "" if self.listed >= self.problems else f"the first {self.listed:,} "
        remark = f"events that a model could not answer, {which}listed in {out / PROBLEMS}"
        return [("problems", f"{self.problems:,}", remark)]

    def show(self, console: Console) -> None:
        """Print a table, if there are models."""
        if self.uses:
            console.print()
            console.print(use_table(self.uses))


def use_table(uses: Iterable[ModelUse]) -> Table:
    """A row per model: the values it ran on, the events it was not needed for, and its time."""
    table = text_table("model", "runs", "saved", "cache", "unreadable", "failed", "ms/run", "s")
    table.collapse_padding = True
    for use in uses:
        counts = (use.runs, use.saved, use.hits, use.unreadable, use.failed)
        mean = milliseconds_a_run(use)
        times = ("" if mean is None else short(mean), short(use.milliseconds / 1000))
        table.add_row(escape(use.name), *(f"{number:,}" for number in counts), *times)
    return table


def milliseconds_a_run(use: ModelUse) -> float | None:
    """The mean duration of a run; None if the model never ran."""
    return use.milliseconds / use.runs if use.runs else None


class ProblemList:
    """Lists the events that got no answer from a model in a file below a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._written = 0

    def update(self, report: Report) -> ModelSummary:
        """Append the problems that are new in the report, and summarise it."""
        from caddis.files import write_lines

        problems = report.problems
        new = problems.slice(self._written).to_pylist()
        if new:
            write_lines(self._folder / PROBLEMS, new, append=True)
        self._written = problems.num_rows
        return ModelSummary(report.models, self._written)
