"""`caddis sealed` with Spark: the commands of the page on a session of the tests, and the demo."""

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner, Result

from caddis.cli.app import app
from caddis.cli.sealed.command import DemoOptions, MatchOptions
from caddis.cli.sealed.demo import (
    EVENTS,
    MATCHES,
    SUBSCRIPTIONS,
    run_demo,
)
from caddis.cli.sealed.matching import SealedMatchSummary, match_files
from caddis.cli.sealed.town import ATTACKS, Town, with_attacks
from caddis.cli.shell.running import Job

PAGE = Path(__file__).parents[3] / "docs" / "sealed.md"


@pytest.fixture
def caddis(spark: SparkSession) -> Callable[..., Result]:
    def call(*arguments: str) -> Result:
        return CliRunner().invoke(app, list(arguments))

    return call


@pytest.fixture
def page(
    caddis: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> list[str]:
    """The current folder, with the files of the page, after its commands: what they printed."""
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text()
    for name, content in re.findall(
        r"^`([\w.-]+)`:\n\n```\w+\n(.*?)^```", text, re.MULTILINE | re.DOTALL
    ):
        Path(name).write_text(content)
    blocks = re.findall(r"^```bash\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    printed = []
    for line in "".join(blocks).splitlines():
        result = caddis(*shlex.split(line)[1:])
        assert result.exit_code == 0, (line, result.output)
        printed.append(result.stdout)
    return printed


def test_the_commands_of_the_page_give_what_plain_matching_finds(caddis, page):
    rows = Path("mine.csv").read_text().splitlines()
    kept = [line.replace('"', "").split(",")[:2] for line in rows[1:]]
    assert sorted(map(tuple, kept)) == [("1", "1"), ("1", "3"), ("2", "2")]
    matched = next(text for text in page if "encrypted tests" in text)
    assert re.search(r"sealed events +3\b", matched)
    assert re.search(r"refused +0\b", matched)
    secrets = json.loads(Path("authority.json").read_text())["content"]
    assert secrets["signing"] not in "".join(page)

    pq.write_table(with_attacks(pq.read_table("sealed.parquet")), "sealed.parquet")
    sealed = Path("ann-sealed.csv")
    sealed.write_text("subscription_id,where\n4,sealed:AAAA\n")
    again = ["sealed", "match", "sealed.parquet", "--subscriptions", str(sealed), "--json"]
    refused = caddis(*again, "--out", "none")
    assert "subscription 4: this is no sealed subscription" in refused.stderr
    sealed.write_text(sealed.read_text() + "4,sealed:BBBB\n")
    summary = json.loads(caddis(*again, "--out", "none", "--on-invalid", "skip").stdout)
    assert summary["refused"] == dict.fromkeys(ATTACKS, 1)
    assert (summary["events"], summary["invalid"], summary["matches"]) == (7, 2, 0)
    invalid = [json.loads(line) for line in Path("none/_invalid.jsonl").read_text().splitlines()]
    assert [one["error"] for one in invalid if "more than once" in one["error"]]
    reasons = [json.loads(line) for line in Path("none/_refused.jsonl").read_text().splitlines()]
    assert {one["error"] for one in reasons} == set(ATTACKS)


def here(town: Town, master: str) -> SealedMatchSummary:
    """A broker in this process."""
    options = MatchOptions(
        events=town.broker / EVENTS,
        subscriptions=town.broker / SUBSCRIPTIONS,
        out=town.broker / MATCHES,
        directory=town.directory,
        master=master,
    )
    return match_files(options, Job(quiet=True))


@pytest.mark.parametrize("scheme", ["aspe", "tokens"])
def test_what_the_demo_s_subscribers_keep_equals_plain_matching(spark, tmp_path, scheme):
    options = DemoOptions(
        folder=tmp_path / "town", events=300, subscriptions=400, scheme=scheme, master="local[2]"
    )
    summary = run_demo(options, Job(quiet=True), here)
    assert summary.equal
    assert summary.broker.refused == dict.fromkeys(ATTACKS, 1)
    assert (summary.stolen.subscriber, summary.stolen.opened) == ("dee", 150)
    assert summary.stolen.refused["NotEntitled"] == 150 + 1, "one of them came twice"
    assert sum(one.kept for one in summary.receipts) > 0
    assert summary.broker.tests * 10 < summary.broker.pairs
