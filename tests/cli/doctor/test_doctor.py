"""`caddis doctor` tells what is missing, and what to do about it."""

import json
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import pytest

from caddis.cli.doctor.command import PACKAGES, _worker
from caddis.cli.shell.machine import find_java, require_java
from caddis.errors import EnvironmentProblem


def a_java(home: Path, version: str) -> None:
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2020-01-01' >&2\n")
    java.chmod(0o755)


def test_a_sound_machine_is_ok(caddis):
    result = caddis("doctor", "--no-spark", "--json")
    found = json.loads(result.stdout)
    assert result.exit_code == 0
    assert found["ok"]
    assert {"Python", "Java", "memory", "temporary", "pyspark", "kernels"} <= {
        one["name"] for one in found["checks"]
    }


def test_a_missing_java_fails_with_what_to_install(caddis, tmp_path, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    result = caddis("doctor")
    assert result.exit_code == 1
    assert f"fail Java         none at JAVA_HOME ({tmp_path})\n" in result.stdout
    assert "install Java 17 or newer" in result.stdout
    assert "Spark" not in result.stdout.replace("pyspark", "")


@pytest.mark.parametrize(
    ("version", "major"), [("1.8.0_402", 8), ("11.0.2", 11), ("17", 17), ("21.0.1-ea", 21)]
)
def test_java_s_version_is_read_in_all_its_spellings(tmp_path, monkeypatch, version, major):
    a_java(tmp_path, version)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    java = find_java()
    assert java is not None
    assert java.major == major


def test_an_old_java_is_refused_before_spark_is_started(caddis, market, monkeypatch):
    a_java(market / "java", "11.0.2")
    monkeypatch.setenv("JAVA_HOME", str(market / "java"))
    result = caddis(
        *("match", "--events", "offers.jsonl", "--subscriptions", "subscriptions.jsonl"),
        *("--out", "out"),
    )
    assert result.exit_code == 1
    assert "needs Java 17 or newer" in result.stderr
    assert "holds Java 11.0.2" in result.stderr


def test_a_path_without_java_is_refused(tmp_path, monkeypatch):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EnvironmentProblem, match="this machine has none: install Java 17"):
        require_java()


def test_a_package_of_a_wrong_version_fails_with_the_right_one(caddis, monkeypatch):
    monkeypatch.setitem(PACKAGES, "rich", ((1,), (2,)))
    monkeypatch.setitem(PACKAGES, "no-such-package", ((1,), None))
    result = caddis("doctor", "--no-spark")
    assert result.exit_code == 1
    assert "wanted rich>=1,<2" in result.stdout
    assert "-m pip install 'no-such-package>=1'" in result.stdout
    assert "2 of these must be fixed" in result.stdout


def test_a_spark_of_another_kind_is_pointed_out(caddis, monkeypatch):
    monkeypatch.setenv("SPARK_HOME", "/opt/spark")
    result = caddis("doctor", "--no-spark")
    assert result.exit_code == 0
    assert "warn SPARK_HOME   /opt/spark\n" in result.stdout
    assert "1 of these could be better" in result.stdout


def test_a_temporary_folder_that_cannot_be_written_fails(caddis, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", "/no/such/folder")
    found = json.loads(caddis("doctor", "--no-spark", "--json").stdout)
    assert not found["ok"]


def test_a_machine_with_little_room_is_warned_about(caddis, monkeypatch):
    monkeypatch.setattr("caddis.cli.doctor.command._available", lambda: 1 << 30)
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=1 << 20))
    result = caddis("doctor", "--no-spark")
    assert result.exit_code == 0
    assert "close other programs" in result.stdout
    assert "point TMPDIR at a folder with room" in result.stdout


def test_workers_with_other_packages_are_warned_about():
    here = {name: metadata.version(name) for name in ("pyarrow", "pandas", "numba")}
    worker = {**here, "python": "3.99.0", "executable": "/usr/bin/python3"}
    check = _worker(worker, "1.0 s")
    assert check.status == "warn"
    assert check.found.endswith("but with python 3.99.0")
