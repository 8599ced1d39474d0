"""Sealed events on Spark: workers without a key find what the plain match would, after the
subscriber's own check; what is refused is reported, and stops nobody.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

import caddis
from caddis import Report, SubscriptionStore
from caddis.errors import (
    AccessError,
    EventError,
    InvalidSubscriptions,
    SubscriptionTableError,
)
from caddis.sealed import Authority, EventSealer, Identity, KeyRing, StreamDesign
from caddis.sealed.clauses.subscriptions import as_text
from caddis.sealed.keys.directory import Role
from caddis.spark.sealed.sealing import OpenOperator, SealOperator
from tests.sealed.homes import (
    EVENTS,
    SCHEMA,
    WHERES,
    Pairs,
    changed,
    homes,
    plainly,
    sealed_wheres,
)
from tests.sealed.sealed_workloads import Parties, subscriptions
from tests.spark.matching.test_streaming import run
from tests.spark.sealed.test_reader import of_other_sizes

COPIES = 20
"""The few events come so many times, each in a run of its own."""
ALL = range(len(WHERES))
COLUMNS = (
    "event_id long, stream string, epoch long, publisher string, run long, number long, "
    "filter binary, tokens binary, point binary, payload binary, signature binary"
)


@pytest.fixture(scope="module")
def published() -> pa.Table:
    size = len(EVENTS)
    return pa.Table.from_batches([homes().publish(first=size * at) for at in range(COPIES)])


@pytest.fixture(scope="module")
def events(spark: SparkSession, published: pa.Table) -> DataFrame:
    return spark.createDataFrame(published, COLUMNS).repartition(3)


def pairs(matches: DataFrame) -> Pairs:
    rows = [(row[0], row[1]) for row in matches.collect()]
    assert len(rows) == len(set(rows)), "a match came out twice"
    return set(rows)


def received(matched: Pairs, published: pa.Table, links: Iterable[int] = ALL) -> Pairs:
    """What is left after the subscriber's own check of the events that it was sent."""
    ids = pa.array(sorted({event for event, _ in matched}), pa.int64())
    sent = published.filter(pc.is_in(published["event_id"], ids)).combine_chunks()
    left = {pair for pair in homes().received(sent.to_batches()[0], WHERES) if pair[1] in links}
    assert left <= matched, "a match was lost on the way"
    return left


def expected(copies: Iterable[int] = range(COPIES), links: Iterable[int] = ALL) -> Pairs:
    """What plain matching finds, copy by copy."""
    size = len(EVENTS)
    return {
        (copy * size + row, link)
        for row, link in plainly(WHERES)
        for copy in copies
        if link in links
    }


# ------------------------------------------------------------------------ as in plain matching


def test_sealed_is_plain_after_the_subscribers_own_check(events: DataFrame, published: pa.Table):
    report = Report()
    matches = caddis.match_sealed(
        events, sealed_wheres(), publishers=homes().directory, report=report
    )
    assert matches.columns == ["event_id", "subscription_id"]
    found = pairs(matches)
    assert received(found, published) == expected()
    assert (report.events, report.refusals, len(report.refused)) == (len(published), {}, 0)
    assert report.inspected >= report.tests >= len(found)
    assert report.products > 0
    assert pairs(matches) == found, "a job that runs again finds the same"


def test_grouped_every_sealed_event_that_matches_is_one_row(events: DataFrame):
    rows = caddis.match_sealed(events, sealed_wheres(), grouped=True).collect()
    assert len({row.event_id for row in rows}) == len(rows)
    found = {(row.event_id, link) for row in rows for link in row.subscription_ids}
    assert found == pairs(caddis.match_sealed(events, sealed_wheres()))


def test_subscriptions_may_be_a_dataframe_of_texts(
    spark: SparkSession, events: DataFrame, published: pa.Table
):
    rows = [(row["subscription_id"], as_text(row["where"])) for row in sealed_wheres().to_pylist()]
    table = spark.createDataFrame(rows, "subscription_id long, where string")
    found = pairs(caddis.match_sealed(events.drop("payload", "signature"), table))
    assert received(found, published) == expected()


