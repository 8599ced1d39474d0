"""The commands as a user runs them, on a session of the tests; and twice as processes."""

import json
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from typer.testing import Result

import caddis as package
from tests.cli.commands import call
from tests.spark.program import quickly

SCHEMA = "event_id BIGINT, city STRING, price DOUBLE"
OFFERS = pa.table(
    {
        "event_id": pa.array([1, 2, 3], pa.int64()),
        "city": ["Galway", "Cork", "Galway"],
        "price": [150.0, 90.0, None],
    }
)
SUBSCRIPTIONS = (
    "subscription_id,where\nann,city = 'Galway' AND price < 200\nbo,price IS NULL OR price = 90\n"
)
CALLING = (
    "subscription_id,where\nann,city = 'Galway' AND dear(price)\n"
    "bo,city = 'Cork' AND NOT dear(price) OR city = 'Galway' AND price IS NULL\n"
)
MODELS = """
import caddis

LIMIT = 100

def is_above(price):
    if price < LIMIT:
        raise LookupError("nobody knows")
    return True

@caddis.concept(reads="price", cost=0.1)
def dear(price):
    return is_above(price)
"""
MATCHES = {(1, "ann"), (2, "bo"), (3, "bo")}
PAGE = Path(__file__).parents[2] / "docs" / "cli.md"
STARTING = [sys.executable, "-c", "from caddis.cli import main; main()"]


@pytest.fixture
def caddis(spark: SparkSession) -> Callable[..., Result]:
    return call


@pytest.fixture
def market(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    pq.write_table(OFFERS, "offers.parquet")
    feather.write_feather(OFFERS, "offers.arrow")
    rows = [json.dumps(row) for row in OFFERS.to_pylist()]
    (tmp_path / "offers.jsonl").write_text("\n".join(rows))
    (tmp_path / "offers.csv").write_text(
        "event_id,city,price\n1,Galway,150.0\n2,Cork,90.0\n3,Galway,\n"
    )
    (tmp_path / "subscriptions.csv").write_text(SUBSCRIPTIONS)
    return tmp_path


def arguments(**changes: str) -> list[str]:
    inputs = {"events": "offers.parquet", "subscriptions": "subscriptions.csv"}
    given = {**inputs, "out": "out", **changes}
    return ["match", *(word for name, value in given.items() for word in (f"--{name}", value))]


def found(folder: str, format_: str = "parquet") -> set[tuple[int, str]]:
    rows = ds.dataset(folder, format=format_, exclude_invalid_files=False).to_table().to_pylist()
    assert len(rows) == len({tuple(row.values()) for row in rows})
    return {(int(row["event_id"]), row["subscription_id"]) for row in rows}


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "jsonl", "csv"])
def test_every_format_gives_the_same_matches(caddis, market, suffix):
    out = suffix if suffix != "arrow" else "parquet"
    result = caddis(*arguments(events=f"offers.{suffix}", out=f"out.{out}"))
    assert result.exit_code == 0, result.output
    assert found(f"out.{out}", {"jsonl": "json"}.get(out, out)) == MATCHES
    assert re.search(r"events +3\b.*\nmatches +3 +1 file of \w+ in out", result.stdout)


def test_the_summary_for_a_machine_counts_what_happened(caddis, market):
    (market / "some.csv").write_text(SUBSCRIPTIONS + "dee,pricee < 1\n")
    result = caddis(*arguments(subscriptions="some.csv"), "--on-invalid", "skip", "--json")
    summary = json.loads(result.stdout)
    counts = {name: summary[name] for name in ("events", "matches", "subscriptions", "invalid")}
    assert counts == {"events": 3, "matches": 3, "subscriptions": 3, "invalid": 1}
    [invalid] = Path(summary["invalid_path"]).read_text().splitlines()
    assert "did you mean 'price'?" in json.loads(invalid)["error"]
    assert found("out") == MATCHES


