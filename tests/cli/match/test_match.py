"""What `caddis match` refuses before Spark is started."""

import pyarrow as pa
import pytest

INPUTS = ("--events", "offers.jsonl", "--subscriptions", "subscriptions.jsonl")
CALL = ("match", *INPUTS, "--out", "out")


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        (("--events", "nowhere"), "nowhere: there is no such file or folder"),
        (("--subscriptions", "nowhere"), "nowhere: there is no such file or folder"),
        (("--out", "."), "exists already"),
        (("--out", ".", "--overwrite"), "other things than matches"),
        (("--out", "s3a://bucket/out"), "this machine's files"),
        (("--schema", "city"), "the schema cannot be read"),
        (("--timezone", "Mars"), "no time zone 'Mars'"),
        (("--stream",), "offers.jsonl is a file; --stream needs a folder"),
        (("--stream", "--events", "empty", "--format", "csv"), "give them with --schema"),
        (("--events", "empty"), "will have with --format"),
        (("--models", "nowhere.py"), "nowhere.py: there is no such file"),
        (("--models", "efficientnet"), "did you mean 'efficientnet-lite"),
        (("--policy", "foresite"), "did you mean 'foresight'?"),
        (("--subscriptions", "wrong.csv"), "no column 'where', only subscription_id, wher"),
    ],
)
def test_a_mistake_is_one_sentence_and_writes_nothing(caddis, market, more, complaint):
    (market / "empty").mkdir()
    (market / "wrong.csv").write_text("subscription_id,wher\n1,TRUE\n")
    before = sorted(path.name for path in market.iterdir())
    result = caddis(*CALL, *more)
    assert result.exit_code == 1
    assert result.stdout == ""
    [complained] = [line for line in result.stderr.splitlines() if not line.startswith("✓")]
    assert complaint in complained
    assert sorted(path.name for path in market.iterdir()) == before


def test_a_store_whose_subscriptions_call_models_needs_them(caddis, market):
    import caddis as package

    @package.concept(reads="city")
    def far(city):
        return city == "Cork"

    schema = pa.schema([("event_id", pa.int64()), ("city", pa.string())])
    store = package.SubscriptionStore.create("store", schema, models=[far])
    store.upsert(pa.table({"subscription_id": [1], "where": ["far(city)"]}))
    result = caddis(*CALL, "--subscriptions", "store")
    assert result.exit_code == 1
    assert "these subscriptions call models (far); name some with --models" in result.stderr