def test_a_stream_follows_a_store_of_sealed_subscriptions(
    spark: SparkSession, published: pa.Table, tmp_path: Path
):
    size = len(EVENTS)
    (tmp_path / "events").mkdir()
    for number in range(3):
        file = tmp_path / "events" / f"{number}.parquet"
        pq.write_table(published.slice(number * size, size), file)
        os.utime(file, (1_700_000_000 + number, 1_700_000_000 + number))
    homes().directory.write(tmp_path / "directory.json")
    store = SubscriptionStore.create(tmp_path / "store", sealed=True)
    wheres = sealed_wheres()
    store.upsert(wheres.slice(0, 3))
    source = spark.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1)
    matches = caddis.match_sealed(
        source.parquet(str(tmp_path / "events")),
        SubscriptionStore.open(tmp_path / "store"),
        publishers=tmp_path / "directory.json",
    )

    def change(batch: int) -> None:
        store.remove([batch])
        store.upsert(wheres.slice(3 + 2 * batch, 2))

    seen = run(matches, tmp_path / "checkpoint", change)
    alive = {0: {0, 1, 2}, 1: {1, 2, 3, 4}, 2: {2, 3, 4, 5, 6}}
    for batch, links in alive.items():
        found = {(event, int(link)) for event, link in seen[batch]}
        assert {link for _, link in found} <= links
        assert received(found, published, links) == expected([batch], links)
    assert len(store) == len(store.subscriptions()) == 6


# --------------------------------------------------------------------------- publish, subscribe


def test_what_spark_sealed_it_matches_and_opens(spark: SparkSession):
    rows = [(f"e{at}", at % 3, "Galway" if at % 2 else None, ["sea"]) for at in range(40)]
    plain = spark.createDataFrame(rows, "`id.` string, price int, city string, tags array<string>")
    keys = homes().parties.pat.publisher_keys("homes")
    sealed = caddis.seal_events(plain.repartition(3), keys, event_key="id.").cache()
    matches = caddis.match_sealed(sealed, homes().seal(["price = 1"]))
    matched = sorted(row.event_id for row in matches.collect())
    assert matched == sorted(f"e{at}" for at in range(1, 40, 3))
    assert sealed.select("run").distinct().count() == 3
    report = Report()
    opened = caddis.open_events(
        sealed.join(matches, "event_id").union(sealed.join(matches, "event_id")).coalesce(1),
        homes().parties.ann,
        homes().directory,
        stream="homes",
        report=report,
    )
    found = opened.select("event_id", "price", "city", "tags").collect()
    assert sorted(map(tuple, found)) == sorted(row for row in rows if row[1] == 1)
    assert report.refusals == {"ReplayedEvent": len(found)}
    sealed.unpersist()


def test_an_operator_does_not_show_the_keys_that_it_carries():
    keys = homes().parties.pat.publisher_keys("homes")
    secrets = keys.matching.secret, keys.sealing.secret, keys.signing.private_bytes_raw()
    operator = SealOperator(("event_id",), "event_id", False, keys)
    ring = homes().parties.ann.for_reading("homes")
    opener = OpenOperator((), "homes", "id", ring, homes().directory, None)
    for shown in (repr(operator), repr(opener)):
        known = *secrets, ring.subscriber_keys("homes").content.secret
        assert not [secret for secret in known if repr(secret)[2:20] in shown]


def test_a_column_that_the_stream_does_not_have_is_refused(spark: SparkSession):
    plain = spark.createDataFrame([(1, 2)], "event_id long, prize long")
    keys = homes().parties.pat.publisher_keys("homes")
    with pytest.raises(EventError, match="'homes' has no column 'prize': it would be lost"):
        caddis.seal_events(plain, keys)
    with pytest.raises(EventError, match="no column 'id' for their key"):
        caddis.seal_events(plain, keys, event_key="id")


