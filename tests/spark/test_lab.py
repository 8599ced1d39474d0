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
PAGE, BLOCKS_PAGE = PAPERS / "adaptive-filtering.md", PAPERS / "local-building-blocks.md"
PREFILTERING_PAGE = PAPERS / "bloom-prefiltering.md"
TINY = "--events 3 --topologies 1 --repeats 2 --brokers 5 --subscriptions 20,40 --concepts 6,8 "
TINY += "--fixed-subscriptions 40 --fixed-concepts 8"
TINIER = "--figures 3a --policies air,mec --repeats 1 --subscriptions 20"
FEW_VOTES = "--quick --repeats 2 --few 1 --nodes 40 --largest 500 --subscribers 50 --topics 12"
FEW_SEALED = "--quick --subscriptions 200 --events 20 --largest 300"
MEASURES = 12
PICTURES = {"figure-3a.png", "figure-3c.png", "figure-3.png", "frontier.png"}


@pytest.fixture
def lab(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Result]:
    return verb("adaptive-filtering", tmp_path, monkeypatch)


@pytest.fixture
def blocks(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Result]:
    return verb("local-building-blocks", tmp_path, monkeypatch)


@pytest.fixture
def prefiltering(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Result]:
    return verb("bloom-prefiltering", tmp_path, monkeypatch)


def verb(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    monkeypatch.chdir(folder)

    def called(words: str) -> Result:
        return call("lab", name, *shlex.split(words))

    return called


def succeeded(result: Result) -> Result:
    assert result.exit_code == 0, result.output
    return result


def assert_line(pattern: str, result: Result) -> None:
    """What was printed has such a line."""
    assert re.search(f"^{pattern}$", result.stdout, re.MULTILINE), result.stdout


def commands(page: Path, name: str) -> list[str]:
    """The commands of a page, without their first words."""
    found = re.findall(r"^```bash\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    lines = [line for block in found for line in block.splitlines()]
    assert lines
    assert all(line.startswith(f"caddis lab {name} ") for line in lines)
    return [line.removeprefix(f"caddis lab {name} ") for line in lines]


def test_figures_are_drawn_and_shown_and_nothing_is_run_twice(lab):
    some = f"--figures 3a,3c,frontier --out seen {TINY}"
    result = succeeded(lab(some))
    assert_line(r"3a: delay, Zipf popularity, 8 concepts \(ms an event\)", result)
    assert_line(r"air +[\d.]+ +[\d.]+", result)
    assert_line(r"emec +[\d.]+× +[\d.]+×", result)
    assert_line(r"frontier@50 +[\d.]+ +[\d.]+× +[\d.]+ +[\d.]+×", result)
    assert "Topologies are made up" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert {path.name for path in Path("seen").glob("*.png")} == PICTURES
    runs = Path("seen/runs.csv").read_text()
    assert len(runs.splitlines()) == 1 + MEASURES * (2 * 5 + 2 * 12)
    again = lab(f"{some} --mean brokers")
    assert "tasks" not in again.stderr
    assert Path("seen/runs.csv").read_text() == runs


def test_what_was_lost_is_run_again_as_it_was(lab):
    some = f"--figures 3a --policies air,mec --out seen {TINY}"
    lab(some)
    file = Path("seen/runs.csv")
    header, *lines = file.read_text().splitlines(keepends=True)
    file.write_text(header + "".join(lines[1:])[:-5])
    result = lab(f"{some} --json")
    assert json.loads(result.stdout)["runs"] == len(lines) / MEASURES == 8
    assert set(file.read_text().splitlines(keepends=True)) == {header, *lines}


def test_for_a_machine_there_are_all_numbers(lab):
    result = lab(f"--figures 3b,frontier --policies air,emec --out seen {TINY} --json")
    summary = json.loads(result.stdout)
    assert [cell["line"] for cell in summary["figures"]["3b"]] == ["air"] * 2 + ["emec"] * 2
    [air, *_] = summary["figures"]["frontier"]
    assert (air["line"], air["ratio"], air["x_ratio"]) == ("air", 1.0, 1.0)
    assert {saving["policy"] for saving in summary["less_delay_than_air"]} == {"emec"}
    assert summary["conditions"]["events"] == 3
    assert summary["tasks_left"] == 0
    with Path("seen/figures.csv").open() as file:
        assert {row["figure"] for row in csv.DictReader(file)} == {"3b", "frontier"}


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("--figures 3e", "there is no figure '3e'"),
        ("--policies air,mek", "did you mean 'mec'?"),
        ("--subscriptions 10,many", "--subscriptions: 'many' is not a number"),
        ("--round-trips nowhere.txt", "nowhere.txt: cannot be read"),
        ("--policies ,", "name at least one figure and one policy"),
    ],
)
def test_a_mistake_is_reported_before_anything_is_run(lab, words, complaint):
    result = lab(f"--out seen {words}")
    assert result.exit_code == 1
    assert complaint in result.stderr
    assert not Path("seen").exists()


def test_runs_under_other_conditions_are_not_mixed(lab):
    some = f"--figures 3a --policies air --out seen {TINY}"
    assert lab(some).exit_code == 0
    result = lab(f"{some} --exponent 0.8")
    assert result.exit_code == 1
    assert "seen holds runs with exponent 1.0, not 0.8; choose another --out" in result.stderr


