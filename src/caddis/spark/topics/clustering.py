"""`topics_to_channels`: which topics are disseminated together, found on Spark.

This is for those who have everybody's interests in one place. The cost is the one that nodes vote
by, and topics move as the same `Schedule` says (`caddis.topics.clustering`), but a vote is a sum
over partitions. It uses no jar, no SparkContext and no JVM object, so the call is the same through
Spark Connect.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from caddis.errors import TopicError
from caddis.spark.base import spark_failures
from caddis.spark.topics.packing import packed, warm_up
from caddis.spark.topics.reports import ClusteringReport, Progress, silent
from caddis.spark.topics.tables import PreviousMap, find_topics, read_previous
from caddis.spark.topics.waves import Clusterer
from caddis.topics.channels import is_whole
from caddis.topics.clustering import Settings


def _check_whole(name: str, value: int, least: int) -> None:
    if not is_whole(value) or value < least:
        raise TopicError(f"{name}={value!r}: it must be a whole number, {least} or more")


@dataclass(frozen=True, slots=True)
class Effort:
    """How long to look for better channels; `topics_to_channels` explains each field."""

    sample: int = 2_000_000
    tries: int = 10
    improvement: float = 0.001
    waves: int = 100
    share: float = 0.2
    partitions: int | None = None

    def __post_init__(self) -> None:
        self.settings()
        for name, least in (("sample", 1), ("tries", 0), ("waves", 1), ("partitions", 1)):
            value = getattr(self, name)
            if value is not None:
                _check_whole(name, value, least)

    def settings(self) -> Settings:
        """How boldly topics move."""
        return Settings(share=self.share, improvement=self.improvement)


DEFAULT = Effort()


def topics_to_channels(
    interests: DataFrame,
    rates: DataFrame | None = None,
    channels: int = 20,
    *,
    previous: DataFrame | None = None,
    seed: int = 0,
    sample: int = DEFAULT.sample,
    tries: int = DEFAULT.tries,
    improvement: float = DEFAULT.improvement,
    waves: int = DEFAULT.waves,
    share: float = DEFAULT.share,
    partitions: int | None = None,
    report: ClusteringReport | None = None,
    progress: Progress = silent,
) -> DataFrame:
    """Put topics into channels so that subscribers receive little that they do not want.

    A subscriber receives all topics of every channel that holds a topic it wants, and the cost is
    the summed rate of those that it does not want. The result has the columns `topic` and
    `channel`, from 0 to channels - 1, and each topic of interests and rates once. It depends on the
    seed and the data, and not on how these are partitioned.

    interests: columns `subscriber` and `topic`, strings or whole numbers; pairs that come twice
        count once.
    rates: columns `topic` and `rate`; a rate for each topic that somebody wants. Topics with a rate
        that nobody wants go to the channel that fewest receive. By default all rates are 1.
    channels: how many channels there may be. If there are no more topics than that, each has a
        channel to itself: the one that it had before, unless another topic keeps that.
    previous: an earlier result, columns `topic` and `channel`, to begin with. Topics move only
        where that saves cost, and none moves if all moves together would save a smaller share than
        `improvement`. New topics go where they cost least, vanished ones are dropped, and where
        channels are free, costly ones are split.
    seed: the result depends on it and on the data alone.
    sample: about how many interests are clustered in this process's memory for a first map: some
        tens of bytes each, and 2 bytes for each channel of each subscriber among them.
    tries: after K-Means on the sample, channels are merged and split until that has failed this
        many times in a row. With 0 there is K-Means alone.
    improvement: the waves end when all topics had a turn to vote and the cost fell by a smaller
        share than this; with 0, when no topic wants to move.
    waves: the most waves that are held.
    share: the share of the topics that vote in one wave.
    partitions: into how many partitions interests are packed; by default one for every 2 million.
    report: filled with costs, waves and seconds.
    progress: called after each wave.
    """
    check_channels(channels)
    check_seed(seed)
    effort = Effort(sample, tries, improvement, waves, share, partitions)
    report = ClusteringReport() if report is None else report
    report.clear()
    with report.phase("read"):
        before = map_before(previous, interests)
    with clusterer_of(interests, rates, effort, seed=seed, report=report) as clusterer:
        table = clusterer.table(clusterer.cluster(channels, before, report, progress))
    kind = interests.schema["topic"].dataType
    topic = F.col("topic").cast(kind).alias("topic")
    return interests.sparkSession.createDataFrame(table).select(topic, "channel")


def map_before(previous: DataFrame | None, interests: DataFrame) -> PreviousMap | None:
    """Read and check the previous map; None if there is none."""
    if previous is None:
        return None
    with spark_failures():
        return read_previous(previous, interests)


@contextmanager
def clusterer_of(
    interests: DataFrame,
    rates: DataFrame | None,
    effort: Effort,
    *,
    seed: int,
    report: ClusteringReport,
) -> Iterator[Clusterer]:
    """Check and pack the tables; what the workers keep is released at the end of the block."""
    with report.phase("read"), spark_failures():
        topics = find_topics(interests, rates)
    warm_up()
    held = packed(
        interests,
        topics,
        sample=effort.sample,
        seed=seed,
        partitions=effort.partitions,
        report=report,
    )
    with held as rows:
        yield Clusterer(rows, effort.settings(), effort.tries, effort.waves, seed)


def check_channels(channels: int) -> None:
    """Raise unless this is a number of channels."""
    _check_whole("channels", channels, 1)


def check_seed(seed: int) -> None:
    """Raise unless this can be a seed."""
    _check_whole("seed", seed, 0)
