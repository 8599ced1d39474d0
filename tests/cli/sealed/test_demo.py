"""`caddis sealed demo`: its parties, its broker, and how it ends."""

import json
from pathlib import Path

import pyarrow as pa
import pytest

from caddis.cli.sealed.demo import (
    DemoSummary,
    Receipt,
    broker_process,
    design_of,
    make_up,
    plain_matches,
)
from caddis.cli.sealed.opening import OpenedSummary
from caddis.cli.sealed.town import SUBSCRIBERS, Town, settle
from caddis.errors import CaddisError
from caddis.sealed.keys import read_authority
from tests.cli.sealed.homes import MATCHED, shown


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Town:
    made = Town(tmp_path_factory.mktemp("town") / "here")
    settle(made, design_of("tokens"))
    return made


def test_the_broker_of_the_demo_is_given_nothing_secret(town):
    files = [path for path in town.broker.rglob("*") if path.is_file()]
    assert [path.name for path in files] == ["directory.json"]
    secret = json.loads(town.authority.read_text())["content"]["streams"][0]["secret"]
    assert all(secret not in path.read_text() for path in files)
    assert town.authority.stat().st_mode & 0o077 == 0
    assert set(read_authority(town.authority).parties) >= set(SUBSCRIBERS)


def test_the_broker_of_the_demo_is_a_process_whose_failure_is_told(town):
    with pytest.raises(CaddisError, match=r"^the broker failed: events: there is no such file"):
        broker_process(town, "local[1]")


def test_the_demo_makes_up_the_same_for_the_same_seed(town):
    made = [make_up(town, 40, 12, 5) for _ in range(2)]
    assert made[0] == made[1]
    by_epoch, _ = made[0]
    offers = pa.concat_tables(by_epoch.values())
    assert len(offers) == 40
    everything = pa.table({"subscription_id": ["all"], "where": ["city IS NOT NULL"]})
    assert len(plain_matches(everything, offers)) == 40


def test_a_demo_does_not_write_into_a_folder_that_holds_something(caddis, homes):
    result = caddis("sealed", "demo", "--dir", ".")
    assert result.exit_code == 1
    assert ". is not empty; name a new folder with --dir" in result.stderr


def test_the_demo_s_end_says_what_is_equal_and_what_is_not():
    receipts = (Receipt("ann", 25, 20, 9, 9, True), Receipt("bo", 25, 10, 4, 5, False))
    refused = {"NotEntitled": 5}
    stolen = OpenedSummary("dee", "66-6", "offers", 12, 7, refused, 7, 7, 0, Path("x"), 1.0)
    summary = DemoSummary(Path("x"), "aspe", receipts, MATCHED, stolen, 3.0)
    screen = shown(summary)
    assert "NO" in screen
    assert not summary.as_json()["equal"]
    assert "one for 50 pairs" in screen
    assert "not of an accepted epoch" in screen
    assert max(map(len, screen.splitlines())) <= 80
