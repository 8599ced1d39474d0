"""TODO."""

from caddis.spark.base.failures import spark_failures
from caddis.spark.base.files import (
    DataFrame,
    FileFormat,
    SparkSession,
    counted,
    literally,
    read_event_stream,
    read_events,
    stream_matches,
    write_matches,
)
from caddis.spark.base.folders import Version, VersionFolder
from caddis.spark.base.progress import MicroBatch, RowCount, StreamingQuery, follow, watching_tasks
from caddis.spark.base.schemas import arrow_schema, plainly_named, session_timezone, spark_type
from caddis.spark.base.session import local_session, worker_versions
from caddis.spark.base.shared_files import append_lines, lines_of, locked, new_folder, replace_json
from caddis.spark.base.spreading import AT_ONCE, spread

__all__ = [
    "AT_ONCE",
    "DataFrame",
    "FileFormat",
    "MicroBatch",
    "RowCount",
    "SparkSession",
    "StreamingQuery",
    "Version",
    "VersionFolder",
    "append_lines",
    "arrow_schema",
    "counted",
    "follow",
    "lines_of",
    "literally",
    "local_session",
    "locked",
    "new_folder",
    "plainly_named",
    "read_event_stream",
    "read_events",
    "replace_json",
    "session_timezone",
    "spark_failures",
    "spark_type",
    "spread",
    "stream_matches",
    "watching_tasks",
    "worker_versions",
    "write_matches",
]
