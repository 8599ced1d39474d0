"""Topics into channels on Spark, held against the algebra in memory."""

import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from typer.testing import CliRunner, Result

import caddis
from caddis.cli.app import app
from caddis.errors import TopicError
from caddis.lab.workloads.interests import planted
from caddis.spark.topics.clustering import Effort, clusterer_of
from caddis.spark.topics.packing import PackedInterests
from caddis.spark.topics.reports import ClusteringReport, WaveReport
from caddis.spark.topics.tables import RATES as RATES_IN_FILES
from caddis.spark.topics.tables import like_interests
from caddis.topics.channels.map import ChannelMap
from caddis.topics.clustering.interests import Interests, count, outcomes, total_cost, vote_costs

SUBSCRIBERS, TOPICS, K = 120, 30, 5


def drawn(seed: int) -> Interests:
    """Interests with groups in them, and rates from 1 to 9."""
    rng = np.random.default_rng(seed)
    made = planted(SUBSCRIBERS, TOPICS, rng, groups=6, loyalty=0.5, stray=1.5)
    people = np.repeat(np.arange(made.subscribers), np.diff(made.offsets))
    return Interests.from_pairs(people, made.topics, rng.integers(1, 10, TOPICS))


def names() -> list[str]:
    """Topic i's name; names are in the order of the numbers."""
    return [f"t{number:03}" for number in range(TOPICS)]


def interests_of(spark: SparkSession, made: Interests, *, twice: int = 0) -> DataFrame:
    people = np.repeat(np.arange(made.subscribers), np.diff(made.offsets))
    rows = pd.DataFrame(
        {"subscriber": [f"s{one}" for one in people], "topic": np.array(names())[made.topics]}
    )
    return spark.createDataFrame(pd.concat([rows, rows.head(twice)]))


def rates_of(spark: SparkSession, made: Interests) -> DataFrame:
    return spark.createDataFrame(pd.DataFrame({"topic": names(), "rate": made.rates}))


def map_of(found: DataFrame) -> dict[object, int]:
    rows = found.collect()
    result = {row["topic"]: row["channel"] for row in rows}
    assert len(result) == len(rows), "each topic comes once"
    return result


def channels_of(found: dict[object, int]) -> np.ndarray:
    return np.array([found[name] for name in names()], np.int32)


def cost_of(made: Interests, channels: np.ndarray) -> int:
    return total_cost(count(made, channels, K), channels, made.rates)


@pytest.fixture(scope="module")
def made() -> Interests:
    return drawn(1)


@pytest.fixture(scope="module")
def interests(spark: SparkSession, made: Interests) -> DataFrame:
    return interests_of(spark, made, twice=7).persist()


@pytest.fixture(scope="module")
def rates(spark: SparkSession, made: Interests) -> DataFrame:
    return rates_of(spark, made).persist()


@pytest.fixture(scope="module")
def settled(interests: DataFrame, rates: DataFrame) -> DataFrame:
    """A map from which no topic wants to move."""
    report = caddis.ClusteringReport()
    found = caddis.topics_to_channels(interests, rates, K, improvement=0.0, report=report)
    assert report.at_rest
    return found.persist()


@pytest.mark.parametrize(("partitions", "to_driver"), [(3, 1 << 20), (6, 2_500)])
def test_tallies_are_those_of_the_algebra(
    made, interests, rates, partitions, to_driver, monkeypatch
):
    monkeypatch.setattr("caddis.spark.topics.packing.TO_DRIVER", to_driver)
    effort, rng = Effort(partitions=partitions), np.random.default_rng(partitions)
    with clusterer_of(interests, rates, effort, seed=0, report=ClusteringReport()) as clusterer:
        packed: PackedInterests = clusterer.packed
        assert packed.rates.tolist() == made.rates.tolist()
        for _ in range(2):
            channels = rng.integers(K, size=TOPICS, dtype=np.int32)
            on_spark, here = packed.count(channels, K), count(made, channels, K)
            for ours, theirs in zip(on_spark, here, strict=True):
                np.testing.assert_array_equal(ours, theirs)
            votes = vote_costs(on_spark, channels, packed.rates)
            np.testing.assert_array_equal(votes, vote_costs(here, channels, made.rates))


