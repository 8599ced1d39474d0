"""Keeps Spark's classes as Java has loaded them once, for all Java processes of the tests.

    python -m tests.spark.shared_classes

The tests start some fifteen of them, and each would read, verify and link the same thousands of
classes. Java's class data sharing maps them from a file, which saves a third of the time of a
session that runs a query or two. Java itself looks whether the file is for the same Java and the
same jars, and does without if not.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark import SparkContext
from pyspark.sql import SparkSession

from tests.spark.elsewhere import CLASSES, QUICK_TO_START, ROOT, events_of


def is_fresh() -> bool:
    """Whether no package was installed since."""
    installed = ROOT / ".venv" / "installed-from"
    return CLASSES.exists() and (
        not installed.exists() or installed.stat().st_mtime < CLASSES.stat().st_mtime
    )


def keep_classes() -> None:
    """Java writes the file when it ends."""
    CLASSES.unlink(missing_ok=True)
    CLASSES.parent.mkdir(exist_ok=True)
    with TemporaryDirectory(dir=CLASSES.parent) as folder:
        written = Path(folder) / CLASSES.name
        options = f"{QUICK_TO_START} -XX:ArchiveClassesAtExit={written}"
        session = (
            SparkSession.builder.master("local[2]")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.extraJavaOptions", options)
            .config("spark.sql.shuffle.partitions", "2")
            .config("spark.log.level", "ERROR")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .getOrCreate()
        )
        use(session, Path(folder))
        gateway = SparkContext._gateway
        assert gateway is not None
        java = gateway.proc
        session.stop()
        java.stdin.close()
        java.wait()
        if written.exists():
            written.rename(CLASSES)


def use(spark: SparkSession, folder: Path) -> None:
    """A little of what the tests use: files, a shuffle, Python workers, a stream."""
    events_of(spark).write.parquet(str(folder / "events"))
    events = spark.read.parquet(str(folder / "events"))
    events.groupBy("city").count().mapInArrow(
        lambda batches: batches, "city STRING, count BIGINT"
    ).count()
    stream = spark.readStream.schema(events.schema).parquet(str(folder / "events"))
    query = (
        stream.writeStream.format("parquet")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(folder / "copies"))
    )
    query.awaitTermination()


if __name__ == "__main__":
    if not is_fresh():
        keep_classes()
