"""The same call through Spark Connect: a client without a JVM, and a server of its own.

The client runs the program of `program.py` in a process of its own, for this one has a classic
session, and PySpark knows only one kind at a time.
"""

import socket
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest

from tests.spark.program import Answers, background, free_port, run_module, run_program, wait_until

pytest.importorskip("grpc", reason="Spark Connect's client needs the extra caddis[connect]")

SPARK_SUBMIT = str(Path(pyspark.__file__).parent / "bin" / "spark-submit")
SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"


def listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a Connect server on two cores."""
    folder, port = tmp_path_factory.mktemp("connect"), free_port()
    settings = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.ui.enabled": "false",
    }
    options = [word for item in settings.items() for word in ("--conf", "=".join(item))]
    command = [SPARK_SUBMIT, "--master", "local[2]", "--class", SERVER, *options, "spark-internal"]
    with background(command, folder / "server.log"):
        wait_until(lambda: listens(port), folder / "server.log")
        yield f"sc://127.0.0.1:{port}"


def test_a_connect_server_answers_the_same(local_answers: Answers, server: str, tmp_path: Path):
    assert run_program("--remote", server, tmp_path / "there") == local_answers
    assert not list((tmp_path / "there" / "index").iterdir()), "its process left folders behind"


def test_a_client_that_shares_nothing_with_its_server_is_answered_the_same(
    answers_apart: Answers, server: str
):
    found = run_module("tests.spark.apart", "--remote", server)
    assert found == {**answers_apart, "followed": None}
