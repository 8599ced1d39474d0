"""One Spark session for everything that needs one.

Tests that ask for the fixture `spark`, directly or through another fixture, are marked `spark`, and
so are the doctests of `caddis.spark`, which find the session with
`SparkSession.builder.getOrCreate()`. A test that starts Spark in a process of its own marks itself.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import caddis
from tests.spark import apart
from tests.spark.program import QUICK_TO_START, WHERES, Answers, answers

SPARK_ROOM = Path(caddis.__file__).parent / "spark"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        fixtures = getattr(item, "fixturenames", ())
        if "spark" in fixtures or item.path.is_relative_to(SPARK_ROOM):
            item.add_marker(pytest.mark.spark)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("PYSPARK_PYTHON", sys.executable)
        environment.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        # Spark kills its Python workers, so they would pay for coverage and save none.
        environment.delenv("COVERAGE_PROCESS_CONFIG", raising=False)
        session = start_session(tmp_path_factory.mktemp("warehouse"))
    yield session
    session.stop()


@pytest.fixture(scope="session")
def local_answers(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Answers:
    """What a local session answers to the program that clusters and servers run."""
    found = answers(spark.newSession(), tmp_path_factory.mktemp("local") / "here")
    assert {name for _, name in found["batch"]} == set(WHERES) - {"bad"}
    assert found["stream"] == found["batch"]
    assert [name for name, *_ in found["invalid"]] == ["bad"]
    return found


@pytest.fixture(scope="session")
def answers_apart(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Answers:
    """What a local session, where all is shared, answers to the program of `apart.py`."""
    found = apart.answers(spark, str(tmp_path_factory.mktemp("shared")))
    assert found["problems"] == ["RuntimeError: not today"]
    assert found["learnt"] == ["coastal", "moody"]
    as_printed: Answers = json.loads(json.dumps(found))
    return as_printed


def start_session(warehouse: Path) -> SparkSession:
    session = (
        SparkSession.builder.master("local[2]")
        .appName("caddis-tests")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.extraJavaOptions", QUICK_TO_START)
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.warehouse.dir", str(warehouse))
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    return session
