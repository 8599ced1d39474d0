"""Files are replaced whole, and one process at a time changes them."""

import os
import stat
import threading

import pytest

from caddis.files import create_file, locked, new_file, replace_file
from caddis.files.atomic import OWNER_ONLY


def test_a_file_is_replaced_whole_and_nothing_is_left_beside_it(tmp_path):
    path = tmp_path / "state.json"
    replace_file(path, "old")
    replace_file(path, b"new")
    assert path.read_bytes() == b"new"
    assert [one.name for one in tmp_path.iterdir()] == ["state.json"]


def test_what_a_dead_writer_left_is_removed_by_the_next_write(tmp_path):
    left = tmp_path / f".state.json.{2**22 + 1}.1.new"
    left.write_text("half")
    replace_file(tmp_path / "state.json", "whole")
    assert not left.exists()


def test_what_a_living_writer_is_writing_stays(tmp_path):
    writing = tmp_path / f".state.json.{os.getppid()}.1.new"
    writing.write_text("half")
    replace_file(tmp_path / "state.json", "whole")
    assert writing.exists()


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    replace_file(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_an_existing_file_is_not_created_again(tmp_path):
    create_file(tmp_path / "key", "first")
    with pytest.raises(FileExistsError):
        create_file(tmp_path / "key", "second")
    assert (tmp_path / "key").read_text() == "first"
    assert [one.name for one in tmp_path.iterdir()] == ["key"]


@pytest.mark.parametrize("umask", [0o000, 0o277])
def test_a_mode_holds_whatever_the_umask_is(tmp_path, umask):
    before = os.umask(umask)
    try:
        replace_file(tmp_path / "key", "secret", mode=OWNER_ONLY)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == OWNER_ONLY


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "state.json"
    replace_file(path, "old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        replace_file(path, "new")
    assert path.read_text() == "old"
    assert [one.name for one in tmp_path.iterdir()] == ["state.json"]


def test_a_lock_keeps_others_out_until_it_is_given_back(tmp_path):
    path = tmp_path / "state.json"
    entered = threading.Event()

    def second() -> None:
        with locked(path):
            entered.set()

    with locked(path):
        with pytest.raises(BlockingIOError), locked(path, wait=False):
            pass
        other = threading.Thread(target=second)
        other.start()
        assert not entered.wait(0.05)
    other.join(10)
    assert entered.is_set()


def test_a_large_file_takes_its_name_when_it_is_whole(tmp_path):
    path = tmp_path / "new" / "events.parquet"
    with new_file(path) as unfinished:
        unfinished.write_text("all of it")
        assert not path.exists()
    assert path.read_text() == "all of it"
    with pytest.raises(FileNotFoundError), new_file(path) as unfinished:
        unfinished.unlink(missing_ok=True)
    assert path.read_text() == "all of it"
    assert [one.name for one in path.parent.iterdir()] == ["events.parquet"]
