"""Models are found by the name of a built-in one, of a file or of a module."""

import io
import sys
from pathlib import Path

import pytest
from rich.console import Console

from caddis.cli.shell.models import ModelSummary, load_models
from caddis.errors import CaddisError, ModelError
from caddis.models import Model
from caddis.spark import ModelUse

TWO = """
import caddis

LOUD = "!"

@caddis.concept(reads="title")
def shouts(title):
    return title.endswith(LOUD)

@caddis.concept(reads="title")
def short(title):
    return len(title) < 5

the_same = shouts
"""


def written(folder: Path, text: str, name: str = "mine.py") -> str:
    path = folder / name
    path.write_text(text)
    return str(path)


def test_a_file_s_models_come_in_their_order_and_each_once(tmp_path):
    models = load_models([written(tmp_path, TWO)])
    assert [model.name for model in models] == ["shouts", "short"]


def test_a_file_does_not_stay_among_the_modules_so_that_it_travels_by_value(tmp_path):
    from pyspark import cloudpickle

    before = set(sys.modules)
    models = load_models([written(tmp_path, TWO)])
    assert not {name for name in set(sys.modules) - before if "mine" in name}
    Path(tmp_path / "mine.py").unlink()
    shouts, _ = cloudpickle.loads(cloudpickle.dumps(models))
    assert shouts("SALE!")


def test_a_file_may_define_dataclasses(tmp_path):
    text = (
        "from __future__ import annotations\nfrom dataclasses import dataclass\n"
        "@dataclass\nclass Limits:\n    longest: int\n" + TWO
    )
    assert len(load_models([written(tmp_path, text)])) == 2


def test_built_in_ones_and_modules_are_found_by_name(tmp_path, monkeypatch):
    written(tmp_path, TWO, "some_models.py")
    monkeypatch.syspath_prepend(tmp_path)
    models = load_models(["efficientnet-lite1", "some_models", "efficientnet-lite0"])
    assert [model.name for model in models] == [
        "efficientnet_lite1",
        "shouts",
        "short",
        "efficientnet_lite0",
    ]
    assert all(isinstance(model, Model) for model in models)
    monkeypatch.delitem(sys.modules, "some_models")


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        ("efficientnet-lite3", "did you mean 'efficientnet-lite"),
        ("eficientnetlite0", "did you mean 'efficientnet-lite0'?"),
        ("mine", "did you mean 'mine.py'?"),
        ("zzz.zzz", "built in are efficientnet-lite0, "),
        ("nowhere.py", "nowhere.py: there is no such file"),
        ("./mine.txt", "mine.txt is not a Python file"),
    ],
)
def test_what_is_not_there_is_told_with_what_is_near(tmp_path, monkeypatch, spec, complaint):
    monkeypatch.chdir(tmp_path)
    written(tmp_path, TWO)
    written(tmp_path, TWO, "mine.txt")
    with pytest.raises(ModelError, match=complaint.replace(".", r"\.").replace("?", r"\?")):
        load_models([spec])


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("x = 1\n", "bad.py defines no models; turn a function into one with @caddis.concept"),
        ("import caddis\n\nx = missing\n", "bad.py, line 3: NameError: name 'missing' is not"),
        ("def f():\n    return 1 / 0\nf()\n", "bad.py, line 2: ZeroDivisionError: division by"),
        ("x = 1\ndef f(:\n", "bad.py, line 2: SyntaxError: invalid syntax"),
        ("import no_such_thing\n", "bad.py, line 1: ModuleNotFoundError: No module named"),
        ("import sys\nsys.exit(3)\n", "bad.py, line 2: SystemExit: 3"),
        (
            "import caddis\ncaddis.models.efficientnet_lite(7)\n",
            "bad.py, line 2: there is no EfficientNet-Lite7 here",
        ),
    ],
)
@pytest.mark.parametrize("spec", ["bad.py", "bad"])
def test_a_file_or_module_that_fails_is_named_with_its_line(
    tmp_path, monkeypatch, text, complaint, spec
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "bad", raising=False)
    written(tmp_path, text, "bad.py")
    with pytest.raises(CaddisError) as error:
        load_models([spec])
    monkeypatch.delitem(sys.modules, "bad", raising=False)
    assert complaint.replace("bad.py defines", "").strip() in str(error.value)


def test_the_summary_counts_events_without_an_answer_and_fits_80_columns(tmp_path):
    use = ModelUse("efficientnet_lite0(photo)", 1500, 12345, 320, 12, 3, 22_500.0)
    summary = ModelSummary((use,), listed=10)
    assert summary.as_json(tmp_path)["problems"] == 15
    [(_, number, remark)] = summary.rows(tmp_path)
    assert number == "15"
    assert "the first 10 listed in" in remark
    console = Console(file=io.StringIO(), width=80)
    summary.show(console)
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "1,500 12,345   320         12      3   15.0 22.5" in shown


def test_without_models_the_summary_says_nothing_of_them(tmp_path):
    summary = ModelSummary()
    console = Console(file=io.StringIO(), width=80)
    summary.show(console)
    assert console.file.getvalue() == ""  # type: ignore[attr-defined]
    assert summary.rows(tmp_path) == []
    assert summary.as_json(tmp_path) == {"models": [], "problems": 0, "problems_path": None}
