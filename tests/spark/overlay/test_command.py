"""`caddis overlay` as a user runs it, with Spark."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner, Result

from caddis.cli.app import app
from tests.spark.overlay.site import notified

PAGE = Path(__file__).parents[3] / "docs" / "overlay.md"


@pytest.fixture
def command(spark: SparkSession) -> Callable[..., Result]:
    return lambda *words: CliRunner().invoke(app, list(words))


def test_the_commands_of_the_page_run(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = PAGE.read_text()
    for name, text in re.findall(
        r"^`([\w./-]+)`:\n\n```\w+\n(.*?)^```", page, re.MULTILINE | re.DOTALL
    ):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(text)
    outputs = []
    for block in re.findall(r"^```bash\n(.*?)^```", page, re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            words = shlex.split(line)[1:]
            endless = words[1] in ("run", "broker") and "--once" not in words
            result = command(*words, *(["--once"] if endless else []))
            assert result.exit_code == 0, (line, result.output)
            outputs.append(result.stdout)
    assert re.search(r"Models ran [\d,]+ times.*are saved", outputs[0], re.DOTALL)
    assert "└── 4 ms ── dublin  2 subscriptions" in outputs[1]
    assert re.search(r"galway +3 +0 +2 +1 +1 +1", outputs[2])
    assert notified(Path("overlay.run")) == {(1, "ann"), (1, "cy"), (3, "bo"), (3, "cy")}


def test_a_mistake_in_the_events_is_one_sentence(command, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "bad.jsonl").write_text('{"event_id": 1}\n{"event_id":')
    schema = 'schema: "event_id BIGINT"\nbrokers:\n  one: {publishes: in}\n'
    (tmp_path / "o.yaml").write_text(schema)
    result = command("overlay", "run", str(tmp_path / "o.yaml"), "--once", "--json")
    assert result.exit_code == 1
    assert "bad.jsonl, line 2 is not JSON" in json.loads(result.stdout)["error"]["message"]
    (tmp_path / "in" / "bad.jsonl").write_text('{"event_id": null}\n')
    result = command("overlay", "run", str(tmp_path / "o.yaml"), "--once")
    assert "'event_id' is null in 1 of the events" in result.stderr
    (tmp_path / "in" / "bad.jsonl").write_text('{"event_id": 7}\n')
    result = command("overlay", "run", str(tmp_path / "o.yaml"), "--once", "--json")
    assert json.loads(result.stdout)["published"] == 1
