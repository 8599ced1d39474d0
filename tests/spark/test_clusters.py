"""The same call on a cluster: a standalone master, and executors in processes of their own.

It runs the program of `program.py`, with a folder that all see, and that of `apart.py`, with none;
both must answer what a local session answers. The executors live in a home of their own, and their
Python refuses to open anything below the folder that only the driver is meant to see.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyspark
import pytest

from caddis.spark.places import Objects
from tests.spark.program import (
    Answers,
    background,
    environment,
    free_port,
    run_module,
    run_program,
    wait_until,
)
from tests.spark.s3 import CREDENTIALS, everything_in, new_bucket, running_s3

SPARK_CLASS = str(Path(pyspark.__file__).parent / "bin" / "spark-class")


@dataclass(frozen=True, slots=True)
class Cluster:
    """The address of a master, and two folders.

    work: where its worker keeps a folder for each executor.
    unseen: what no executor may open.
    """

    address: str
    work: Path
    unseen: Path


BLINKERS = """
import os, sys

def refuse(event, arguments):
    if event == "open" and str(arguments[0]).startswith(os.environ["UNSEEN"]):
        raise PermissionError(f"{arguments[0]} is the driver's own")

if "UNSEEN" in os.environ:
    sys.addaudithook(refuse)
"""


@pytest.fixture(scope="module")
def standalone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A master with one worker, which has room for two executors of one core."""
    folder, port = tmp_path_factory.mktemp("standalone"), free_port()
    cluster = Cluster(f"spark://127.0.0.1:{port}", folder / "work", folder / "unseen")
    home, blinkers = folder / "home", folder / "blinkers"
    for one in (home, blinkers, cluster.unseen):
        one.mkdir()
    (blinkers / "sitecustomize.py").write_text(BLINKERS)
    elsewhere = {
        "HOME": str(home),
        "TMPDIR": str(home),
        "UNSEEN": str(cluster.unseen),
        **CREDENTIALS,
        "PYTHONPATH": os.pathsep.join([str(blinkers), environment()["PYTHONPATH"]]),
    }
    here = ["--host", "127.0.0.1", "--webui-port", "0"]
    master = [SPARK_CLASS, "org.apache.spark.deploy.master.Master", *here, "--port", str(port)]
    worker = [SPARK_CLASS, "org.apache.spark.deploy.worker.Worker", *here, "--cores", "2"]
    worker += ["--memory", "2g", "--work-dir", str(cluster.work), cluster.address]
    logs = folder / "master.log", folder / "worker.log"
    with background(master, logs[0]):
        wait_until(lambda: "I have been elected leader" in logs[0].read_text(), logs[0])
        with background(worker, logs[1], **elsewhere):
            wait_until(lambda: "registered with master" in logs[1].read_text(), logs[1])
            yield cluster


def test_two_executors_of_a_standalone_cluster_answer_the_same(
    local_answers: Answers, standalone: Cluster, tmp_path: Path
):
    assert run_program("--master", standalone.address, tmp_path / "there") == local_answers
    assert not list((tmp_path / "there" / "index").iterdir()), "its process left folders behind"
    executors = [folder.name for folder in standalone.work.glob("app-*/*")]
    assert sorted(executors) == ["0", "1"], "it was not shared by two processes"


def test_a_cluster_that_shares_nothing_answers_and_reports_the_same(
    answers_apart: Answers, standalone: Cluster
):
    address, unseen = standalone.address, str(standalone.unseen)
    found = run_module("tests.spark.apart", "--master", address, TMPDIR=unseen)
    assert found == {**answers_apart, "followed": None}
    assert not list(standalone.unseen.glob("caddis-*")), "its process left folders behind"


def test_a_cluster_answers_the_same_with_an_object_store(
    answers_apart: Answers,
    standalone: Cluster,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    arguments = "tests.spark.apart", "--master", standalone.address
    with running_s3() as server:
        bucket = new_bucket(server, "caddis")
        assert run_module(*arguments, bucket, CADDIS_INDEX_CACHE=str(tmp_path)) == answers_apart
        assert list(Objects(bucket).names("store/versions")) == ["00000001.json", "00000002.json"]
        left = [name for name in everything_in(bucket) if name.split("/")[1].startswith("caddis-")]
        assert left == [], "its process left archives behind"
    cached = list((standalone.work.parent / "home").glob("caddis-index-*"))
    assert len(cached) == 1, "executors of one machine share what they download"
