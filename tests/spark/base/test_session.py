"""Spark that cannot start says why, in one sentence."""

import pytest

from caddis.errors import EnvironmentProblem
from caddis.spark.base import session
from caddis.spark.base.session import local_session


@pytest.fixture
def no_session_yet(monkeypatch):
    """Pretend that this process has not started Spark, whatever other tests have done."""
    monkeypatch.setattr(session, "_running", lambda: None)


def a_spark(folder, line):
    script = folder / "bin" / "spark-submit"
    script.parent.mkdir()
    script.write_text(f"#!/bin/sh\necho 'WARNING: Using incubator modules' >&2\n{line}\nexit 1\n")
    script.chmod(0o755)


# PySpark leaves its pipe to a Java that has ended open.
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("echo 'JAVA_HOME is not set' >&2", "JAVA_HOME is not set"),
        ("echo 'Error: could not create the Java Virtual Machine.'", "could not create the Java"),
        ("", "Java gateway process exited"),
    ],
)
def test_java_s_last_words_are_told(no_session_yet, tmp_path, monkeypatch, capfd, line, why):
    a_spark(tmp_path, line)
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    expected = f"Spark did not start: .*{why}.*caddis doctor"
    with pytest.raises(EnvironmentProblem, match=expected), local_session():
        pass
    assert capfd.readouterr() == ("", "")


def test_a_spark_home_without_spark_is_told(no_session_yet, tmp_path, monkeypatch):
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    with pytest.raises(EnvironmentProblem, match="spark-submit"), local_session():
        pass