def test_columns_of_other_types_are_refused_at_the_call(spark: SparkSession):
    keys = homes().parties.pat.publisher_keys("homes")
    for columns, message in {
        "1L AS event_id, '12' AS price": "'price' is STRING in these events; .* says INT",
        "1L AS event_id, array(1) AS tags": "'tags' is ARRAY<INT> in these events",
        "1.5D AS event_id, 'Cork' AS city": "texts or whole numbers, not DOUBLE",
        "1L AS event_id, INTERVAL '1' YEAR AS price": "'price' is interval year, which cannot be",
        "1L AS event_id, 'Cork' AS city, 'Cork' AS city": "2 columns 'city'",
    }.items():
        with pytest.raises(EventError, match=message):
            caddis.seal_events(spark.sql(f"SELECT {columns}"), keys)


def test_a_session_in_another_time_zone_is_refused(spark: SparkSession, events: DataFrame):
    """Between Tokyo and UTC, `at >= '2024-01-01'` is true of other events."""
    in_tokyo = spark.newSession()
    in_tokyo.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    parties = homes().parties
    plain = in_tokyo.sql("SELECT 1L AS event_id, 'Cork' AS city")
    message = "'homes' reads dates and times in UTC, this session in Asia/Tokyo"
    with pytest.raises(EventError, match=message):
        caddis.seal_events(plain, parties.pat.publisher_keys("homes"))
    sealed = in_tokyo.createDataFrame([], COLUMNS)
    with pytest.raises(EventError, match=message):
        caddis.open_events(sealed, parties.ann, parties.directory, stream="homes")


# ------------------------------------------------------------------------------ the final check


def test_a_directory_of_another_authority_opens_nothing(events: DataFrame):
    other = Authority.new(os.urandom).directory()
    with pytest.raises(AccessError, match="is of another one"):
        caddis.open_events(events, homes().parties.ann, other, stream=homes().stream)


def test_two_publishers_with_one_event_id_do_not_stop_their_reader(spark: SparkSession):
    design, random = StreamDesign.of("homes", SCHEMA, scheme="tokens"), Random(5)
    pat, sam, ann = (Identity.new(name, random.randbytes) for name in ("pat", "sam", "ann"))
    authority = Authority.new(random.randbytes).add_stream(design, random.randbytes)
    for one in (pat, sam, ann):
        role: Role = "subscriber" if one is ann else "publisher"
        authority = authority.register(one.public).grant(one.name, "homes", role)
    plain = pa.record_batch({"event_id": [1, 2], "city": ["Galway", "Cork"]})
    sealed = []
    for one in (pat, sam):
        keys = KeyRing.open(one, authority.issue(one.name)).publisher_keys("homes")
        sealed.append(EventSealer(keys, randomness=random.randbytes, run=7).seal(plain))
    frame = spark.createDataFrame(pa.Table.from_batches(sealed), COLUMNS)
    ring = KeyRing.open(ann, authority.issue("ann"))
    twice = frame.union(frame).repartition(2)
    opened = caddis.open_events(twice, ring, authority.directory(), stream="homes")
    once = opened.dropDuplicates(["sealed_id"])
    plainly_wanted = subscriptions(["city = 'Galway'"])
    matches = caddis.match(once, plainly_wanted, event_key="sealed_id").collect()
    assert sorted(map(tuple, matches)) == [("pat/1/7/0", 0), ("sam/1/7/0", 0)]
    assert sorted(row.event_id for row in once.collect()) == [1, 1, 2, 2]


def test_a_stream_with_a_column_of_that_name_calls_the_id_otherwise(spark: SparkSession):
    schema = pa.schema([("sealed_id", pa.int32())])
    parties = Parties.on([StreamDesign.of("ids", schema, scheme="tokens")], Random(1))
    plain = spark.createDataFrame([(1, 2)], "event_id long, sealed_id int")
    sealed = caddis.seal_events(plain, parties.pat.publisher_keys("ids"))
    with pytest.raises(EventError, match="has a column 'sealed_id' itself"):
        caddis.open_events(sealed, parties.ann, parties.directory, stream="ids")
    opened = caddis.open_events(
        sealed, parties.ann, parties.directory, stream="ids", sealed_id="which"
    )
    assert opened.columns == ["event_id", "which", "sealed_id"]
    assert [row.sealed_id for row in opened.collect()] == [2]


