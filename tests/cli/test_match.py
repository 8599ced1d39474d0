"""What `caddis match` refuses before Spark is started."""

import pytest

CALL = ("match", "--events", "offers.jsonl", "--subscriptions", "wishes.jsonl", "--out", "out")


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        (("--events", "nowhere"), "nowhere: there is no such file or folder"),
        (("--subscriptions", "nowhere"), "nowhere: there is no such file or folder"),
        (("--out", "."), "exists already"),
        (("--out", ".", "--overwrite"), "other things than matches"),
        (("--out", "s3a://bucket/out"), "this machine's files"),
        (("--schema", "city"), "--schema cannot be read"),
        (("--timezone", "Mars"), "no time zone 'Mars'"),
        (("--stream",), "offers.jsonl is a file; a stream watches a folder"),
        (("--stream", "--events", "empty", "--format", "csv"), "give them with --schema"),
        (("--events", "empty"), "Say it with --format"),
        (("--subscriptions", "wrong.csv"), "no column 'where', only subscription_id, wher"),
    ],
)
def test_a_mistake_is_one_sentence_and_writes_nothing(caddis, market, more, complaint):
    (market / "empty").mkdir()
    (market / "wrong.csv").write_text("subscription_id,wher\n1,TRUE\n")
    before = sorted(path.name for path in market.iterdir())
    said = caddis(*CALL, *more)
    assert said.exit_code == 1
    assert said.stdout == ""
    [complained] = [line for line in said.stderr.splitlines() if not line.startswith("✓")]
    assert complaint in complained
    assert sorted(path.name for path in market.iterdir()) == before
