"""`caddis lab` on the session of the tests, in small: what it draws, and how it goes on."""

import csv
import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from typer.testing import Result

from tests.cli.commands import call

PAPERS = Path(__file__).parents[2] / "docs" / "papers"
FILTERING, BLOCKS, PREFILTERING = (
    "adaptive-filtering",
    "local-building-blocks",
    "bloom-prefiltering",
)
SMALL = {
    FILTERING: "--events 3 --topologies 1 --repeats 2 --brokers 5 --subscriptions 20,40 "
    "--concepts 6,8 --fixed-subscriptions 40 --fixed-concepts 8",
    BLOCKS: "--quick --repeats 2 --few 1 --nodes 40 --largest 500 --subscribers 50 --topics 12",
    PREFILTERING: "--quick --subscriptions 200 --events 20 --largest 300",
}
SMALLER = {
    FILTERING: "--figures 3a --policies air,mec --repeats 1 --subscriptions 20",
    BLOCKS: "--figures 2c",
    PREFILTERING: "--figures targets",
}
MEASURES = 12
"""How many measures a run of adaptive filtering has."""

Lab = Callable[[str, str], Result]


@pytest.fixture
def lab(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    """Call a verb with the size of the tests; options that are given twice count the last time."""
    monkeypatch.chdir(tmp_path)
    return lambda verb, words: call("lab", verb, *shlex.split(f"{SMALL[verb]} {words}"))


def shown(result: Result, *lines: str) -> None:
    """Every pattern is a whole line of the output, which is at most 80 columns wide."""
    assert result.exit_code == 0, result.output
    for line in lines:
        assert re.search(f"^{line}$", result.stdout, re.MULTILINE), line
    assert max(map(len, result.stdout.splitlines())) <= 80


def pictures() -> set[str]:
    return {path.stem for path in Path("seen").glob("*.png")}


def check_nothing_is_run(lab: Lab, verb: str, words: str) -> None:
    runs = Path("seen/runs.csv").read_text()
    again = lab(verb, f"{words} --out seen")
    assert again.exit_code == 0, again.output
    assert "tasks" not in again.stderr
    assert Path("seen/runs.csv").read_text() == runs


def test_adaptive_filtering_is_drawn_and_shown_and_nothing_is_run_twice(lab):
    shown(
        lab(FILTERING, "--figures 3a,3c,frontier --out seen"),
        r"3a: delay, Zipf popularity, 8 concepts \(ms an event\)",
        r"air +[\d.]+ +[\d.]+",
        r"emec +[\d.]+× +[\d.]+×",
        r"frontier@50 +[\d.]+ +[\d.]+× +[\d.]+ +[\d.]+×",
        r"Topologies are made up .*",
    )
    assert pictures() == {"figure-3a", "figure-3c", "figure-3", "frontier"}
    runs = Path("seen/runs.csv").read_text()
    assert len(runs.splitlines()) == 1 + MEASURES * (2 * 5 + 2 * 12)
    check_nothing_is_run(lab, FILTERING, "--figures 3a,3c,frontier --mean brokers")


def test_local_building_blocks_are_drawn_and_shown_and_nothing_is_run_twice(lab):
    shown(
        lab(BLOCKS, "--figures 2a,2b,interests --out seen"),
        r"2a: messages of a vote \(messages a node\)",
        r"complete binary tree( +[\d.]+){5}",
        r"voting, a random map +3( +[\d.e-]+){3}",
        r"Interests are drawn.*",
    )
    assert pictures() == {"figure-2", "figure-2a", "figure-2b", "interests"}
    check_nothing_is_run(lab, BLOCKS, "--figures 2b,first")


def test_prefilters_are_drawn_and_shown_and_nothing_is_run_twice(lab):
    shown(
        lab(PREFILTERING, "--figures tests,times --out seen"),
        r"tests: encrypted tests left \(encrypted tests an event\)",
        r"no prefilter +\d+",
        r"ours +[\d.]+",
        r"Times are those of this machine .*",
    )
    assert pictures() == {"tests", "times", "prefiltering"}
    check_nothing_is_run(lab, PREFILTERING, "--figures compared")


def test_what_was_lost_is_run_again_as_it_was(lab):
    some = "--figures 3a --policies air,mec --out seen"
    lab(FILTERING, some)
    file = Path("seen/runs.csv")
    header, *lines = file.read_text().splitlines(keepends=True)
    file.write_text(header + "".join(lines[1:])[:-5])
    summary = json.loads(lab(FILTERING, f"{some} --json").stdout)
    assert summary["runs"] == len(lines) / MEASURES == 8
    assert set(file.read_text().splitlines(keepends=True)) == {header, *lines}


def test_for_a_machine_there_are_all_numbers(lab):
    some = "--figures 3b,frontier --policies air,emec --out seen --json"
    summary = json.loads(lab(FILTERING, some).stdout)
    assert [cell["line"] for cell in summary["figures"]["3b"]] == ["air"] * 2 + ["emec"] * 2
    [air, *_] = summary["figures"]["frontier"]
    assert (air["line"], air["ratio"], air["x_ratio"]) == ("air", 1.0, 1.0)
    assert {saving["policy"] for saving in summary["less_delay_than_air"]} == {"emec"}
    assert summary["conditions"]["events"] == 3
    assert summary["tasks_left"] == 0
    with Path("seen/figures.csv").open() as file:
        assert {row["figure"] for row in csv.DictReader(file)} == {"3b", "frontier"}


@pytest.mark.parametrize(
    ("verb", "words", "complaint"),
    [
        (FILTERING, "--figures 3e", "there is no figure '3e'"),
        (FILTERING, "--policies air,mek", "did you mean 'mec'?"),
        (FILTERING, "--subscriptions 10,many", "--subscriptions: 'many' is not a number"),
        (FILTERING, "--round-trips nowhere.txt", "nowhere.txt: cannot be read"),
        (FILTERING, "--policies ,", "name at least one figure and one policy"),
        (BLOCKS, "--figures 3a", "there is no figure '3a'"),
        (BLOCKS, "--interests nowhere.json", "nowhere.json: cannot be read"),
        (BLOCKS, "--interests wrong.json", "wrong.json: not an object of lists"),
        (BLOCKS, "--interests latin.json", "latin.json: not a text file"),
        (PREFILTERING, "--figures 2a", "there is no figure '2a'"),
    ],
)
def test_a_mistake_is_reported_before_anything_is_run(lab, verb, words, complaint):
    Path("wrong.json").write_text("[1, 2]")
    Path("latin.json").write_bytes('{"Zoë": ["jazz"]}'.encode("latin-1"))
    result = lab(verb, f"--out seen {words}")
    assert result.exit_code == 1
    assert complaint in result.stderr
    assert not Path("seen").exists()


def test_runs_under_other_conditions_are_not_mixed(lab):
    some = "--figures 3a --policies air --out seen"
    assert lab(FILTERING, some).exit_code == 0
    result = lab(FILTERING, f"{some} --exponent 0.8")
    assert result.exit_code == 1
    assert "seen holds runs with exponent 1.0, not 0.8; choose another --out" in result.stderr


def test_the_largest_tree_and_the_changed_share_are_those_that_were_asked_for(lab):
    some = "--figures growth,upkeep --out seen --largest 1500 --changed 0.05"
    shown(lab(BLOCKS, some), "nodes +1,000 +1,500", "upkeep: after 5% of the inputs changed .*")


def test_real_interests_are_voted_on(lab):
    people = {str(i): ["jazz", "rock"] if i % 3 else ["folk"] for i in range(20)}
    Path("genres.json").write_text(json.dumps(people))
    some = "--figures interests --channels 2 --out seen --interests genres.json --json"
    conditions = json.loads(lab(BLOCKS, some).stdout)["conditions"]
    assert (conditions["subscribers"], conditions["topics"]) == (20, 3)


@pytest.mark.parametrize("verb", SMALL)
def test_the_commands_of_a_page_run_in_small(lab, verb):
    for name in range(1, 6):
        rows = [" ".join(str(abs(i - j) + name) for j in range(8)) for i in range(8)]
        Path(f"PlanetLabData_{name}").write_text("\n".join(rows))
    people = {str(i): [f"genre {i % 5}", f"genre {i % 7}"] for i in range(40)}
    Path("deezer_HU_genres.json").write_text(json.dumps(people))
    page = (PAPERS / f"{verb}.md").read_text()
    blocks = re.findall(r"^```bash\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    commands = [line for block in blocks for line in block.splitlines()]
    assert commands
    for number, line in enumerate(commands):
        assert line.startswith(f"caddis lab {verb} ")
        words = line.removeprefix(f"caddis lab {verb} ")
        own = verb == BLOCKS and "--figures" in words
        smaller = "" if own else SMALLER[verb]
        result = lab(verb, f"{words} {SMALL[verb]} {smaller} --out page-{number}")
        assert result.exit_code == 0, (line, result.output)