def test_every_topic_comes_once_and_none_wants_to_move(made, settled):
    channels = channels_of(map_of(settled))
    assert set(channels) == set(range(K))
    votes = vote_costs(count(made, channels, K), channels, made.rates)
    np.testing.assert_array_equal(outcomes(votes, channels), channels)


def test_the_report_tells_the_costs_of_the_algebra(made, interests, rates):
    report = caddis.ClusteringReport()
    seen: list[WaveReport] = []
    found = caddis.topics_to_channels(
        interests, rates, K, sample=100, report=report, progress=seen.append
    )
    assert report.cost == cost_of(made, channels_of(map_of(found)))
    assert report.cost <= report.start_cost < report.random_cost
    assert report.start_cost == report.waves[0].cost
    assert report.interests == len(made)
    assert report.wanted_rate == made.rates[made.topics].sum()
    assert seen == report.waves
    assert set(report.seconds) == {"read", "pack", "random", "start", "waves"}


def test_the_map_does_not_depend_on_partitions_or_on_the_order_of_rows(interests, rates):
    several = [
        map_of(
            caddis.topics_to_channels(
                rows, rates, K, sample=150, improvement=0.0, seed=3, partitions=partitions
            )
        )
        for rows, partitions in [(interests, 1), (interests.orderBy("topic", "subscriber"), 4)]
    ]
    assert several[0] == several[1]


def test_a_map_at_rest_stays_as_it_is_and_a_used_report_is_cleared(interests, rates, settled):
    used = WaveReport(1, 2, 1, 30.0, 0.5)
    report = caddis.ClusteringReport(start_cost=30.0, waves=[used], seconds={"waves": 1e6})
    again = caddis.topics_to_channels(
        interests, rates, K, previous=settled, improvement=0.0, report=report
    )
    assert map_of(again) == map_of(settled)
    assert len(report.waves) == 1
    assert report.start_cost == report.cost
    assert report.seconds["waves"] < 1e6
    assert (report.at_rest, report.ended) == (True, "rest")


def test_a_map_stays_as_it_is_where_moves_would_save_too_little(interests, rates, settled):
    before = settled.withColumn("channel", F.expr("if(topic = 't003', 0, channel)"))
    before = before.withColumn("channel", F.expr("if(topic = 't004', 1, channel)"))
    report = caddis.ClusteringReport()
    after = caddis.topics_to_channels(
        interests, rates, K, previous=before, improvement=0.9, report=report
    )
    assert map_of(after) == map_of(before) != map_of(settled)
    assert min(wave.cost for wave in report.waves) < report.cost == report.start_cost
    assert (report.at_rest, report.ended) == (False, "kept")


def without(made: Interests, topic: int) -> Interests:
    """The interests when nobody wants a topic, and nothing is published about it."""
    people = np.repeat(np.arange(made.subscribers), np.diff(made.offsets))
    left, rates = made.topics != topic, made.rates.copy()
    rates[topic] = 0
    return Interests.from_pairs(people[left], made.topics[left], rates)


def test_new_topics_are_placed_and_vanished_ones_dropped(spark, made, interests, rates, settled):
    before = map_of(settled)
    gone, name = names()[0], names()[1]
    kept = settled.where(f"topic != '{name}'").union(
        spark.createDataFrame([("unheard-of", 2)], "topic STRING, channel INT")
    )
    now = interests.where(f"topic != '{gone}'")
    rated = rates.where(f"topic != '{gone}'")
    report = caddis.ClusteringReport()
    after = map_of(caddis.topics_to_channels(now, rated, K, previous=kept, waves=1, report=report))
    assert set(after) == set(before) - {gone}
    assert {topic: after[topic] for topic in after if topic != name} == {
        topic: before[topic] for topic in after if topic != name
    }
    assert len(report.waves) == 1
    left, choices = without(made, 0), np.tile(channels_of(before), (K, 1))
    choices[:, 1] = np.arange(K)
    costs = [cost_of(left, channels) for channels in choices]
    assert report.cost == costs[after[name]] == min(costs) < max(costs)


def test_fewer_channels_than_before_are_used_in_full(interests, rates, settled):
    found = map_of(caddis.topics_to_channels(interests, rates, K - 2, previous=settled))
    assert set(found.values()) == set(range(K - 2))


