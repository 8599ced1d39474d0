"""Names tell a path's format; hidden files are no data; output is never lost by accident."""

from pathlib import Path

import pytest

from caddis.errors import CaddisError, EventError
from caddis.files.events import first_bad_line, naming_bad_lines
from caddis.files.formats import existing, format_of, named_format, text_of
from caddis.files.output import (
    check_free,
    check_free_file,
    forget_checkpoint,
    publish,
    staging_folder,
)


@pytest.mark.parametrize(
    ("name", "format_"),
    [
        ("a.parquet", "parquet"),
        ("a.PQ", "parquet"),
        ("a.ndjson", "jsonl"),
        ("a.json.gz", "jsonl"),
        ("a.csv.bz2", "csv"),
        ("a.gz", None),
        ("csv", None),
    ],
)
def test_a_name_tells_the_format(name, format_):
    assert named_format(Path(name)) == format_


def test_a_folder_s_format_is_that_of_its_data(tmp_path):
    for name in ("_SUCCESS", ".part-0.csv.crc", "part-0.csv", "day=1/part-1.csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert format_of(tmp_path, EventError) == "csv"


@pytest.mark.parametrize(
    ("names", "complaint"),
    [
        ([], "is empty"),
        (["a.csv", "b.jsonl"], "several formats: csv, jsonl"),
        (["a.txt"], "does not show the format"),
    ],
)
def test_a_folder_without_one_format_is_refused(tmp_path, names, complaint):
    for name in names:
        (tmp_path / name).touch()
    with pytest.raises(EventError, match=complaint):
        format_of(tmp_path, EventError)


def test_other_machines_files_are_refused():
    with pytest.raises(EventError, match="this machine's files"):
        existing(Path("s3a://bucket/offers"), EventError)


def test_an_existing_folder_is_refused_unless_it_shall_be_replaced(tmp_path):
    (tmp_path / "part-0.csv").touch()
    with pytest.raises(CaddisError, match="exists already"):
        check_free(tmp_path, overwrite=False)
    check_free(tmp_path, overwrite=True)


def test_what_is_not_output_is_never_replaced(tmp_path):
    (tmp_path / "thesis.tex").touch()
    for place in (tmp_path, tmp_path / "thesis.tex"):
        with pytest.raises(CaddisError, match="other things than matches"):
            check_free(place, overwrite=True)


def test_what_is_written_appears_as_a_whole_and_replaces_the_old(tmp_path):
    out = tmp_path / "deep" / "out"
    for text in ("old", "new"):
        with staging_folder(out) as staging:
            staging.mkdir()
            (staging / f"part-{text}").touch()
            publish(staging, out)
    assert [file.name for file in out.iterdir()] == ["part-new"]
    assert [folder.name for folder in out.parent.iterdir()] == ["out"]


def test_what_is_half_written_is_removed(tmp_path):
    with staging_folder(tmp_path / "out") as staging:
        staging.mkdir()
        (staging / "part-0").touch()
    assert list(tmp_path.iterdir()) == []


def test_only_a_checkpoint_is_forgotten(tmp_path):
    (tmp_path / "offsets").mkdir()
    (tmp_path / "photos").mkdir()
    with pytest.raises(CaddisError, match="holds 'photos'"):
        forget_checkpoint(tmp_path)
    (tmp_path / "photos").rmdir()
    forget_checkpoint(tmp_path)
    assert not tmp_path.exists()


def test_a_line_that_is_not_json_is_named(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"a": 1}\n\n{"a":\n')
    assert (
        first_bad_line(tmp_path)
        == f"{tmp_path}/a.jsonl, line 3 is not JSON: Expecting value, column 6"
    )
    with pytest.raises(EventError, match="line 3"), naming_bad_lines(tmp_path, "jsonl"):
        raise EventError("something")


def test_lines_that_are_json_are_not_blamed(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"a": 1}\n')
    with pytest.raises(EventError, match="something"), naming_bad_lines(tmp_path, "jsonl"):
        raise EventError("something")


def test_a_file_is_refused_where_a_folder_or_another_file_is(tmp_path):
    with pytest.raises(CaddisError, match="is a folder; --out names a file"):
        check_free_file(tmp_path, overwrite=True)
    (tmp_path / "a.csv").touch()
    with pytest.raises(CaddisError, match="exists already"):
        check_free_file(tmp_path / "a.csv", overwrite=False)
    check_free_file(tmp_path / "a.csv", overwrite=True)


def test_what_is_no_text_is_refused(tmp_path):
    (tmp_path / "a.yaml").write_bytes(b"\xff\xfe")
    with pytest.raises(EventError, match="not a text file"):
        text_of(tmp_path / "a.yaml", EventError)
    with pytest.raises(EventError, match="cannot be read: No such file"):
        text_of(tmp_path / "nowhere", EventError)
