"""What Spark reports in pages becomes one sentence, of the right kind."""

import pytest
from py4j.protocol import Py4JNetworkError  # type: ignore[import-untyped]
from pyspark.errors import PySparkRuntimeError

from caddis.errors import CaddisError, EnvironmentProblem, EventError, IndexFolderError
from caddis.spark.base.failures import as_caddis_error, reason, spark_failures

WITHOUT_CADDIS = (
    "Spark's workers run a Python without 'caddis': install Caddis for the Python that "
    "PYSPARK_PYTHON names"
)
FROM_A_WORKER = """[STREAM_FAILED] Query [id = 1] terminated with exception: Job aborted.
=== Streaming Query ===
org.apache.spark.api.python.PythonException: [PYTHON_EXCEPTION] An exception was thrown from the \
Python worker: Traceback (most recent call last):
  File "/x/caddis/pipeline/worker.py", line 78, in see
    raise EventError("...")
caddis.errors.{}
 SQLSTATE: 38000
\tat org.apache.spark.api.python.BasePythonRunner.handle(PythonRunner.scala:1097)
Caused by: java.lang.IllegalStateException: not this
"""
UNREADABLE = """An error occurred while calling o155.load.
: org.apache.spark.SparkException: [FAILED_READ_FILE.{}] Encountered error while reading file \
file:///data/my%20offers/a.parquet. {} SQLSTATE: KD001
\tat org.apache.spark.Anything.run(Anything.scala:1)
Caused by: java.lang.RuntimeException: {}
"""


@pytest.mark.parametrize(
    ("raised", "kind", "message"),
    [
        ("EventError: 1 events have a null 'id'", EventError, "1 events have a null 'id'"),
        ("IndexFolderError: /s: damaged", IndexFolderError, "/s: damaged"),
        ("SubscriptionError: odd", CaddisError, "odd"),
    ],
)
def test_our_own_error_comes_back_from_a_worker_as_it_was(raised, kind, message):
    error = as_caddis_error(PySparkRuntimeError(FROM_A_WORKER.format(raised)))
    assert isinstance(error, kind)
    assert str(error) == message


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        (
            UNREADABLE.format("NO_HINT", "", "the disk of the offers is wet"),
            EventError,
            "/data/my offers/a.parquet: cannot be read: the disk of the offers is wet",
        ),
        (
            UNREADABLE.format("NO_HINT", "", "No space left on device"),
            EnvironmentProblem,
            "the disk is full",
        ),
        (
            UNREADABLE.format(
                "PARQUET_COLUMN_DATA_TYPE_MISMATCH",
                "Data type mismatches when reading Parquet column [price]. Expected Spark type "
                "string, actual Parquet type INT64.",
                "x",
            ),
            EventError,
            "/data/my offers/a.parquet: column 'price' is INT64, and not string",
        ),
        (
            "[UNABLE_TO_INFER_SCHEMA] Unable to infer schema for CSV. SQLSTATE: 42KD9",
            EventError,
            "the files do not show the events' columns; give a schema",
        ),
        (
            "ModuleNotFoundError: No module named 'caddis'",
            EnvironmentProblem,
            WITHOUT_CADDIS,
        ),
        (
            "Job aborted: java.lang.OutOfMemoryError: Java heap space",
            EnvironmentProblem,
            "Spark ran out of memory",
        ),
        (
            "[A_NEW_ONE.SUB] Something\n  else. SQLSTATE: 00000\n\tat org.x.Y(Z.scala:1)",
            CaddisError,
            "Spark failed: Something",
        ),
        (
            "An error occurred.\n: java.lang.IllegalArgumentException: odd\n\tat x.Y(Z.java:1)",
            CaddisError,
            "Spark failed: IllegalArgumentException: odd",
        ),
        ("only this\nand more", CaddisError, "Spark failed: only this"),
    ],
)
def test_a_failure_of_spark_is_one_sentence(text, kind, message):
    error = as_caddis_error(PySparkRuntimeError(text))
    assert isinstance(error, kind)
    assert str(error) == message


def test_a_java_process_that_has_gone_is_an_environment_problem():
    for error in (Py4JNetworkError("Answer from Java side is empty"), ConnectionRefusedError(111)):
        ended = pytest.raises(EnvironmentProblem, match="Java process has ended")
        with ended as raised, spark_failures():
            raise error
        assert raised.value.__cause__ is error


def test_our_own_errors_pass_unchanged():
    with pytest.raises(EventError, match="mine"), spark_failures():
        raise EventError("mine")


def test_a_failure_without_words_is_named():
    assert reason(ValueError()) == "ValueError"