def test_what_is_replaced_is_replaced_as_a_whole(caddis, market):
    assert caddis(*arguments()).exit_code == 0
    assert caddis(*arguments()).exit_code == 1
    (market / "subscriptions.csv").write_text("subscription_id,where\n7,city = 'Cork'\n")
    assert caddis(*arguments(), "--overwrite").exit_code == 0
    assert [row["subscription_id"] for row in pq.read_table("out").to_pylist()] == [7]


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        (
            "e.jsonl",
            '{"event_id": 1, "city": "x", "price": 1}\n{"city": "x"}',
            "'event_id' is null in 1 of the events",
        ),
        ("e.csv", "event_id,city,price\n1,x,1\n1,y,2\n", "occur more than once, such as 1"),
        ("e.jsonl", '{"event_id": 1}\n{"event_id":', "e.jsonl, line 2 is not JSON"),
        ("e.csv", "event_id,city,price\n1,x,1\n2\n", "e.csv: a line cannot be read"),
        ("e.csv", "event_id,city,price,unread\n1,x,1,x\n2,x,1\n", "e.csv: a line cannot be read"),
        ("e.parquet", "not Parquet at all", "e.parquet: cannot be read as Parquet"),
        ("e.csv", "key,city,price\n1,x,1\n", "no column 'event_id' for their key"),
        ("e.jsonl", "", "holds no events"),
        ("e.csv", "event_id,city\n1,x\n", "unknown column 'price'"),
    ],
)
def test_a_mistake_in_the_events_is_one_sentence(caddis, market, name, content, complaint):
    (market / name).write_text(content)
    result = caddis(*arguments(events=name))
    assert result.exit_code == 1
    assert complaint in result.stderr
    assert not re.search(r"\bat (org|java)\.|Traceback|SQLSTATE|Py4J", result.output)
    assert not [path for path in market.iterdir() if "out" in path.name]


def test_files_with_their_columns_in_another_order_are_not_mixed_up(caddis, market):
    (market / "two [2]").mkdir()
    (market / "two [2]" / "a.csv").write_text("event_id,city,price\n1,Galway,1\n")
    (market / "two [2]" / "b.csv").write_text("price,city,event_id\n1,Galway,2\n")
    (market / "subscriptions.csv").write_text("subscription_id,where\n1,city = 'Galway'\n")
    result = caddis(*arguments(events="two [2]"))
    assert result.exit_code == 1
    assert "the first line does not name the columns" in result.stderr


def test_a_stream_goes_on_where_it_ended_and_follows_a_store(caddis, market):
    schema = pa.schema([("event_id", pa.int64()), ("city", pa.string()), ("price", pa.float64())])
    store = package.SubscriptionStore.create("store", schema)
    store.upsert(pa.table({"subscription_id": ["ann"], "where": ["city = 'Galway'"]}))
    stream = [*arguments(events="inbox", subscriptions="store"), "--stream", "--once", "--json"]
    (market / "inbox").mkdir()
    first = caddis(*stream, "--format", "parquet")
    assert json.loads(first.stdout)["events"] == 0
    pq.write_table(OFFERS, "inbox/a.parquet")
    assert json.loads(caddis(*stream).stdout)["matches"] == 2
    store.upsert(pa.table({"subscription_id": ["bo"], "where": ["city = 'Cork'"]}))
    pq.write_table(OFFERS, "inbox/b.parquet")
    third = json.loads(caddis(*stream).stdout)
    assert (third["events"], third["matches"], third["batches"]) == (3, 3, 1)
    afresh = json.loads(caddis(*stream, "--overwrite").stdout)
    assert (afresh["events"], afresh["matches"]) == (6, 6)


def test_a_file_s_models_run_on_spark_and_are_summarised(caddis, market):
    (market / "models.py").write_text(MODELS)
    (market / "subscriptions.csv").write_text(CALLING)
    calling = [*arguments(), "--models", "models.py", "--statistics", "seen.json"]
    result = caddis(*calling)
    assert result.exit_code == 0, result.output
    assert found("out") == {(1, "ann"), (3, "bo")}
    assert re.search(r"^dear\(price\) +2 +0 +0 +0 +1 ", result.stdout, re.MULTILINE)
    line = r"problems +1 +events that a model could not answer, .*\n? *out/_problems"
    assert re.search(line, result.stdout)
    [problem] = Path("out/_problems.jsonl").read_text().splitlines()
    assert json.loads(problem) == {
        "event": 2,
        "column": "price",
        "model": "dear",
        "reason": "LookupError: nobody knows",
        "failed": True,
    }
    assert json.loads(Path("seen.json").read_text())["readings"]


def test_a_stream_with_models_adds_its_problems_to_the_list(caddis, market):
    (market / "models.py").write_text(MODELS)
    (market / "subscriptions.csv").write_text(CALLING)
    (market / "inbox").mkdir()
    stream = [*arguments(events="inbox"), "--stream", "--once", "--models", "models.py", "--json"]
    for name in ("a", "b"):
        pq.write_table(OFFERS, f"inbox/{name}.parquet")
        summary = json.loads(caddis(*stream).stdout)
        assert (summary["problems"], summary["models"][0]["failed"]) == (1, 1)
    assert len(Path("out/_problems.jsonl").read_text().splitlines()) == 2


