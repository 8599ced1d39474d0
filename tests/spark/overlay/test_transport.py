"""Brokers on a transport that is no folder: whatever carries records and logs joins them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from caddis.spark.overlay import BrokerSettings, EventSettings, OverlayFolder, RunningOverlay
from tests.spark.overlay.memory import MemoryTransport

SCHEMA = pa.schema([("event_id", pa.int64()), ("city", pa.string())])


def publish(folder: Path, numbers: range) -> None:
    folder.mkdir(exist_ok=True)
    rows = [{"event_id": one, "city": "Cork" if one % 2 else "Sligo"} for one in numbers]
    pq.write_table(pa.Table.from_pylist(rows, SCHEMA), folder / f"{numbers.start}.parquet")


def notified(folder: OverlayFolder) -> list[tuple[int, str]]:
    rows = [
        row
        for name in ("galway", "dublin")
        if (folder.root / "notifications" / name).exists()
        for row in ds.dataset(folder.root / "notifications" / name).to_table().to_pylist()
    ]
    return sorted((row["event_id"], row["subscription_id"]) for row in rows)


def test_brokers_reach_each_other_through_memory_also_after_a_restart(
    spark: SparkSession, tmp_path: Path
):
    folder, transport = OverlayFolder(tmp_path / "run"), MemoryTransport()
    brokers = [
        BrokerSettings("galway", ("dublin",), {"ann": "city = 'Sligo'"}, tmp_path / "galway"),
        BrokerSettings("dublin", ("galway",), {"bo": "city = 'Cork'", "cy": "event_id < 2"}),
    ]
    for numbers in (range(4), range(4, 8)):
        publish(tmp_path / "galway", numbers)
        with RunningOverlay(brokers, EventSettings(SCHEMA), folder, transport) as overlay:
            assert overlay.settle()
            for _ in overlay.until_quiet(spark):
                pass
    assert not (folder.root / "links").exists()
    assert not (folder.root / "control").exists()
    assert notified(folder) == sorted(
        [(one, "ann") for one in (0, 2, 4, 6)] + [(one, "bo") for one in (1, 3, 5, 7)]
        + [(0, "cy"), (1, "cy")]
    )  # fmt: skip
