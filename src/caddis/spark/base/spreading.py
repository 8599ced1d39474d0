"""Many independent calls of one function, spread over Spark's workers.

Every call is a job of one partition, and many jobs wait in Spark's queue. So no worker is idle, and
each result arrives when its call is done, whereas a single job would return all of them at its end.
A job's overhead is some tens of milliseconds, so a call should take a second or more. An error in
one call ends all of them; Spark replaces a worker that dies.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from typing import TypeVar
from uuid import uuid4

import pyarrow as pa
from pyspark.sql import SparkSession

from caddis.spark.base.failures import spark_failures

T = TypeVar("T")
R = TypeVar("R")

AT_ONCE = 64
"""Jobs that wait or run at a time: this many cores are kept busy."""


def spread(
    spark: SparkSession, function: Callable[[T], R], tasks: Iterable[T], *, at_once: int = AT_ONCE
) -> Generator[tuple[T, R], None, None]:
    """Yield each task with its result, in the order in which the tasks finish.

    function: called with one task; it is pickled, by name if it belongs to a module, and so are
        tasks and results.
    at_once: how many jobs wait or run at a time.

    >>> from pyspark.sql import SparkSession
    >>> spark = SparkSession.builder.getOrCreate()
    >>> sorted(spread(spark, len, ["ox", "hen", "wasp"]))
    [('hen', 3), ('ox', 2), ('wasp', 4)]
    """
    coming, tag = iter(tasks), f"caddis-spread-{uuid4().hex}"
    threads = ThreadPoolExecutor(at_once, thread_name_prefix="caddis-spread")
    running: dict[Future[R], T] = {}
    try:
        while True:
            for task in islice(coming, at_once - len(running)):
                running[threads.submit(_run, spark, tag, function, task)] = task
            if not running:
                return
            ended, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in ended:
                yield running.pop(future), future.result()
    finally:
        threads.shutdown(wait=False, cancel_futures=True)
        if running:
            spark.interruptTag(tag)


def _run(spark: SparkSession, tag: str, function: Callable[[T], R], task: T) -> R:
    """Run one job, from start to end, or until its tag is interrupted."""
    spark.addTag(tag)

    def call(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        if sum(batch.num_rows for batch in batches):
            result = pickle.dumps(function(task))
            yield pa.record_batch({"result": pa.array([result], pa.binary())})

    with spark_failures():
        [row] = spark.range(0, 1, 1, 1).mapInArrow(call, "result BINARY").collect()
    result: R = pickle.loads(row["result"])
    return result
