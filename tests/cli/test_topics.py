"""What `caddis topics` explains and refuses before Spark is started, and how it tells the end."""

import io
import json
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from caddis.cli.topics.demo import INTERESTS, RATES, TopicDemo, write_demo
from caddis.cli.topics.order import ClusterOrder
from caddis.cli.topics.summary import ClusterSummary
from caddis.lab.figures.topic_plots import CurvePoint
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
    said = caddis("topics", verb, "--help").stdout
    explained, examples = said.split("Examples")
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
        (("--previous", "notes"), "notes: the name does not tell the format"),
        (("--rates", "notes/diary.txt"), "the name does not tell the format"),
        (("--curve", "5,many"), "--curve '5,many' is no list of channels; write it as 5,10,20,40"),
        (("--curve", "0,5"), "--curve '0,5' is no list"),
        (("--out", "notes"), "notes exists already"),
        (("--out", "notes", "--overwrite"), "notes holds other things than output"),
    ],
)
def test_a_mistake_is_one_sentence_and_writes_nothing(caddis, files, more, complaint):
    said = caddis(*CALL, *more)
    assert said.exit_code == 1
    assert said.stdout == ""
    assert complaint in said.stderr
    assert sorted(path.name for path in files.iterdir()) == ["interests.csv", "notes"]


@pytest.mark.parametrize("arguments", [("-k", "0"), ("--waves", "0"), ("--out-format", "xml")])
def test_wrong_usage_is_exit_code_2(caddis, files, arguments):
    assert caddis(*CALL, *arguments).exit_code == 2


def test_a_demo_does_not_write_into_a_folder_that_holds_something(caddis, files):
    said = caddis("topics", "demo", "--dir", "notes")
    assert said.exit_code == 1
    assert "notes is not empty; name a new folder with --dir" in said.stderr


def test_plots_ask_for_matplotlib_before_the_work(caddis, files, monkeypatch):
    monkeypatch.setattr("caddis.cli.shell.machine.find_spec", lambda _: None)
    assert "pip install 'caddis[lab]'" in caddis(*CALL).stderr


def test_the_folder_of_an_earlier_map_stands_for_the_map(files):
    Path("map").mkdir()
    Path("map/channels.parquet").touch()
    order = ClusterOrder(Path("interests.csv"), 2, Path("out"), previous=Path("map"))
    assert order.previous_map == Path("map/channels.parquet")


@pytest.mark.parametrize("named", ["map", "map/channels.csv"])
def test_the_version_follows_that_of_the_previous_map_however_it_is_named(files, named):
    Path("map").mkdir()
    Path("map/channels.csv").write_text("topic,channel\ntea,0\n")
    order = ClusterOrder(Path("interests.csv"), 2, Path("out"), previous=Path(named))
    assert (order.previous_version, order.version) == (None, 1)
    Path("map/channels.json").write_text(ChannelMap({"tea": 0}, version=7).to_json())
    assert (order.previous_version, order.version) == (7, 8)


@pytest.mark.parametrize("content", [b"{", b"\xff", b"[]"])
def test_a_versioned_map_that_cannot_be_read_is_told_before_the_work(caddis, files, content):
    Path("map").mkdir()
    Path("map/channels.csv").write_text("topic,channel\ntea,0\n")
    Path("map/channels.json").write_bytes(content)
    said = caddis(*CALL, "--previous", "map/channels.csv")
    assert said.exit_code == 1
    assert said.stderr.startswith("caddis: map/channels.json: ")


def test_a_demo_makes_up_the_same_people_for_the_same_seed(tmp_path):
    made = [TopicDemo(tmp_path / name, 50, 20, 4, 7, False, "local[1]") for name in "ab"]
    for demo in made:
        write_demo(demo)
    for name in (INTERESTS, RATES):
        assert (made[0].folder / name).read_bytes() == (made[1].folder / name).read_bytes()


def summary() -> ClusterSummary:
    """Ten subscribers: five filter nothing, four 20 %, one 90 %."""
    shares = np.zeros(101, np.int64)
    shares[[0, 20, 90]] = 5, 4, 1
    report = ClusteringReport(
        topics=7, interests=30, random_cost=80.0, start_cost=30.0, cost=20.0, ended="rest"
    )
    report.waves.append(WaveReport(1, 2, 1, 30.0, 0.5))
    order = ClusterOrder(Path("interests.csv"), 4, Path("out"))
    curve = [CurvePoint(2, 40.0, 90.0), CurvePoint(4, 20.0, 80.0)]
    return ClusterSummary(order, report, shares, curve, ("channels.csv",), 3.0)


def test_the_summary_for_a_machine():
    told = json.loads(json.dumps(summary().as_json(), default=str))
    assert told["subscribers"] == 10
    assert told["saved"] == 0.75
    assert told["unwanted_percent"] == {"p50": 0, "p90": 20, "p99": 90}
    assert told["curve"][0] == {"channels": 2, "cost": 40.0, "random_cost": 90.0}
    assert [wave["moved"] for wave in told["waves"]] == [1]


def test_the_summary_for_a_person():
    console = Console(file=io.StringIO(), width=80)
    summary().show(console)
    said = console.file.getvalue()  # type: ignore[attr-defined]
    assert "75.0% saved" in said
    assert "no topic wants to move" in said
    assert "In out: channels.csv" in said


@pytest.mark.parametrize(
    ("ended", "words"),
    [("limit", "as many as may be"), ("little", "gained little"), ("kept", "the map stays")],
)
def test_the_summary_tells_why_there_were_no_more_waves(ended, words):
    console, found = Console(file=io.StringIO(), width=80), summary()
    found.report.ended = ended
    found.show(console)
    assert words in console.file.getvalue()  # type: ignore[attr-defined]
