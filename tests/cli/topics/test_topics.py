"""What `caddis topics` explains and refuses before Spark starts, and what it shows at the end."""

import io
import json
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from caddis.cli.topics.cluster import planned
from caddis.cli.topics.command import ClusterOptions, DemoOptions
from caddis.cli.topics.demo import INTERESTS, RATES, write_demo
from caddis.cli.topics.summary import ClusterSummary, CurvePoint
from caddis.spark.topics.reports import ClusteringReport, WaveReport
from caddis.topics.channels.map import ChannelMap

CALL = ("topics", "cluster", "interests.csv", "-k", "2", "--out", "out")


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("interests.csv").write_text("subscriber,topic\nann,tea\nbo,rain\n")
    Path("notes").mkdir()
    Path("notes/diary.txt").write_text("dear diary")
    return tmp_path


@pytest.mark.parametrize("verb", ["cluster", "demo"])
def test_a_verb_explains_itself_with_examples(caddis, verb):
    help_text = caddis("topics", verb, "--help").stdout
    explained, examples = help_text.split("Examples")
    assert "--json" in explained
    assert all(
        line.strip().startswith(f"caddis topics {verb}")
        for line in examples.split("\n")
        if line.strip()
    )


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        (("--rates", "nowhere.csv"), "nowhere.csv: there is no such file or folder"),
        (("--previous", "nowhere"), "nowhere: there is no such file or folder"),
        (("--previous", "notes"), "notes: the name does not show the format"),
        (("--rates", "notes/diary.txt"), "the name does not show the format"),
        (("--curve", "5,many"), "--curve '5,many' is not a list of numbers of channels"),
        (("--curve", "0,5"), "--curve '0,5' is not a list"),
        (("--out", "notes"), "notes exists already"),
        (("--out", "notes", "--overwrite"), "notes holds other things than output"),
    ],
)
def test_a_mistake_is_one_sentence_and_writes_nothing(caddis, files, more, complaint):
    result = caddis(*CALL, *more)
    assert result.exit_code == 1
    assert result.stdout == ""
    assert complaint in result.stderr
    assert sorted(path.name for path in files.iterdir()) == ["interests.csv", "notes"]


@pytest.mark.parametrize("arguments", [("-k", "0"), ("--waves", "0"), ("--out-format", "xml")])
def test_wrong_usage_is_exit_code_2(caddis, files, arguments):
    assert caddis(*CALL, *arguments).exit_code == 2


def test_a_demo_does_not_write_into_a_folder_that_holds_something(caddis, files):
    result = caddis("topics", "demo", "--dir", "notes")
    assert result.exit_code == 1
    assert "notes is not empty; name a new folder with --dir" in result.stderr


def test_plots_ask_for_matplotlib_before_the_work(caddis, files, monkeypatch):
    monkeypatch.setattr("caddis.cli.shell.machine.find_spec", lambda _: None)
    assert "pip install 'caddis[lab]'" in caddis(*CALL).stderr


def options(previous: str) -> ClusterOptions:
    return ClusterOptions(
        interests=Path("interests.csv"),
        channels=2,
        out=Path("out"),
        previous=Path(previous),
        plots=False,
    )


def test_the_folder_of_an_earlier_map_stands_for_the_map(files):
    Path("map").mkdir()
    Path("map/channels.parquet").touch()
    assert planned(options("map")).previous == Path("map/channels.parquet")


@pytest.mark.parametrize("named", ["map", "map/channels.csv"])
def test_the_version_follows_that_of_the_previous_map_however_it_is_named(files, named):
    Path("map").mkdir()
    Path("map/channels.csv").write_text("topic,channel\ntea,0\n")
    plan = planned(options(named))
    assert (plan.previous_version, plan.version) == (None, 1)
    Path("map/channels.json").write_text(ChannelMap({"tea": 0}, version=7).to_json())
    plan = planned(options(named))
    assert (plan.previous_version, plan.version) == (7, 8)


@pytest.mark.parametrize("content", [b"{", b"\xff", b"[]"])
def test_a_versioned_map_that_cannot_be_read_is_refused_before_the_work(caddis, files, content):
    Path("map").mkdir()
    Path("map/channels.csv").write_text("topic,channel\ntea,0\n")
    Path("map/channels.json").write_bytes(content)
    result = caddis(*CALL, "--previous", "map/channels.csv")
    assert result.exit_code == 1
    assert result.stderr.startswith("caddis: map/channels.json: ")


def test_a_demo_makes_up_the_same_people_for_the_same_seed(tmp_path):
    for folder in "ab":
        write_demo(DemoOptions(subscribers=50, topics=20, channels=4, seed=7), tmp_path / folder)
    for name in (INTERESTS, RATES):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def summary() -> ClusterSummary:
    """Ten subscribers: five filter nothing, four 20 %, one 90 %."""
    shares = np.zeros(101, np.int64)
    shares[[0, 20, 90]] = 5, 4, 1
    report = ClusteringReport(
        topics=7, interests=30, random_cost=80.0, start_cost=30.0, cost=20.0, ended="rest"
    )
    report.waves.append(WaveReport(1, 2, 1, 30.0, 0.5))
    curve = [CurvePoint(2, 40.0, 90.0), CurvePoint(4, 20.0, 80.0)]
    return ClusterSummary(4, Path("out"), report, shares, curve, ("channels.csv",), 3.0)


def test_the_summary_for_a_machine():
    shown = json.loads(json.dumps(summary().as_json(), default=str))
    assert shown["subscribers"] == 10
    assert shown["saved"] == 0.75
    assert shown["unwanted_percent"] == {"p50": 0, "p90": 20, "p99": 90}
    assert shown["curve"][0] == {"channels": 2, "cost": 40.0, "random_cost": 90.0}
    assert [wave["moved"] for wave in shown["waves"]] == [1]


def test_the_summary_for_a_person():
    console = Console(file=io.StringIO(), width=80)
    summary().show(console)
    result = console.file.getvalue()  # type: ignore[attr-defined]
    assert "75.0% saved" in result
    assert "no topic wants to move" in result
    assert "In out: channels.csv" in result


@pytest.mark.parametrize(
    ("ended", "words"),
    [
        ("limit", "as many as --waves allows"),
        ("little", "gained little"),
        ("kept", "the map stays"),
    ],
)
def test_the_summary_says_why_there_were_no_more_waves(ended, words):
    console, ended_so = Console(file=io.StringIO(), width=80), summary()
    ended_so.report.ended = ended
    ended_so.show(console)
    assert words in console.file.getvalue()  # type: ignore[attr-defined]