def test_a_null_where_the_stream_has_none_does_not_stop_the_reader(spark: SparkSession):
    """A publisher who does not keep to the design seals a null into a NOT NULL column."""
    inner = pa.struct([pa.field("x", pa.int32(), nullable=False)])
    strict = pa.schema(
        [
            pa.field("price", pa.int32(), nullable=False),
            pa.field("places", pa.list_(pa.field("element", inner, nullable=False))),
        ]
    )
    lax = pa.schema([("price", pa.int32()), ("places", pa.list_(pa.struct([("x", pa.int32())])))])
    parties = Parties.on([StreamDesign.of("strict", strict, scheme="tokens")], Random(2))
    keys = parties.pat.publisher_keys("strict")
    cheat = replace(keys, design=StreamDesign.of("strict", lax, scheme="tokens"))
    rows = [
        {"event_id": 1, "price": None, "places": [None, {"x": 3}]},
        {"event_id": 2, "price": 4, "places": [{"x": None}]},
    ]
    batch = pa.RecordBatch.from_pylist(rows, pa.schema([("event_id", pa.int64()), *lax]))
    sealed = EventSealer(cheat, randomness=os.urandom).seal(batch)
    frame = spark.createDataFrame(pa.Table.from_batches([sealed]), COLUMNS)
    opened = caddis.open_events(frame, parties.ann, parties.directory, stream="strict")
    found = [row.asDict(recursive=True) for row in opened.drop("sealed_id").collect()]
    assert sorted(found, key=lambda row: row["event_id"]) == rows
    with pytest.raises(EventError, match="no column 'price', which is NOT NULL"):
        caddis.seal_events(spark.sql("SELECT 1L AS event_id"), keys)


# ------------------------------------------------------------------------------------- refusals


def test_events_without_a_stream_are_refused_and_those_of_others_counted(spark: SparkSession):
    events = changed(changed(homes().publish(), 1, "stream", None), 2, "stream", "boats")
    report = Report()
    opened = caddis.open_events(
        spark.createDataFrame(pa.Table.from_batches([events]), COLUMNS).coalesce(1),
        homes().parties.ann,
        homes().directory,
        stream="homes",
        report=report,
    )
    assert sorted(row.event_id for row in opened.collect()) == [0, 3, 4, 5]
    assert (report.events, report.other_streams) == (len(EVENTS) - 1, 1)
    assert report.refusals == {"TruncatedEvent": 1}
    assert report.refused["event_id"].to_pylist() == ["1"]
    assert "its stream is missing" in report.refused["message"][0].as_py()


def test_without_a_report_nothing_is_written(
    spark: SparkSession, events: DataFrame, tmp_path: Path
):
    folder = tmp_path / "report"
    parties = homes().parties
    caddis.open_events(
        events, parties.ann, parties.directory, stream="homes", report_dir=folder
    ).count()
    assert not folder.exists()
    index = tmp_path / "index"
    caddis.match_sealed(events, sealed_wheres(), index_dir=index).count()
    assert not list(index.rglob("sealed"))


def test_refused_events_are_told_and_stop_nobody(spark: SparkSession):
    genuine = homes().publish()
    stranger = homes(stream="boats").publish(EVENTS.slice(0, 1), first=9)
    bad = changed(genuine, 1, "payload", genuine.column("payload")[1].as_py() + b"?")
    bad = changed(changed(bad, 2, "point", b"short"), 3, "epoch", 7)
    rows = pa.concat_tables(
        pa.Table.from_batches([one]) for one in (bad, genuine.slice(0, 1), stranger)
    )
    report = Report()
    matches = caddis.match_sealed(
        spark.createDataFrame(rows, COLUMNS).coalesce(1),
        homes().seal(["TRUE"]),
        publishers=homes().directory,
        report=report,
    )
    assert pairs(matches) == {(0, 0), (4, 0), (5, 0)}
    refused = sorted(zip(*report.refused.select([0, 1, 2]).to_pydict().values(), strict=True))
    assert refused == [
        ("0", "pat", "ReplayedEvent"),
        ("1", "pat", "TamperedEvent"),
        ("2", "pat", "TruncatedEvent"),
        ("3", "pat", "WrongEpoch"),
        ("9", "pat", "UnknownPublisher"),
    ]
    assert sum(report.refusals.values()) == 5
    assert all("event " in message for message in report.refused["message"].to_pylist())


