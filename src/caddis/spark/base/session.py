"""A Spark session of our own, quiet from the start.

Spark's Java process inherits the terminal and writes to it before it reads any log setting. It is
therefore given a log file in place of the terminal, and a process group of its own: Ctrl-C reaches
Caddis, which then stops the session. A session that is already running is used as it is, and is
left running.
"""

from __future__ import annotations

import logging
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

import pyarrow as pa
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from caddis.errors import EnvironmentProblem
from caddis.spark.base.failures import SPARK_ERRORS, reason

logger = logging.getLogger(__name__)

GIB = 1 << 30
MOST_OF_A_LOG = 1 << 20

_SETTINGS = {
    "spark.log.level": "ERROR",
    # A worker keeps what it has loaded: with reuse 2 loads were measured, without it 34.
    "spark.python.worker.reuse": "true",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.catalogImplementation": "in-memory",
    # As many rows as the operator matches at a time.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "32768",
    "spark.sql.files.minPartitionNum": "32",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
_ON_THIS_MACHINE = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}


@contextmanager
def local_session(
    master: str = "local[*]",
    *,
    app: str = "caddis",
    timezone: str = "UTC",
    settings: Mapping[str, str] | None = None,
    quiet: bool = True,
) -> Iterator[SparkSession]:
    """The running session, or a new one that is stopped at the end.

    master: where Spark runs, as Spark writes it; `local[*]` uses all cores of this machine.
    timezone: the one in which dates and times without a time zone are read.
    settings: Spark's settings, which override our own.
    quiet: hide what Java prints; otherwise it goes to stderr.
    """
    running = _running()
    if running is not None:
        yield running
        return
    conf = _configuration(master, app, timezone, settings or {})
    with ExitStack() as resources:
        # A file without a name: nothing is left of it, however this process ends.
        log = resources.enter_context(tempfile.TemporaryFile()) if quiet else None
        session = _started(conf, log)
        logger.info("Spark %s started on %s", session.version, master)
        resources.callback(session.stop)
        yield session
        logger.info("stopping Spark")


def driver_memory(machine_bytes: int) -> str:
    """How much memory Spark's Java process may use: a quarter of the machine's, 1 to 8 GiB.

    >>> driver_memory(16 * GIB), driver_memory(2 * GIB)
    ('4096m', '1024m')
    """
    quarter = machine_bytes // 4
    return f"{min(max(quarter, GIB), 8 * GIB) >> 20}m"


def machine_memory() -> int:
    """Bytes of memory that this machine has."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def is_remote(session: SparkSession) -> bool:
    """Whether a session is the client of a Spark Connect server."""
    return type(session).__module__.startswith("pyspark.sql.connect")


def artifact_owner(session: SparkSession) -> str:
    """The owner of a session's artifacts: the Connect session, or the application."""
    if is_remote(session):
        return str(session.session_id)  # type: ignore[attr-defined]
    return str(session.conf.get("spark.app.id"))


def worker_versions(session: SparkSession) -> dict[str, str]:
    """The versions of Python and of packages in a worker, found by a job that runs there."""
    versions = session.range(1).mapInArrow(_versions_here, "name STRING, version STRING").collect()
    return {row["name"]: row["version"] for row in versions}


def _versions_here(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import numba
    import pandas as pd

    found = {
        "executable": sys.executable,
        "python": ".".join(map(str, sys.version_info[:3])),
        "pyarrow": pa.__version__,
        "pandas": pd.__version__,
        "numba": numba.__version__,
    }
    for batch in batches:
        if batch.num_rows:
            yield pa.record_batch({"name": list(found), "version": list(found.values())})


def _running() -> SparkSession | None:
    try:
        return SparkSession.active()
    except PySparkRuntimeError:
        return None


def _configuration(master: str, app: str, timezone: str, settings: Mapping[str, str]) -> SparkConf:
    conf = SparkConf(loadDefaults=False).setMaster(master).setAppName(app)
    ours = {
        **_SETTINGS,
        **(_ON_THIS_MACHINE if master.startswith("local") else {}),
        "spark.driver.memory": driver_memory(machine_memory()),
        "spark.sql.session.timeZone": timezone,
        "spark.sql.warehouse.dir": str(Path(tempfile.gettempdir()) / "caddis-warehouse"),
    }
    for name, value in {**ours, **settings}.items():
        conf.set(name, value)
    return conf


def _started(conf: SparkConf, log: IO[bytes] | None) -> SparkSession:
    """Start Spark; its workers run this very Python, since another one may lack our packages."""
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    if "spark.driver.host" in dict(conf.getAll()):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    to = sys.__stderr__ if log is None else log
    streams = {"stdout": to, "stderr": to, "start_new_session": True}
    try:
        gateway = launch_gateway(conf, streams)  # type: ignore[no-untyped-call]
        context = SparkContext(conf=conf, gateway=gateway)
    except (*SPARK_ERRORS, OSError) as error:
        raise EnvironmentProblem(
            f"Spark did not start: {_why(error, log)}; `caddis doctor` says what is missing"
        ) from error
    return SparkSession(context)


def _why(error: Exception, log: IO[bytes] | None) -> str:
    """Spark's own reason, or Java's log if Java ended before it could give one."""
    if log is None or not isinstance(error, PySparkRuntimeError):
        return reason(error)
    written = os.pread(log.fileno(), MOST_OF_A_LOG, 0).decode(errors="replace")
    line = re.search(r"^.*(?:[Ee]rror|[Ee]xception|JAVA_HOME).*$", written, re.MULTILINE)
    return line[0].strip() if line else reason(error)
