"""Models on Spark: batches and streams, pictures, stores, failures; Spark itself as the oracle."""

import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import BooleanType

import caddis
from caddis.errors import InvalidSubscriptions, ModelError
from caddis.language import Column
from caddis.models import OnnxImages, Reading, Statistics, concept, efficientnet_lite
from caddis.ordering import POLICIES
from caddis.spark.base.failures import spark_failures
from tests.models.graphs import colour_graph
from tests.models.photos import encoded, photo, plain
from tests.ordering.clauses import CONCEPTS, SCHEMA, drawn_events, drawn_where, models, seen

Pairs = set[tuple[object, object]]


def table(wheres: dict[str, str]) -> pa.Table:
    return pa.table({"subscription_id": list(wheres), "where": list(wheres.values())})


def pairs(matches: DataFrame) -> Pairs:
    with spark_failures():
        rows = [tuple(row) for row in matches.collect()]
    assert len(rows) == len(set(rows)), "a match came out twice"
    return set(rows)


def or_null(answer):
    return lambda text: None if text is None else answer(text)


def decided_by_spark(spark: SparkSession, events: DataFrame, wheres: dict[str, str]) -> Pairs:
    """Each WHERE text as Spark evaluates it, with a Python function for each concept."""
    for number in range(CONCEPTS):
        spark.udf.register(f"c{number}", F.udf(or_null(seen(number)), BooleanType()))
    columns = [F.expr(where).alias(name) for name, where in wheres.items()]
    rows = events.select("event_id", *columns).collect()
    return {(row["event_id"], name) for row in rows for name in wheres if row[name] is True}


@pytest.fixture(scope="module")
def drawn(spark):
    rng = np.random.default_rng(11)
    wheres = {f"s{at}": drawn_where(rng).text for at in range(25)}
    _, batch = drawn_events(rng, 150)
    events = spark.createDataFrame(pa.Table.from_batches([batch]))
    return events, wheres, decided_by_spark(spark, events, wheres)


# --------------------------------------------------------------------------- the same as Spark


@pytest.mark.parametrize("policy", list(POLICIES))
def test_matches_are_those_of_spark_under_every_policy(policy, drawn):
    events, wheres, decided = drawn
    assert len(decided) > 300
    assert pairs(caddis.match(events, table(wheres), models=models(), policy=policy)) == decided


@pytest.mark.parametrize("partitions", [1, 7])
def test_matches_are_the_same_however_events_are_partitioned(partitions, drawn):
    events, wheres, decided = drawn
    report = caddis.Report()
    matches = caddis.match(
        events.repartition(partitions), table(wheres), models=models(), report=report
    )
    assert pairs(matches) == decided
    assert sum(use.runs + use.hits for use in report.models) > 0


