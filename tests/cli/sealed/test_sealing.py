"""`caddis sealed events` and `caddis sealed subscriptions`: what is written, and for whom."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from caddis.files import read_subscriptions
from caddis.sealed import Directory, Gate, SealedMatcher
from tests.cli.sealed.homes import SUBSCRIPTIONS, WANTED, summary_of


def test_sealed_files_show_nothing_of_what_is_in_them(sealed, subscribe):
    assert subscribe().exit_code == 0
    for file in (sealed, "ann.parquet"):
        table = pq.read_table(file).to_pylist()
        assert not any(word in str(table) for word in ("Galway", "Cork", "city", "price"))


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_a_broker_can_use_sealed_subscriptions_of_any_format(sealed, subscribe, form):
    assert subscribe(out=f"ann.{form}").exit_code == 0
    table = read_subscriptions(Path(f"ann.{form}"))
    publishers = Directory.read(Path("directory.json"))
    matcher = SealedMatcher.compile(table, publishers=publishers)
    [batch] = pq.read_table(sealed).to_batches()
    matches = matcher.match(batch, Gate(publishers).admit(batch))
    ids = batch.column("event_id").take(pa.array(matches.rows)).to_pylist()
    owners = matcher.subscription_ids.take(pa.array(matches.links)).to_pylist()
    assert set(zip(ids, owners, strict=True)) >= WANTED


def test_subscriptions_are_sealed_for_the_epochs_that_overlap(caddis, homes, subscribe):
    caddis("keys", "rotate", "homes")
    caddis("keys", "rotate", "homes")
    caddis("keys", "issue")
    assert summary_of(subscribe("--json"))["epochs"] == [2, 3]
    again = subscribe("--json", "--overwrite", "--epoch", "1", "--epoch", "3")
    assert summary_of(again)["epochs"] == [1, 3]
    assert (
        "has no key to read 'homes' in epoch 4" in subscribe("--overwrite", "--epoch", "4").stderr
    )


def test_invalid_subscriptions_are_reported_and_the_others_sealed(homes, subscribe):
    Path("subscriptions.csv").write_text(SUBSCRIPTIONS + "4,pricee < 1\n")
    assert "did you mean 'price'?" in subscribe().stderr
    assert not Path("ann.parquet").exists()
    summary = summary_of(subscribe("--on-invalid", "skip", "--json"))
    assert (summary["subscriptions"], summary["invalid"][0]["subscription_id"]) == (3, 4)
    assert "did you mean 'price'?" in subscribe("--on-invalid", "skip", "--overwrite").stdout
