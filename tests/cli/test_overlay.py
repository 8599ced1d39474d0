"""Overlay files are checked, drawn and subscribed to without Spark."""

import json
from pathlib import Path

import pytest

from caddis.cli.overlay.summary import OverlaySummary
from caddis.cli.overlay.verbs import show_refusals
from caddis.cli.shell.running import Job
from caddis.spark.overlay.batches import Totals
from caddis.spark.overlay.control import Refusal, subscribed
from caddis.spark.overlay.folder import OverlayFolder
from caddis.spark.overlay.running import BrokerReport

OVERLAY = """
schema: "event_id BIGINT, city STRING, price INT"
models: [models.py]
policy: air
root: cork
brokers:
  galway: {subscriptions: galway.csv, publishes: offers, advertises: "price < 9"}
  cork: {joins: galway, delay_ms: 4.5}
  kerry: {joins: galway, delay_ms: 2}
"""
MODELS = """
import caddis

@caddis.concept(reads="city")
def coastal(city):
    return city in ("Galway", "Cork")
"""
VERBS = ("run", "broker", "subscribe", "unsubscribe", "show", "demo")


@pytest.fixture
def overlay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models.py").write_text(MODELS)
    (tmp_path / "galway.csv").write_text("subscription_id,where\n17,coastal(city)\n18,price > 3\n")
    (tmp_path / "offers").mkdir()
    (tmp_path / "offers" / "a.jsonl").write_text('{"event_id": 1}')
    file = tmp_path / "overlay.yaml"
    file.write_text(OVERLAY)
    return file


def test_the_tree_is_drawn_from_its_root(caddis, overlay):
    result = caddis("overlay", "show", overlay)
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines() == [
        "policy air; models: coastal",
        "",
        "cork",
        f"└── 4.5 ms ── galway  2 subscriptions; publishes {overlay.parent}/offers where price < 9",
        "    └── 2 ms ── kerry",
    ]


def test_the_tree_for_a_program(caddis, overlay):
    printed = json.loads(caddis("overlay", "show", overlay, "--policy", "mec", "--json").stdout)
    assert (printed["policy"], printed["root"], printed["models"]) == ("mec", "cork", ["coastal"])
    galway = printed["brokers"][0]
    assert (galway["neighbours"], galway["subscriptions"]) == (["cork", "kerry"], 2)


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("policy: air", "policy: frontier", "There are: air, ail, mec, emec"),
        ("price INT", "price INTT", "the schema"),
        ("event_id BIGINT, ", "", "no column 'event_id' for the events' key"),
        ("price < 9", "prize < 9", "what broker 'galway' advertises cannot be used: unknown"),
        ("models: [models.py]", "", "name some under 'models' in the file"),
        ("galway.csv", "cork.csv", "cork.csv: there is no such file"),
        ("publishes: offers", "publishes: nowhere", "nowhere: there is no such file or folder"),
        ("publishes: offers", "publishes: models.py", "models.py is a file"),
        ("joins: galway, delay_ms: 2", "delay_ms: 2", "belongs to a link"),
    ],
)
def test_what_is_wrong_with_a_file_is_told(caddis, overlay, old, new, complaint):
    overlay.write_text(OVERLAY.replace(old, new))
    result = caddis("overlay", "show", overlay)
    assert result.exit_code == 1
    assert complaint in result.stderr


def test_an_empty_folder_needs_a_format(caddis, overlay):
    (overlay.parent / "offers" / "a.jsonl").unlink()
    assert "will have with --format" in caddis("overlay", "show", overlay).stderr.lower()
    assert caddis("overlay", "show", overlay, "--format", "csv").exit_code == 0


def test_subscribing_is_a_record_in_the_broker_s_log(caddis, overlay):
    given = ("overlay", "subscribe", "cork", overlay, "--id", "ann", "--where", "price < 5")
    assert "ann is subscribed at cork" in caddis(*given).stdout
    log = OverlayFolder(overlay.with_suffix(".run")).clients("cork")
    assert subscribed(log) == {"ann": "price < 5"}
    back = caddis("overlay", "unsubscribe", "cork", overlay, "--id", "ann", "--json")
    assert json.loads(back.stdout) == {"broker": "cork", "subscription_id": "ann", "where": None}
    assert subscribed(log) == {}


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["subscribe", "corc", "--id", "x", "--where", "TRUE"], "did you mean 'cork'?"),
        (["subscribe", "cork", "--id", "x", "--where", "prize < 5"], "subscription 'x': unknown"),
        (["unsubscribe", "cork", "--id", "x"], "broker 'cork' has no subscription 'x'"),
    ],
)
def test_a_subscription_that_cannot_be_is_refused(caddis, overlay, words, complaint):
    verb, broker, *options = words
    result = caddis("overlay", verb, broker, overlay, *options)
    assert result.exit_code == 1
    assert complaint in result.stderr


def test_the_demo_leaves_other_files_alone(caddis, overlay):
    result = caddis("overlay", "demo", "--dir", overlay.parent)
    assert result.exit_code == 1
    assert "is not empty" in result.stderr


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_examples_that_fit(caddis, verb):
    examples = caddis("overlay", verb, "--help").stdout.split("Examples")[1].split("\n")
    assert all(one.strip().startswith("caddis overlay") for one in examples if one.strip())


def test_what_brokers_skip_is_shown_once(tmp_path, capsys):
    def reports(**reasons: list[str]) -> tuple[BrokerReport, ...]:
        return tuple(
            BrokerReport(name, Totals(), 0, 0, (), tuple(Refusal("", {}, why) for why in some))
            for name, some in reasons.items()
        )

    summary, job = OverlaySummary(tmp_path, "emec", 0.0), Job(quiet=False)
    shown: dict[str, int] = {}
    for now in (reports(galway=["a"], cork=["b"]), reports(galway=["a", "c"], cork=["b"])):
        summary.update(now)
        show_refusals(summary, shown, job)
    result = capsys.readouterr()
    lines = (result.out + result.err).split("\n")
    assert [line.rsplit(" ", 1)[1] for line in lines if line.strip()] == ["a", "b", "c"]


def test_the_help_says_which_policy_holds(caddis):
    result = " ".join(caddis("overlay", "run", "--help").stdout.replace("│", " ").split())
    assert "It overrides the file's policy; the default is emec." in result
    assert "split into." in result