def test_a_stream_matches_what_a_batch_does(spark, drawn, tmp_path):
    events, wheres, decided = drawn
    events.repartition(3).write.parquet(str(tmp_path / "events"))
    stream = spark.readStream.schema(events.schema).option("maxFilesPerTrigger", 1)
    matches = caddis.match(stream.parquet(str(tmp_path / "events")), table(wheres), models=models())
    query = (
        matches.writeStream.format("parquet")
        .option("path", str(tmp_path / "out"))
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    assert pairs(spark.read.parquet(str(tmp_path / "out"))) == decided


# ------------------------------------------------------------------------------------- stores


def test_a_stream_follows_subscriptions_with_concepts_that_come_and_go(spark, tmp_path):
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    store = caddis.SubscriptionStore.create(tmp_path / "store", SCHEMA, models=models())
    store.upsert(table({"ann": "c0(photo)"}))
    stream = spark.readStream.schema("event_id BIGINT, city STRING, photo STRING").json(str(inbox))
    found: list[tuple[object, object]] = []
    query = (
        caddis.match(stream, store, models=models())
        .writeStream.foreachBatch(lambda rows, _: found.extend(map(tuple, rows.collect())))
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .start()
    )
    try:
        publish(inbox, 1, "11111111")
        query.processAllAvailable()
        store.upsert(table({"bo": "NOT c0(photo) AND c7(photo)"}))
        store.remove(["ann"])
        publish(inbox, 2, "11111111")
        publish(inbox, 3, "01111111")
        query.processAllAvailable()
    finally:
        query.stop()
    assert sorted(found) == [(1, "ann"), (3, "bo")]


def publish(inbox: Path, key: int, picture: str) -> None:
    draft = inbox.parent / f"{key}.json"
    draft.write_text(f'{{"event_id": {key}, "city": "Cork", "photo": "{picture}"}}\n')
    shutil.move(draft, inbox / draft.name)


def test_a_store_knows_its_models_concepts_and_learns_more(tmp_path):
    some = models()
    store = caddis.SubscriptionStore.create(tmp_path / "store", SCHEMA, models=some[:1])
    with pytest.raises(InvalidSubscriptions, match="unknown concept 'c3'"):
        store.upsert(table({"ann": "c3(photo)"}))
    store.allow(some[1:])
    store.upsert(table({"ann": "c3(photo)"}))
    again = caddis.SubscriptionStore.open(tmp_path / "store")
    again.upsert(table({"bo": "c0(photo) AND c7(photo)"}))
    assert sorted(one.name for one in again.concepts()) == ["c0", "c3", "c7"]


def test_a_call_that_no_model_can_read_is_one_subscriptions_mistake(tmp_path):
    @concept(reads=None)
    def anything(_):
        return True

    class OnlyTexts(type(anything)):  # type: ignore[misc]
        def check_reads(self, type_):
            if type_ != pa.string():
                raise ModelError("it reads texts")

    anything.__class__ = OnlyTexts
    store = caddis.SubscriptionStore.create(tmp_path / "store", SCHEMA, models=[anything])
    wheres = {"ann": "anything(event_id)", "bo": "anything(photo)"}
    (invalid,) = store.upsert(table(wheres), on_invalid="skip").to_pylist()
    assert (invalid["subscription_id"], invalid["start"], invalid["end"]) == ("ann", 0, 18)
    assert [str(one.column.name) for one in store.concepts()] == ["photo"]


def test_what_another_handle_allowed_is_known_to_this_one(tmp_path):
    some = models()
    store = caddis.SubscriptionStore.create(tmp_path / "store", SCHEMA, models=some[:1])
    other = caddis.SubscriptionStore.open(tmp_path / "store")
    other.allow(some[1:])
    other.upsert(table({"ann": "c3(photo)"}))
    store.upsert(table({"bo": "city = 'Cork'"}))
    assert len(store) == 2


def test_models_of_subscriptions_that_are_gone_are_not_asked_for(spark, tmp_path):
    store = caddis.SubscriptionStore.create(tmp_path / "store", SCHEMA, models=models())
    store.upsert(table({f"s{at}": "city = 'Cork'" for at in range(9)} | {"ann": "c3(photo)"}))
    store.remove(["ann"])
    assert store.reader().has_needs
    assert store.concepts() == ()
    events = spark.createDataFrame([(1, "Cork", "1")], "event_id BIGINT, city STRING, photo STRING")
    assert len(pairs(caddis.match(events, store))) == 9


def test_a_stream_must_be_able_to_answer_all_that_its_store_allows(spark, tmp_path):
    store = caddis.SubscriptionStore.create(tmp_path / "store", SCHEMA, models=models())
    stream = spark.readStream.schema("event_id BIGINT, city STRING, photo STRING")
    with pytest.raises(ModelError, match="lets subscriptions call c0, and no model answers that"):
        caddis.match(stream.json(str(tmp_path)), store, models=models()[1:])


def test_subscriptions_that_call_models_are_refused_without_them(spark, tmp_path):
    store = caddis.SubscriptionStore.create(tmp_path / "store", SCHEMA, models=models())
    store.upsert(table({"ann": "c3(photo)"}))
    events = spark.createDataFrame([], "event_id BIGINT, city STRING, photo STRING")
    with pytest.raises(ModelError, match=r"call models \(c3\); give them as models="):
        caddis.match(events, store)


# ------------------------------------------------------------------------------ what is checked


def test_models_are_checked_before_any_job(spark):
    events = spark.createDataFrame([], "event_id BIGINT, city STRING, picture STRING")
    with pytest.raises(ModelError, match="the model 'm0' reads 'photo': unknown column 'photo'"):
        caddis.match(events, table({"ann": "TRUE"}), models=models())
    with pytest.raises(ModelError, match="no policy 'foresigth'; did you mean 'foresight'"):
        caddis.match(events, table({"ann": "TRUE"}), policy="foresigth")
    with pytest.raises(ModelError, match="on_error is 'unknown' or 'raise', not 'rais'"):
        caddis.match(events, table({"ann": "TRUE"}), on_error="rais")  # type: ignore[arg-type]


def test_an_unknown_concept_is_told_with_the_nearest_and_the_list(spark):
    events = spark.createDataFrame([], "event_id BIGINT, city STRING, photo STRING")
    with pytest.raises(InvalidSubscriptions) as problem:
        caddis.match(events, table({"ann": "city = 'Cork' AND c00(photo)"}), models=models())
    assert str(problem.value) == (
        "subscription 'ann': unknown concept 'c00'; did you mean 'c0'? There is: "
        "c0, c1, c2, c3, c4, c5, c6, c7\n"
        "  city = 'Cork' AND c00(photo)\n"
        "                    ^^^^^^^^^^"
    )


# ------------------------------------------------------------------------------- what goes wrong


def test_a_model_that_raises_is_reported_and_the_job_goes_on_unless_it_is_to_stop(spark):
    @concept(reads="photo")
    def fragile(text):
        return 1 / (len(text) - 1) > 0

    rows = [(1, "aa"), (2, "a"), (3, "bbb")]
    events = spark.createDataFrame(rows, "event_id BIGINT, photo STRING")
    wheres = table({"yes": "fragile(photo)", "no": "NOT fragile(photo)"})
    report = caddis.Report()
    assert pairs(caddis.match(events, wheres, models=[fragile], report=report)) == {
        (1, "yes"),
        (3, "yes"),
    }
    (use,) = report.models
    assert (use.name, use.failed) == ("fragile(photo)", 1)
    (problem,) = report.problems.to_pylist()
    assert (problem["event"], problem["model"]) == (2, "fragile")
    assert problem["reason"] == "ZeroDivisionError: division by zero"
    stopping = caddis.match(events, wheres, models=[fragile], on_error="raise")
    with pytest.raises(ModelError, match="the model 'fragile' failed on event 2: ZeroDivision"):
        pairs(stopping)


def test_what_was_learnt_is_kept_in_the_file_of_statistics(spark, tmp_path):
    @concept(reads="photo", selectivity={"long": 0.5})
    def long(text):
        return len(text) > 3

    rows = [(at, f"{at % 2}b") for at in range(200)]
    events = spark.createDataFrame(rows, "event_id BIGINT, photo STRING").repartition(4)
    path = tmp_path / "seen.json"
    pairs(caddis.match(events, table({"a": "long(photo)"}), models=[long], statistics=path))
    reading = Reading(long, Column(("photo",), pa.string()))
    assert Statistics.load(path).selectivity(reading, "long") < 0.05


# ----------------------------------------------------------------------------------- pictures


def test_pictures_match_by_what_is_in_them_and_damaged_ones_are_reported(spark, tmp_path):
    (tmp_path / "broken.jpg").write_bytes(photo("china.jpg").read_bytes()[:20_000])
    rows = [
        (1, "Galway", str(photo("chelsea.png"))),
        (2, "Cork", str(photo("chelsea.png"))),
        (3, "Galway", str(photo("flower.jpg"))),
        (4, "Galway", str(tmp_path / "broken.jpg")),
        (5, "Galway", None),
        (6, "Galway", str(tmp_path / "absent.jpg")),
        (7, "Cork", str(photo("china.jpg"))),
    ]
    events = spark.createDataFrame(rows, "event_id BIGINT, city STRING, photo STRING")
    wheres = {
        "cats": "city = 'Galway' AND cat(photo)",
        "no cats": "city = 'Galway' AND NOT cat(photo)",
        "all cats": "cat(photo) AND NOT dog(photo)",
        "buildings": "building(photo) OR place_of_worship(photo)",
    }
    report = caddis.Report()
    matches = caddis.match(
        events.coalesce(1), table(wheres), models=[efficientnet_lite(0)], report=report
    )
    assert pairs(matches) >= {(1, "cats"), (1, "all cats"), (2, "all cats"), (3, "no cats")}
    assert not {(5, name) for name in wheres} & pairs(matches)
    problems = {row["event"]: row["reason"] for row in report.problems.to_pylist()}
    assert set(problems) == {4, 6}
    assert problems[6].startswith("no such file")
    (use,) = report.models
    assert use.hits >= 1


def test_pictures_in_the_rows_themselves_match_too(spark):
    colours = OnnxImages(
        colour_graph(), {"red": [0], "blue": [2]}, scores="logits", threshold=0.4, name="colours"
    )
    rows = [(1, bytearray(encoded(plain("red")))), (2, bytearray(encoded(plain("blue"))))]
    events = spark.createDataFrame(rows, "event_id BIGINT, photo BINARY")
    wheres = table({"r": "red(photo)", "b": "blue(photo) AND NOT red(photo)"})
    assert pairs(caddis.match(events, wheres, models=[colours])) == {(1, "r"), (2, "b")}
