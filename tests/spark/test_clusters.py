"""The same call on clusters: executors in processes of their own, and a standalone master.

Each runs the program of `elsewhere` and must answer what a local session answers.
"""

from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

from tests.spark.elsewhere import (
    WHERES,
    Answers,
    answers,
    background,
    free_port,
    run_elsewhere,
    wait_until,
)

SPARK_CLASS = str(Path(pyspark.__file__).parent / "bin" / "spark-class")


@pytest.fixture(scope="module")
def local_answers(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Answers:
    found = answers(spark.newSession(), tmp_path_factory.mktemp("local") / "here")
    assert {name for _, name in found["batch"]} == set(WHERES) - {"bad"}
    assert found["stream"] == found["batch"]
    assert [name for name, _ in found["invalid"]] == ["bad"]
    return found


@pytest.fixture(scope="module")
def standalone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a master with one worker of two cores."""
    folder, port = tmp_path_factory.mktemp("standalone"), free_port()
    here = ["--host", "127.0.0.1", "--webui-port", "0"]
    master = [SPARK_CLASS, "org.apache.spark.deploy.master.Master", *here, "--port", str(port)]
    worker = [SPARK_CLASS, "org.apache.spark.deploy.worker.Worker", *here, "--cores", "2"]
    worker += ["--memory", "1g", "--work-dir", str(folder / "work"), f"spark://127.0.0.1:{port}"]
    logs = folder / "master.log", folder / "worker.log"
    with background(master, logs[0]):
        wait_until(lambda: "I have been elected leader" in logs[0].read_text(), logs[0])
        with background(worker, logs[1]):
            wait_until(lambda: "registered with master" in logs[1].read_text(), logs[1])
            yield f"spark://127.0.0.1:{port}"


def test_executors_in_processes_of_their_own_answer_the_same(
    local_answers: Answers, tmp_path: Path
):
    found = run_elsewhere("--master", "local-cluster[2,1,1024]", tmp_path / "there")
    assert found == local_answers


def test_a_standalone_cluster_answers_the_same(
    local_answers: Answers, standalone: str, tmp_path: Path
):
    assert run_elsewhere("--master", standalone, tmp_path / "there") == local_answers