@pytest.mark.parametrize("more", [[], ["--on-invalid", "skip"]])
def test_subscriptions_that_call_models_ask_for_the_option(caddis, market, more):
    (market / "subscriptions.csv").write_text(CALLING)
    result = caddis(*arguments(), *more)
    invalid = Path("out/_invalid.jsonl")
    errors = invalid.read_text() if more else result.stderr
    assert "no models are given; name some with --models" in errors


def test_a_model_that_fails_stops_the_match_if_asked_to(caddis, market):
    (market / "models.py").write_text(MODELS)
    (market / "subscriptions.csv").write_text(CALLING)
    result = caddis(*arguments(), "--models", "models.py", "--on-error", "raise")
    assert result.exit_code == 1
    assert "the model 'dear' failed on event 2: LookupError: nobody knows" in result.stderr
    assert not Path("out").exists()


def test_the_demo_shows_who_got_what(caddis):
    result = caddis("demo", "--subscriptions", "2000", "--events", "2000")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith(
        "A marketplace: 2,000 offers against 2,000 standing subscriptions."
    )
    assert re.search(r"offers/s +[\d,.]+ +warm pass", result.stdout)
    assert "others" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_both_demos_run_one_after_the_other_and_draw_a_contact_sheet(caddis, tmp_path):
    sheet = tmp_path / "new" / "sheet.html"
    some = ["--events", "50", "--frames", "60", "--subscriptions", "20", "--out", str(sheet)]
    result = caddis("demo", "both", *some)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("A marketplace: 50 offers against 20 standing subscriptions.")
    assert "\nA picture stream: 60 frames against 20 standing subscriptions, and" in result.stdout
    assert re.search(r"launch-watch +rocket\(photo\) OR aircraft\(photo\) +[1-9]", result.stdout)
    assert re.search(r"^efficientnet_lite0\(photo\) +\d+", result.stdout, re.MULTILINE)
    html = sheet.read_text()
    assert html.count("<section>") == 12
    assert '<span class="yes">rocket</span>' in html


def test_the_doctor_runs_a_job_in_a_worker(caddis):
    checks = {one["name"]: one for one in json.loads(caddis("doctor", "--json").stdout)["checks"]}
    assert checks["Spark"]["status"] == "ok"
    assert f"at {sys.executable}" in checks["workers"]["found"]


def test_the_commands_of_the_page_run(caddis, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = PAGE.read_text()
    for name, text in re.findall(
        r"^`([\w.-]+)`:\n\n```\w+\n(.*?)^```", page, re.MULTILINE | re.DOTALL
    ):
        Path(name).write_text(text)
    Path("inbox").mkdir()
    for language, block in re.findall(
        r"^```(bash|python)\n(.*?)^```", page, re.MULTILINE | re.DOTALL
    ):
        if language == "python":
            exec(compile(block, str(PAGE), "exec"), {})
            continue
        for line in block.splitlines():
            words = shlex.split(line)
            endless = "--stream" in words and "--once" not in words
            result = caddis(*words[1:], *(["--once"] if endless else []))
            assert result.exit_code == 0, (line, result.output)


@pytest.mark.spark
def test_a_mistake_that_only_a_worker_sees_makes_no_noise(market):
    (market / "bad.jsonl").write_text('{"city": "x", "price": 1}\n{"event_id": 1}\n')
    command = [*STARTING, *arguments(events="bad.jsonl"), "--master", "local[1]"]
    done = subprocess.run(command, env=quickly(), capture_output=True, text=True, check=False)
    lines = [
        line for line in done.stderr.splitlines() if not line.startswith(("✓ ", "  Matching: "))
    ]
    assert lines == ["caddis: null keys: 'event_id' is null in 1 of the events"]
    assert done.stdout == ""
    assert done.returncode == 1


@pytest.mark.spark
def test_ctrl_c_ends_a_stream_cleanly_with_what_it_did(market):
    (market / "inbox").mkdir()
    pq.write_table(OFFERS, "inbox/a.parquet")
    given = [*arguments(events="inbox"), "--stream", "--json", "--master", "local[1]"]
    stream = subprocess.Popen(
        [*STARTING, "--log-level", "debug", "--log-format", "json", *given],
        env=quickly(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert stream.stderr is not None
    messages = (json.loads(line)["message"] for line in stream.stderr)
    assert "micro-batch 1: 3 events, 3 matches" in messages
    stream.send_signal(signal.SIGINT)
    stdout, stderr = stream.communicate(timeout=60)
    *logged, last = stderr.splitlines()
    assert last == "caddis: stopped"
    assert all(json.loads(line)["logger"].startswith("caddis.") for line in logged)
    assert json.loads(stdout)["matches"] == 3
    assert stream.returncode == 130
    assert found("out") == MATCHES