def test_the_commands_of_the_page_run_in_small(lab):
    for name in range(1, 6):
        rows = [" ".join(str(abs(i - j) + name) for j in range(8)) for i in range(8)]
        Path(f"PlanetLabData_{name}").write_text("\n".join(rows))
    for number, words in enumerate(commands(PAGE, "adaptive-filtering")):
        result = lab(f"{words} {TINY} {TINIER} --out page-{number}")
        assert result.exit_code == 0, (words, result.output)


def test_votes_are_drawn_and_shown_and_nothing_is_run_twice(blocks):
    some = f"--figures 2a,2b,interests --out seen {FEW_VOTES}"
    result = succeeded(blocks(some))
    assert_line(r"2a: messages of a vote \(messages a node\)", result)
    assert_line(r"complete binary tree( +[\d.]+){5}", result)
    assert_line(r"voting, a random map +3( +[\d.e-]+){3}", result)
    assert "Interests are drawn" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80
    drawn = {"figure-2", "figure-2a", "figure-2b", "interests"}
    assert {path.stem for path in Path("seen").glob("*.png")} == drawn
    runs = Path("seen/runs.csv").read_text()
    again = blocks(f"{some} --figures 2b,first")
    assert "tasks" not in again.stderr
    assert Path("seen/runs.csv").read_text() == runs


def test_votes_that_were_lost_are_run_again_as_they_were(blocks):
    some = f"--figures 2a --out seen {FEW_VOTES}"
    blocks(some)
    file = Path("seen/runs.csv")
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(lines)[:-5])
    summary = json.loads(blocks(f"{some} --json").stdout)
    assert (summary["runs"], summary["tasks_left"]) == (2 * 5 * 2, 0)
    assert [cell["runs"] for cell in summary["figures"]["2a"]] == [2] * 10
    assert set(file.read_text().splitlines(keepends=True)) == set(lines)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("--figures 3a", "there is no figure '3a'"),
        ("--interests nowhere.json", "nowhere.json: cannot be read"),
        ("--interests wrong.json", "wrong.json: not an object of lists"),
        ("--interests latin.json", "latin.json: not a text file"),
    ],
)
def test_a_mistake_about_votes_is_reported_before_anything_is_run(blocks, words, complaint):
    Path("wrong.json").write_text("[1, 2]")
    Path("latin.json").write_bytes('{"Zoë": ["jazz"]}'.encode("latin-1"))
    result = blocks(f"--out seen {words}")
    assert result.exit_code == 1
    assert complaint in result.stderr
    assert not Path("seen").exists()


def test_the_largest_tree_and_the_changed_share_are_those_that_were_asked_for(blocks):
    result = blocks(f"--figures growth,upkeep --out seen {FEW_VOTES} --largest 1500 --changed 0.05")
    assert_line(r"nodes +1,000 +1,500", result)
    assert "upkeep: after 5% of the inputs changed" in result.stdout


def test_real_interests_are_voted_on(blocks):
    people = {str(i): ["jazz", "rock"] if i % 3 else ["folk"] for i in range(20)}
    Path("genres.json").write_text(json.dumps(people))
    some = f"--figures interests --channels 2 --out seen {FEW_VOTES}"
    summary = json.loads(blocks(f"{some} --interests genres.json --json").stdout)
    assert (summary["conditions"]["subscribers"], summary["conditions"]["topics"]) == (20, 3)
    result = blocks(some)
    assert result.exit_code == 1
    assert "seen holds runs with interests" in result.stderr


def test_the_commands_of_the_page_on_votes_run_in_small(blocks):
    people = {str(i): [f"genre {i % 5}", f"genre {i % 7}"] for i in range(40)}
    Path("deezer_HU_genres.json").write_text(json.dumps(people))
    for number, words in enumerate(commands(BLOCKS_PAGE, "local-building-blocks")):
        some = "" if "--figures" in words else "--figures 2c"
        result = blocks(f"{words} {FEW_VOTES} {some} --out page-{number}")
        assert result.exit_code == 0, (words, result.output)


def test_prefilters_are_drawn_and_shown_and_nothing_is_run_twice(prefiltering):
    some = f"--figures tests,times --out seen {FEW_SEALED}"
    result = succeeded(prefiltering(some))
    assert_line(r"tests: encrypted tests left \(encrypted tests an event\)", result)
    assert_line(r"no prefilter +\d+", result)
    assert_line(r"ours +[\d.]+", result)
    assert "Times are those of this machine" in result.stdout
    drawn = {"tests", "times", "prefiltering"}
    assert {path.stem for path in Path("seen").glob("*.png")} == drawn
    runs = Path("seen/runs.csv").read_text()
    again = prefiltering(f"{some} --figures compared")
    assert "tasks" not in again.stderr
    assert Path("seen/runs.csv").read_text() == runs
    other = prefiltering(f"{some} --rate 0.01")
    assert "seen holds runs with rate 0.001, not 0.01; choose another --out" in other.stderr


def test_a_mistake_about_prefilters_is_reported_before_anything_is_run(prefiltering):
    result = prefiltering("--out seen --figures 2a")
    assert result.exit_code == 1
    assert "there is no figure '2a'" in result.stderr
    assert not Path("seen").exists()


def test_the_commands_of_the_page_on_prefilters_run_in_small(prefiltering):
    for number, words in enumerate(commands(PREFILTERING_PAGE, "bloom-prefiltering")):
        result = prefiltering(f"{words} {FEW_SEALED} --figures targets --out page-{number}")
        assert result.exit_code == 0, (words, result.output)
