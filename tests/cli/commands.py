"""The `caddis` command as a user calls it, and an authority that hands out keys for homes."""

import contextlib
import functools
from pathlib import Path

import typer.testing
from typer.main import get_command
from typer.testing import CliRunner, Result

from caddis.cli.app import app

# Typer's runner makes the command anew for every call, which takes longer than most verbs do.
vars(typer.testing)["_get_command"] = functools.cache(get_command)

PARTIES = ("pat", "ann", "bo")
SCHEMA = "city STRING, price INT"


def call(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def done(*arguments: object) -> str:
    """What a command that must not fail prints."""
    result = call(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def assert_explained(*verb: str) -> None:
    """The help of a verb knows --json, and ends with examples of that verb alone."""
    explained, examples = done(*verb, "--help").split("Examples")
    assert "--json" in explained
    lines = [line.strip() for line in examples.split("\n") if line.strip()]
    assert all(line.startswith(f"caddis {' '.join(verb)}") for line in lines)


def begin_homes(folder: Path, schema: str) -> None:
    """An authority of the stream homes, which pat may publish and ann and bo may read."""
    with contextlib.chdir(folder):
        done("keys", "init")
        for name in PARTIES:
            done("keys", "identity", name)
        done("keys", "register", *(f"{name}.public.json" for name in PARTIES))
        done("keys", "stream", "homes", "--schema", schema)
        done("keys", "grant", "pat", "homes", "--role", "publisher")
        for name in ("ann", "bo"):
            done("keys", "grant", name, "homes", "--role", "subscriber")
