"""The verbs of `caddis keys` in an empty folder, or in one where homes are published and read."""

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.cli.commands import SCHEMA, begin_homes, done


@pytest.fixture
def keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Calls `caddis keys` in an empty folder, and fails if that fails."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CADDIS_AUTHORITY", raising=False)
    return partial(done, "keys")


@pytest.fixture(scope="session")
def homes_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("homes")
    begin_homes(folder, SCHEMA)
    return folder


@pytest.fixture
def homes(keys: Callable[..., str], homes_files: Path, tmp_path: Path) -> Callable[..., str]:
    """The same as `keys`, where pat publishes what ann and bo read."""
    shutil.copytree(homes_files, tmp_path, dirs_exist_ok=True)
    return keys
