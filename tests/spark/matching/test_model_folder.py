"""What the workers of a match share about its models."""

import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pytest

from caddis.errors import IndexFolderError, ModelError
from caddis.language import Column
from caddis.models import OnnxImages, Reading, Statistics, Tally, concept
from caddis.spark.matching.model_folder import ModelFolder
from caddis.spark.matching.reporting import KEPT, KeyedProblem, ReportFolder
from caddis.spark.matching.reports import Report
from tests.models.graphs import colour_graph


@concept(reads="title", cost=5.0)
def shouts(title):
    return title.isupper()


READING = Reading(shouts, Column(("title",), pa.string()))


def a_tally(runs: int, yes: int, milliseconds: float) -> Tally:
    counts = np.array([yes]), np.array([runs])
    return Tally(
        needed=runs + 1, runs=runs, milliseconds=milliseconds, yes=counts[0], known=counts[1]
    )


@pytest.fixture
def folder(tmp_path) -> ModelFolder:
    return ModelFolder.create(tmp_path / "models", [shouts], None)


def test_models_come_back_as_they_went_and_large_ones_lie_in_files(tmp_path):
    colours = OnnxImages(colour_graph(), {"red": [0]}, scores="logits", name="colours")
    folder = ModelFolder.create(tmp_path / "models", [shouts, colours], None)
    back = ModelFolder(folder.path).catalogue
    assert [model.name for model in back.models] == ["shouts", "colours"]
    assert [model.version for model in back.models] == [shouts.version, colours.version]
    assert len(list(folder.path.glob("*.onnx"))) == 1
    assert (folder.path / "models.pickle").stat().st_size < 10_000


def test_what_tasks_did_adds_up_whoever_tells_it(folder):
    with ThreadPoolExecutor(8) as pool:
        tellings = [
            pool.submit(ModelFolder(folder.path).add, [READING], [a_tally(10, 3, 50.0)], [])
            for _ in range(40)
        ]
    assert [telling.exception() for telling in tellings] == [None] * 40
    tally = folder.tallies()["shouts(title)"]
    assert (tally.needed, tally.runs, tally.saved, tally.milliseconds) == (440, 400, 40, 2000.0)
    assert folder.statistics().selectivity(READING, "shouts") == pytest.approx(0.3, abs=0.01)
    assert folder.statistics().cost(READING) == pytest.approx(5.0)


def test_statistics_are_seeded_from_a_file_and_saved_back_to_it(tmp_path):
    path = tmp_path / "seen.json"
    before = Statistics()
    before.learn(READING, a_tally(1000, 900, 2000.0))
    before.save(path)
    folder = ModelFolder.create(tmp_path / "models", [shouts], path)
    assert folder.statistics().selectivity(READING, "shouts") > 0.85
    folder.add([READING], [a_tally(20_000, 0, 40_000.0)], [])
    assert Statistics.load(path).selectivity(READING, "shouts") < 0.05


def test_a_file_that_does_not_exist_yet_is_begun(tmp_path):
    ModelFolder.create(tmp_path / "models", [shouts], tmp_path / "new.json")
    assert Statistics.load(tmp_path / "new.json").cost(READING) == 5.0


def test_a_file_in_a_folder_that_does_not_exist_is_refused(tmp_path):
    with pytest.raises(ModelError, match=r"seen\.json: there is no folder .*absent"):
        ModelFolder.create(tmp_path / "models", [shouts], tmp_path / "absent" / "seen.json")


def test_a_damaged_file_of_statistics_is_named_before_anything_runs(tmp_path):
    path = tmp_path / "seen.json"
    path.write_text("{}")
    with pytest.raises(ModelError, match=r"seen\.json"):
        ModelFolder.create(tmp_path / "models", [shouts], path)


def test_problems_are_kept_with_their_events_and_not_without_end(folder):
    one = KeyedProblem(7, "photo", "lite", "no such file: a.jpg", False)
    other = KeyedProblem("b", "photo", "lite", "ValueError: no", True)
    folder.add([READING], [a_tally(1, 0, 1.0)], [one, other])
    assert ReportFolder(folder.path).problems() == [one, other]
    folder.add([READING], [a_tally(1, 0, 1.0)], [one] * (KEPT + 5))
    assert len(ReportFolder(folder.path).problems()) == KEPT


def test_a_table_without_problems_has_the_types_of_one_with_some():
    problems = Report().problems
    assert problems.num_rows == 0
    names = {field.name: str(field.type) for field in problems.schema if field.name != "event"}
    assert names == {"column": "string", "model": "string", "reason": "string", "failed": "bool"}


def test_a_key_that_json_does_not_know_is_kept_as_text(folder):
    import datetime as dt

    folder.add(
        [READING],
        [a_tally(1, 0, 1.0)],
        [KeyedProblem(dt.date(2026, 5, 1), "photo", "lite", "empty", False)],
    )
    assert ReportFolder(folder.path).problems()[0].event == "2026-05-01"


def test_a_folder_that_workers_do_not_see_is_said_to_be_needed_everywhere(tmp_path):
    with pytest.raises(IndexFolderError, match="must lie where the driver and every worker"):
        _ = ModelFolder(tmp_path / "gone").catalogue


def test_a_report_shows_what_a_folder_holds_and_nothing_before(folder):
    report = Report()
    assert report.problems.num_rows == 0
    report.begin(ReportFolder(folder.path))
    problem = KeyedProblem(7, "title", "shouts", "ValueError: no", True)
    folder.add([READING], [a_tally(4, 1, 8.0)], [problem])
    (use,) = report.models
    assert (use.name, use.runs, use.saved, use.milliseconds) == ("shouts(title)", 4, 1, 8.0)
    assert report.problems.to_pylist() == [
        {
            "event": 7,
            "column": "title",
            "model": "shouts",
            "reason": "ValueError: no",
            "failed": True,
        }
    ]


def test_a_tally_file_is_plain_json(folder):
    folder.add([READING], [a_tally(4, 1, 8.0)], [])
    assert json.loads((folder.path / "tallies.json").read_text())["shouts(title)"]["runs"] == 4
