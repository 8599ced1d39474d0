"""How sealed clauses are kept: as bytes that may be more than 32 bits count."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from caddis import SubscriptionStore
from caddis.sealed.clauses.subscriptions import as_text
from caddis.spark.store.segments import SealedSegments
from caddis.spark.store.store import TEXTS
from tests.sealed.homes import homes, sealed_wheres

BLOBS = sealed_wheres()["where"].to_pylist()


def in_chunks(values: list[object], type_: pa.DataType) -> pa.Table:
    """A chunk for each value."""
    chunks = pa.chunked_array([[value] for value in values], type_)
    return pa.table({"subscription_id": range(len(values)), "where": chunks})


@pytest.mark.parametrize("type_", [pa.binary(), pa.large_binary()], ids=str)
def test_clauses_over_2_gib_stay_in_their_chunks(type_):
    kept = SealedSegments().wheres(in_chunks([*BLOBS, None], type_))
    assert (kept.type, kept.num_chunks) == (pa.large_binary(), len(BLOBS) + 1)
    assert kept.to_pylist() == [*BLOBS, None]


@pytest.mark.parametrize("type_", [pa.string(), pa.large_string()], ids=str)
def test_texts_over_2_gib_stay_in_their_chunks(type_):
    kept = SealedSegments().wheres(in_chunks([*map(as_text, BLOBS), "sealed:?", None], type_))
    assert (kept.type, kept.num_chunks) == (pa.large_binary(), len(BLOBS) + 2)
    assert kept.to_pylist() == [*BLOBS, None, None]


def test_no_texts_are_no_clauses():
    nothing = in_chunks([as_text(BLOBS[0])], pa.string()).slice(0, 0)
    assert SealedSegments().wheres(nothing).to_pylist() == []


def test_a_store_whose_clauses_are_small_binaries_goes_on(tmp_path: Path):
    """A store as it was written once."""
    store = SubscriptionStore.create(tmp_path / "store", sealed=True)
    store.upsert(sealed_wheres())
    (path,) = (store.path / "segments").glob(f"*/{TEXTS}")
    with pa.OSFile(str(path)) as source:
        table = pa.ipc.open_file(source).read_all()
    small = table.set_column(1, "where", table["where"].cast(pa.binary()))
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, small.schema) as out:
        out.write_table(small)
    more = homes().seal(["TRUE"] * 9)
    store.upsert(more.set_column(0, "subscription_id", pa.array(range(100, 109))))
    found = store.subscriptions()
    assert found["where"].type == pa.large_binary()
    assert found["where"].to_pylist() == [*BLOBS, *more["where"].to_pylist()]
