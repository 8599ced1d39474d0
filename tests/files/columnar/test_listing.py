"""Which files a path, a pattern or a URI means."""

from pathlib import Path

import pytest

from caddis.errors import EventError
from caddis.files.columnar import list_files
from caddis.files.columnar.listing import _place


def touch(path: Path, content: str = "x") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    return path


def listed(*paths: object) -> list[str]:
    return [file.path for file in list_files([str(path) for path in paths])[1]]


@pytest.mark.parametrize(
    "pattern",
    ["e/*/x.parquet", "e/[ab]/*", "e/{a,b}/x.parquet", "e/?/x.par*", "e", "e/*", "*/{a,b}"],
)
def test_patterns_find_files_and_folders(tmp_path: Path, pattern: str):
    files = [str(touch(tmp_path / f"e/{name}/x.parquet")) for name in "ab"]
    touch(tmp_path / "e/_c/x.parquet")
    assert listed(tmp_path / pattern) == listed(f"file://{tmp_path}/{pattern}") == files


def test_a_name_may_look_like_a_pattern(tmp_path: Path):
    path = touch(tmp_path / "e[1] {a} 50%/x*.parquet")
    assert listed(path) == listed(path.parent) == listed(path, path.parent) == [str(path)]
    assert listed(path.as_uri()) == [str(path)]


def test_a_star_does_not_reach_into_folders(tmp_path: Path):
    touch(tmp_path / "a/b/x.parquet")
    with pytest.raises(EventError, match="no file matches this pattern"):
        listed(tmp_path / "*/x.parquet")


def test_a_path_may_be_relative(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = touch(tmp_path / "e/x.parquet")
    monkeypatch.chdir(tmp_path)
    assert listed("e") == listed("e/*") == [str(path)]


def test_a_uri_leads_to_the_file_system_that_arrow_has_for_it():
    with pytest.raises(EventError, match="mock:/e: there is no such file or folder"):
        listed("mock:/e")
    with pytest.raises(EventError, match=r"nothing://host/x\*: cannot be read: "):
        listed("nothing://host/x*")


def test_an_error_does_not_give_away_credentials():
    with pytest.raises(EventError, match=r"nothing://host/\?/x\*: cannot be read: ") as caught:
        listed("nothing://key:secret@host/?/x*?session_token=secret")
    assert "secret" not in str(caught.value).partition(": cannot be read")[0]


def test_no_paths_at_all_are_an_error():
    with pytest.raises(EventError, match="the list of paths is empty"):
        listed()


def test_only_folders_below_the_one_that_is_given_give_columns(tmp_path: Path):
    path = touch(tmp_path / "e/k=1/x.parquet")
    assert list_files(f"file:{tmp_path}/e")[1][0].partitions == (("k", "1"),)
    assert list_files(path)[1][0].partitions == ()


@pytest.mark.parametrize(
    ("path", "columns"),
    [
        ("k=1/j=2", (("k", "1"), ("j", "2"))),
        ("k=1/deep/er", (("k", "1"),)),
        ("k=1/deep/j=2", (("j", "2"),)),
        ("k=a%3Db/deep", (("k", "a=b"),)),
        ("k=__HIVE_DEFAULT_PARTITION__", (("k", None),)),
        ("_k=1", (("_k", "1"),)),
        ("=1", ()),
    ],
)
def test_names_of_folders_give_columns(
    tmp_path: Path, path: str, columns: tuple[tuple[str, str | None], ...]
):
    touch(tmp_path / path / "x.parquet")
    assert list_files(tmp_path)[1][0].partitions == columns


def test_files_of_two_formats_are_refused_unless_the_format_is_given(tmp_path: Path):
    touch(tmp_path / "x.parquet")
    touch(tmp_path / "x.feather")
    with pytest.raises(EventError, match="files of several formats: arrow, parquet"):
        list_files(tmp_path)
    assert list_files(tmp_path, "arrow")[0] == "arrow"


@pytest.mark.parametrize(
    ("uri", "root", "path"),
    [
        ("s3://b/a?region=eu-west-1", "s3://b/a?region=eu-west-1", "b/a"),
        ("s3://b/a/?/*.pq?region=eu-west-1", "s3://b/a?region=eu-west-1", "b/a/?/*.pq"),
        ("mock:/e/{a,b}", "mock:/e", "e/{a,b}"),
    ],
)
def test_a_uri_may_have_a_pattern_and_options(uri: str, root: str, path: str):
    assert _place(uri) == (root, path)