def test_without_a_directory_badly_made_events_are_told(spark: SparkSession):
    rows = pa.Table.from_batches([changed(homes().publish(), 2, "tokens", b"123")])
    report = Report()
    frame = spark.createDataFrame(rows, COLUMNS)
    table = homes().seal(["TRUE"])
    assert len(pairs(caddis.match_sealed(frame, table, report=report))) == len(EVENTS) - 1
    assert report.refusals == {"TruncatedEvent": 1}


def test_workers_have_no_key(events: DataFrame, tmp_path: Path):
    """Nothing that is written for them holds a secret."""
    matches = caddis.match_sealed(
        events,
        sealed_wheres(),
        publishers=homes().directory,
        index_dir=tmp_path / "index",
        report=Report(),
    )
    matches.count()
    ann = homes().parties.ann.subscriber_keys("homes")
    pat = homes().parties.pat.publisher_keys("homes")
    secrets = [ann.matching.secret, ann.content.secret, pat.sealing.secret]
    secrets += [ann.matching.transform_secret, pat.signing.private_bytes_raw()]
    written = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    assert len(written) > 5_000
    assert not [secret for secret in secrets if secret in written]
    assert b"Galway" not in written


# --------------------------------------------------------------------------------------- errors


def test_what_does_not_fit_is_refused_at_once(
    spark: SparkSession, events: DataFrame, tmp_path: Path
):
    plain = spark.createDataFrame([(1, "Cork")], "event_id long, city string")
    sealed, texts = sealed_wheres(), subscriptions(["city = 'Cork'"])

    with pytest.raises(EventError, match="have a column 'stream'; these have event_id, city"):
        caddis.match_sealed(plain, sealed)
    with pytest.raises(EventError, match="have a column 'run'"):
        caddis.match_sealed(events.drop("run"), sealed, publishers=homes().directory)
    bad = events.withColumn("filter", events["stream"])
    with pytest.raises(EventError, match="the column 'filter' of sealed events cannot be string"):
        caddis.match_sealed(bad, sealed)
    with pytest.raises(SubscriptionTableError, match="are not sealed: seal them first"):
        caddis.match_sealed(events, texts)
    with pytest.raises(SubscriptionTableError, match="are sealed: match them with match_sealed"):
        caddis.match(plain, sealed)
    store = SubscriptionStore.create(tmp_path / "plain", plain)
    with pytest.raises(SubscriptionTableError, match="are not sealed; sealed ones need a store"):
        caddis.match_sealed(events, store)
    store = SubscriptionStore.create(tmp_path / "sealed", sealed=True)
    with pytest.raises(SubscriptionTableError, match="are sealed; match them with match_sealed"):
        caddis.match(plain, store)


@pytest.mark.parametrize("as_file", [False, True])
def test_a_tie_of_sizes_is_decided_by_the_registry_of_publishers(
    spark: SparkSession, tmp_path: Path, as_file: bool
):
    """One subscription of made-up sizes came before the only genuine one."""
    table = pa.concat_tables([of_other_sizes(99), homes().seal(["TRUE"])])
    homes().directory.write(tmp_path / "directory.json")
    report = Report()
    matches = caddis.match_sealed(
        spark.createDataFrame(pa.Table.from_batches([homes().publish()]), COLUMNS),
        table,
        publishers=tmp_path / "directory.json" if as_file else homes().directory,
        on_invalid="skip",
        report=report,
    )
    assert report.invalid["subscription_id"].to_pylist() == [99]
    assert pairs(matches) == {(row, 0) for row in range(len(EVENTS))}


def test_bad_subscriptions_are_skipped(events: DataFrame):
    wheres = sealed_wheres()["where"].to_pylist()
    wheres[1] = wheres[1][:-5]
    table = sealed_wheres().set_column(1, "where", pa.array(wheres, pa.binary()))
    with pytest.raises(InvalidSubscriptions, match="cut off"):
        caddis.match_sealed(events, table)
    report = Report()
    matches = caddis.match_sealed(events, table, on_invalid="skip", report=report)
    assert report.invalid["subscription_id"].to_pylist() == [1]
    assert 1 not in {row.subscription_id for row in matches.collect()}
