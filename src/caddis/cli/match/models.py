"""The models that `--models` names: one that is built in, those of a Python file, or of a module.

A file is run, but does not stay among the imported modules: so what it defines travels to Spark's
workers by value, and no worker has to find the file. What lies in a module travels by name.
"""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from collections.abc import Sequence
from difflib import get_close_matches
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from caddis.errors import CaddisError, ModelError, SubscriptionError

if TYPE_CHECKING:
    from caddis.models import Model

BUILT_IN = {f"efficientnet-lite{which}": which for which in range(3)}
NONE_GIVEN = "no models are given"
"""How the error of a subscription that calls a concept ends if there are none."""


def load_models(specs: Sequence[str]) -> list[Model]:
    """The models that the specs name, in order, each once."""
    found = [model for spec in specs for model in _models_of(spec)]
    return list({id(model): model for model in found}.values())


def naming_the_option(problem: str) -> str:
    """What is wrong with a subscription; if models are missing, with the option that gives them."""
    return problem.replace(NONE_GIVEN, f"{NONE_GIVEN}; name some with --models")


def naming_the_option_in(errors: Sequence[SubscriptionError]) -> list[SubscriptionError]:
    """The same of each error."""
    return [
        SubscriptionError(naming_the_option(one.problem), one.where, one.span, one.subscription_id)
        for one in errors
    ]


def _models_of(spec: str) -> list[Model]:
    if spec in BUILT_IN:
        from caddis.models import efficientnet_lite

        return [efficientnet_lite(BUILT_IN[spec])]
    if spec.endswith(".py") or os.sep in spec:
        return _held_by(_run_file(Path(spec)), spec)
    return _held_by(_imported(spec), f"the module {spec!r}")


def _held_by(module: ModuleType, called: str) -> list[Model]:
    from caddis.models import Model

    models = [value for value in vars(module).values() if isinstance(value, Model)]
    if not models:
        raise ModelError(
            f"{called} holds no models; make one of a function with @caddis.concept(...), or "
            "with what caddis.models has, and give it a name"
        )
    return models


def _run_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise ModelError(f"{path}: there is no such file")
    name = f"models of {path}"
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ModelError(f"{path} is no Python file; its name should end in .py")
    module = sys.modules[name] = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise ModelError(_told(error, path)) from error
    finally:
        # Dataclasses look their module up while it runs; afterwards nobody must find it.
        del sys.modules[name]
    return module


def _imported(name: str) -> ModuleType:
    spec = _spec_of(name)
    if spec is None:
        raise ModelError(_no_such(name))
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:
        raise ModelError(_told(error, Path(spec.origin or name))) from error


def _spec_of(name: str) -> ModuleSpec | None:
    try:
        return find_spec(name)
    except (ImportError, ValueError):
        return None


def _no_such(name: str) -> str:
    known = [*BUILT_IN, *(path.name for path in Path().glob("*.py"))]
    near = get_close_matches(name, known, n=1) or get_close_matches(f"{name}.py", known, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"built in are {', '.join(BUILT_IN)}"
    return f"--models {name}: no model is called so, and no Python file or module; {hint}"


def _told(error: BaseException, path: Path) -> str:
    """The file, the line of it that was run last, and what went wrong there."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if Path(frame.filename) == path.absolute()]
    said = str(error) if isinstance(error, CaddisError) else f"{type(error).__name__}: {error}"
    if isinstance(error, SyntaxError) and error.filename == str(path.absolute()):
        lines, said = [error.lineno], f"{type(error).__name__}: {error.msg}"
    place = f", line {lines[-1]}" if lines else ""
    return f"{path}{place}: {said}"
