"""What every part of `spark` is built on; it knows nothing of subscriptions or models.

    session ─▶ frames: files and schemas as DataFrames ─▶ progress of a job or a stream
    folders: versions that a driver publishes and workers follow; small files that they add to
    spreading: many calls of one function, each a job;  failures: what went wrong, in one sentence

The command line, which imports no pyspark, finds Spark's own types here, too.
"""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from caddis.spark.base.failures import SPARK_ERRORS, spark_failures
from caddis.spark.base.folders import (
    KEPT_VERSIONS,
    TEXTS,
    Overtaken,
    Version,
    VersionFolder,
    Versions,
    append_lines,
    lines_of,
    new_folder,
    removed_at_exit,
    replace_json,
)
from caddis.spark.base.frames import (
    arrow_schema,
    counted,
    literally,
    outlives_us,
    plainly_named,
    read_event_stream,
    read_events,
    session_timezone,
    spark_type,
    stream_matches,
    type_in_words,
    write_matches,
)
from caddis.spark.base.progress import MicroBatch, RowCount, follow, watching_tasks
from caddis.spark.base.session import artifact_owner, is_remote, local_session, worker_versions
from caddis.spark.base.spreading import AT_ONCE, spread