def test_more_channels_than_before_are_used_and_it_begins_no_dearer(
    made, interests, rates, settled
):
    before, report = map_of(settled), caddis.ClusteringReport()
    found = caddis.topics_to_channels(
        interests, rates, K + 1, previous=settled, sample=40, waves=1, report=report
    )
    after = map_of(found)
    assert {after[topic] for topic in after if after[topic] != before[topic]} == {K}
    assert report.cost == report.start_cost < cost_of(made, channels_of(before))
    assert report.ended == "limit"


def test_a_sample_of_nobody_still_gives_a_map_at_rest(interests, rates):
    report = caddis.ClusteringReport()
    caddis.topics_to_channels(interests, rates, K, sample=1, improvement=0.0, report=report)
    assert report.start_cost == pytest.approx(report.random_cost, rel=0.5)
    assert report.at_rest


def test_where_channels_suffice_each_topic_is_alone(interests):
    report = caddis.ClusteringReport()
    found = map_of(caddis.topics_to_channels(interests, channels=TOPICS + 3, report=report))
    assert len(set(found.values())) == TOPICS
    assert report.cost == 0


def test_where_channels_suffice_topics_stay_where_they_were(spark):
    interests = spark.createDataFrame([*GOOD, ("bo", "salt")], INTERESTS)
    before = spark.createDataFrame([("tea", 3), ("rain", 0), ("salt", 3)], MAP)
    found = map_of(caddis.topics_to_channels(interests, channels=4, previous=before))
    assert found == {"rain": 0, "salt": 3, "tea": 1}


def test_topics_that_nobody_wants_go_where_fewest_receive_them(spark):
    interests = spark.createDataFrame(
        [(1, 10), (2, 10), (3, 10), (4, 20), (4, 30)], "subscriber INT, topic SMALLINT"
    )
    rates = spark.createDataFrame(
        [(10, 1.5), (20, 2.0), (30, 1.0), (77, 8.0)], "topic INT, rate DOUBLE"
    )
    report = caddis.ClusteringReport()
    found = caddis.topics_to_channels(interests, rates, 2, report=report)
    assert found.schema["topic"].dataType == interests.schema["topic"].dataType
    placed = map_of(found)
    assert placed[77] == placed[20] == placed[30] != placed[10]
    assert report.cost == 8.0


def test_without_rates_every_topic_counts_the_same(spark):
    interests = spark.createDataFrame(
        [("a", "x"), ("a", "y"), ("b", "z"), ("b", "w")], "subscriber STRING, topic STRING"
    )
    report = caddis.ClusteringReport()
    placed = map_of(caddis.topics_to_channels(interests, channels=2, report=report))
    assert placed["x"] == placed["y"] != placed["z"] == placed["w"]
    assert report.cost == 0


# -------------------------------------------------------------------------------- bad input

INTERESTS = "subscriber STRING, topic STRING"
RATES = "topic STRING, rate DOUBLE"
MAP = "topic STRING, channel INT"
GOOD = [("ann", "tea"), ("bo", "rain")]
RATED = [("tea", 1.0), ("rain", 2.0)]


@pytest.mark.parametrize(
    ("rows", "schema", "complaint"),
    [
        (
            GOOD,
            "person STRING, topic STRING",
            "there is no column 'subscriber'; there are 'person', 'topic'",
        ),
        ([("ann", 1.5)], "subscriber STRING, topic DOUBLE", "'topic' is DOUBLE; it must be STRING"),
        ([([1], "tea")], "subscriber ARRAY<INT>, topic STRING", "'subscriber' is ARRAY<INT>"),
        ([*GOOD, (None, "tea")], INTERESTS, "the subscriber is null in 1 rows, one of them of to"),
        ([*GOOD, ("ann", None)], INTERESTS, "interests: the topic is null in 1 rows"),
        ([], INTERESTS, "there are no interests"),
    ],
)
def test_bad_interests_are_refused(spark, rows, schema, complaint):
    with pytest.raises(TopicError) as refused:
        caddis.topics_to_channels(spark.createDataFrame(rows, schema), None, 2)
    assert complaint in str(refused.value)


