"""`caddis warm` compiles ahead, and says where compiled kernels are kept."""

import json
import tempfile
from pathlib import Path

import pytest

from caddis.compiling import chosen_folder, folders


@pytest.fixture
def nowhere(monkeypatch):
    """A machine where nothing can be written: below a file not even root can make a folder."""
    for name in ("CADDIS_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/dev/null")
    monkeypatch.setattr(tempfile, "tempdir", "/dev/null")
    monkeypatch.setattr(folders, "PACKAGE", Path("/dev/null"))
    chosen_folder.cache_clear()
    yield
    chosen_folder.cache_clear()


def test_what_is_compiled_already_is_left_alone(caddis):
    caddis("warm", "matching")
    result = caddis("warm", "matching")
    assert result.stdout.startswith("All kernels were compiled already; they are kept in /")
    again = json.loads(caddis("warm", "matching", "--json").stdout)
    assert again["kernels"] == 0
    assert any(Path(again["folder"]).rglob("matching.kernels.*.kernel"))


def test_warm_says_what_to_do_where_nothing_can_be_written(caddis, nowhere):
    result = caddis("warm", "matching")
    assert result.exit_code == 1
    assert "set CADDIS_CACHE_DIR to one that can be written to" in result.stderr


def test_the_doctor_says_that_nothing_can_be_kept(caddis, nowhere):
    result = caddis("doctor", "--no-spark", "--json")
    [kernels] = [one for one in json.loads(result.stdout)["checks"] if one["name"] == "kernels"]
    assert kernels["status"] == "warn"
    assert kernels["advice"] == "set CADDIS_CACHE_DIR to a folder that can be written to"


def test_the_doctor_says_that_the_named_folder_is_not_used(caddis, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("CADDIS_CACHE_DIR", str(tmp_path / "file" / "cache"))
    chosen_folder.cache_clear()
    result = caddis("doctor", "--no-spark", "--json")
    chosen_folder.cache_clear()
    [kernels] = [one for one in json.loads(result.stdout)["checks"] if one["name"] == "kernels"]
    assert kernels["status"] == "warn"
    assert str(tmp_path / "file" / "cache") in kernels["found"]
