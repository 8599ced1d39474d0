"""Files of pat, who publishes homes, and ann, who reads them; and the verbs as they call them."""

import shutil
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path

import pytest
from typer.testing import Result

from tests.cli.commands import begin_homes, call, done
from tests.cli.sealed.homes import OFFERS, SCHEMA, SEAL, SUBSCRIPTIONS


@pytest.fixture(scope="session")
def handed_out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an authority, everybody's keys, plain offers and subscriptions."""
    folder = tmp_path_factory.mktemp("keys")
    begin_homes(folder, SCHEMA)
    with chdir(folder):
        done("keys", "issue")
        done("keys", "directory")
        Path("offers.jsonl").write_text(OFFERS)
        Path("subscriptions.csv").write_text(SUBSCRIPTIONS)
    return folder


@pytest.fixture(scope="session")
def sealed_once(handed_out: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of sealed offers."""
    out = tmp_path_factory.mktemp("sealed") / "sealed.parquet"
    with chdir(handed_out):
        done("sealed", *SEAL, "--out", out)
    return out


@pytest.fixture
def homes(handed_out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: a copy of what was handed out."""
    here = tmp_path / "homes"
    shutil.copytree(handed_out, here)
    monkeypatch.chdir(here)
    return here


@pytest.fixture
def sealed(homes: Path, sealed_once: Path) -> Path:
    """The file of sealed offers in the current folder."""
    return Path(shutil.copy(sealed_once, homes))


@pytest.fixture
def seal(homes: Path) -> Callable[..., Result]:
    """Seals offers.jsonl, as pat."""

    def seal(*more: str, out: str = "sealed.parquet") -> Result:
        return call("sealed", *SEAL, "--out", out, *more)

    return seal


@pytest.fixture
def subscribe(homes: Path) -> Callable[..., Result]:
    """Seals subscriptions.csv, as ann."""

    def subscribe(*more: str, out: str = "ann.parquet") -> Result:
        plain = ("subscriptions.csv", "--as", "ann")
        return call("sealed", "subscriptions", *plain, "--out", out, *more)

    return subscribe


@pytest.fixture
def open_(homes: Path) -> Callable[..., Result]:
    """Opens sealed events, as ann."""

    def open_(*more: str, events: str = "sealed.parquet", out: str = "mine.parquet") -> Result:
        mine = ("--subscriptions", "subscriptions.csv", "--as", "ann", "--out", out)
        return call("sealed", "open", events, *mine, *more)

    return open_