@pytest.mark.parametrize(
    ("rows", "schema", "complaint"),
    [
        (
            RATED,
            "topic STRING, weight DOUBLE",
            "there is no column 'rate'; there are 'topic', 'weight'",
        ),
        ([("tea", "1")], "topic STRING, rate STRING", "rates: 'rate' is STRING; it must be a num"),
        ([(1, 1.0)], "topic INT, rate DOUBLE", "'topic' is INT, but STRING in interests"),
        ([*RATED, (None, 1.0)], RATES, "rates: the topic is null in 1 rows"),
        ([*RATED, ("tea", 1.0)], RATES, "rates: there are several rows for topic 'tea'; each"),
        ([("tea", None), ("rain", 1.0)], RATES, "rates: the rate of topic 'tea' is null"),
        ([("tea", -1.0), ("rain", 1.0)], RATES, "rates: the rate of topic 'tea' is -1; rates are"),
        ([("tea", float("nan")), ("rain", 1.0)], RATES, "rates: the rate of topic 'tea' is nan"),
        ([("tea", 1.0)], RATES, "rates: there is no rate for topic 'rain'"),
    ],
)
def test_bad_rates_are_refused(spark, rows, schema, complaint):
    interests = spark.createDataFrame(GOOD, INTERESTS)
    with pytest.raises(TopicError) as refused:
        caddis.topics_to_channels(interests, spark.createDataFrame(rows, schema), 2)
    assert complaint in str(refused.value)


@pytest.mark.parametrize(
    ("rows", "schema", "complaint"),
    [
        ([("tea",)], "topic STRING", "previous: there is no column 'channel'; there are 'topic'"),
        ([("tea", 0.5)], "topic STRING, channel DOUBLE", "'channel' is DOUBLE; it must be a whole"),
        ([("tea", 0), ("tea", 1)], MAP, "previous: there are several rows for topic 'tea'"),
        ([("tea", None)], MAP, "previous: the channel of topic 'tea' is null"),
        ([("tea", -2)], MAP, "previous: the channel of topic 'tea' is negative"),
    ],
)
def test_a_bad_previous_map_is_refused(spark, rows, schema, complaint):
    interests = spark.createDataFrame(GOOD, INTERESTS)
    with pytest.raises(TopicError) as refused:
        caddis.topics_to_channels(interests, None, 2, previous=spark.createDataFrame(rows, schema))
    assert complaint in str(refused.value)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"channels": 0}, "channels=0: it must be a whole number, 1 or more"),
        ({"channels": 2.5}, "channels=2.5: it must be a whole number"),
        ({"channels": True}, "channels=True: it must be a whole number"),
        ({"channels": "2"}, "channels='2': it must be a whole number"),
        ({"seed": -1}, "seed=-1: it must be a whole number, 0 or more"),
        ({"sample": 0}, "sample=0: it must be a whole number, 1 or more"),
        ({"sample": 0.5}, "sample=0.5"),
        ({"rates": [("tea", 1.0)]}, "rates: this is a list; it must be Spark's DataFrame"),
        ({"previous": {"tea": 1}}, "previous: this is a dict; it must be Spark's DataFrame"),
        ({"waves": 0}, "waves=0"),
        ({"partitions": -1}, "partitions=-1"),
        ({"share": 1.5}, "1.5"),
        ({"improvement": -0.1}, "-0.1"),
    ],
)
def test_numbers_without_a_meaning_are_refused(interests, options, complaint):
    with pytest.raises(TopicError) as refused:
        caddis.topics_to_channels(interests, **options)
    assert complaint in str(refused.value)


def test_a_stream_is_refused(spark):
    stream = spark.readStream.format("rate").load()
    with pytest.raises(TopicError, match="this is a stream"):
        caddis.topics_to_channels(stream)


def test_nothing_stays_in_memory_after_an_error(spark, interests, rates):
    def fail(_: object) -> None:
        raise KeyboardInterrupt

    held = spark.sparkContext._jsc.getPersistentRDDs().size()
    with pytest.raises(KeyboardInterrupt):
        caddis.topics_to_channels(interests, rates, K, progress=fail)
    assert spark.sparkContext._jsc.getPersistentRDDs().size() == held


# -------------------------------------------------------------------------- on the command line


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: Interests) -> Path:
    """The same interests as a CSV file, and rates as JSON lines."""
    monkeypatch.chdir(tmp_path)
    people = np.repeat(np.arange(made.subscribers), np.diff(made.offsets))
    rows = pd.DataFrame({"subscriber": people, "topic": np.array(names())[made.topics]})
    rows.to_csv("interests.csv", index=False)
    rated = pd.DataFrame({"topic": names(), "rate": made.rates})
    rated.to_json("rates.jsonl", orient="records", lines=True)
    return tmp_path


def cluster(*more: str) -> Result:
    given = ["topics", "cluster", "interests.csv", "--rates", "rates.jsonl", "-k", str(K)]
    return CliRunner().invoke(app, [*given, *more])


def test_the_command_writes_the_map_and_draws_it(spark, files, made):
    result = cluster("--out", "map", "--curve", "2,9", "--json")
    assert result.exit_code == 0, result.output
    shown = json.loads(result.stdout)
    found = pd.read_csv("map/channels.csv").set_index("topic")["channel"].to_dict()
    assert shown["cost"] == cost_of(made, channels_of(found))
    assert shown["interests"] == len(made)
    assert [point["channels"] for point in shown["curve"]] == [2, K, 9]
    versioned = ChannelMap.from_json(Path("map/channels.json").read_text())
    assert (versioned.version, versioned.channels) == (1, found)
    assert pd.read_csv("map/curve.csv")["cost"].is_monotonic_decreasing
    for name in ("cost.png", "filtering.png"):
        assert Path("map", name).read_bytes().startswith(b"\x89PNG")

    again = cluster("--out", "next", "--previous", "map", "--out-format", "parquet", "--no-plots")
    assert again.exit_code == 0, again.output
    assert sorted(path.name for path in Path("next").iterdir()) == [
        "channels.json",
        "channels.parquet",
    ]
    assert pd.read_parquet("next/channels.parquet").set_index("topic")["channel"].to_dict() == found
    assert ChannelMap.from_json(Path("next/channels.json").read_text()).version == 2


def test_who_filters_how_much_is_counted_exactly(made, interests, rates):
    channels = np.arange(TOPICS, dtype=np.int32) % K
    with clusterer_of(interests, rates, Effort(), seed=0, report=ClusteringReport()) as clusterer:
        shares = clusterer.shares(channels, K)
    expected = np.zeros(101, np.int64)
    for one in range(made.subscribers):
        wanted = made.wanted(one)
        if len(wanted):
            received = np.isin(channels, channels[wanted])
            rate = int(made.rates[received].sum())
            unwanted = rate - int(made.rates[wanted].sum())
            expected[math.ceil(Fraction(100 * unwanted, rate))] += 1
    assert shares.tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("option", "text", "complaint"),
    [
        ("rates", "topic,rate\nt000,much\n", "the rate of topic 't000' is 'much'; it must be a"),
        ("previous", "topic,channel\nt000,1.5\n", "the channel of topic 't000' is '1.5'; it must"),
    ],
)
def test_a_text_that_is_no_number_is_refused_in_a_sentence(
    spark, files, capfd, option, text, complaint
):
    Path("table.csv").write_text(text)
    result = cluster("--out", "map", f"--{option}", "table.csv")
    assert result.exit_code == 1
    assert f"caddis: {option}: {complaint}" in result.stderr
    unversioned = "No channels.json beside table.csv: the new map will be version 1."
    assert (unversioned in result.stderr) == (option == "previous")
    assert len(result.stderr) + len(capfd.readouterr().err) < 1000
    assert not Path("map").exists()


def test_topics_of_csv_files_are_numbers_where_interests_hold_numbers(spark):
    interests = spark.createDataFrame([(1, 10)], "subscriber INT, topic SMALLINT")
    texts = spark.createDataFrame([("10", "2.5")], "topic STRING, rate STRING")
    assert [*like_interests(texts, "rates", interests, RATES_IN_FILES).collect()] == [(10, 2.5)]
    wrong = spark.createDataFrame([("tea", "1")], "topic STRING, rate STRING")
    with pytest.raises(TopicError, match="rates: a topic is 'tea'; it must be a whole number"):
        like_interests(wrong, "rates", interests, RATES_IN_FILES)
