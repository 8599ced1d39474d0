"""Folders in one file each: what goes in comes out, and equal folders give equal files."""

from pathlib import Path

import pytest

from caddis.spark.places.packing import digest_of, pack, unpack


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "folder"
    (folder / "versions" / "1").mkdir(parents=True)
    (folder / "CURRENT").write_text("1\n")
    (folder / "versions" / "1" / "arrays.npy").write_bytes(bytes(range(256)) * 50)
    (folder / "versions" / "1" / "texts").write_text("only for writers")
    return folder


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in folder.rglob("*")
        if file.is_file()
    }


def test_unpacking_restores_what_was_packed(folder: Path, tmp_path: Path):
    pack(folder, tmp_path / "packed.zip")
    unpack(tmp_path / "packed.zip", tmp_path / "again")
    assert files(tmp_path / "again") == files(folder)


def test_some_files_may_stay_behind(folder: Path, tmp_path: Path):
    pack(folder, tmp_path / "packed.zip", without=("texts",))
    unpack(tmp_path / "packed.zip", tmp_path / "again")
    assert files(folder).keys() - files(tmp_path / "again").keys() == {"versions/1/texts"}


def test_equal_folders_have_equal_digests_whenever_they_were_written(folder: Path, tmp_path: Path):
    first = pack(folder, tmp_path / "first.zip")
    (folder / "CURRENT").touch()
    (folder / "CURRENT").chmod(0o600)
    assert pack(folder, tmp_path / "second.zip") == first == digest_of(tmp_path / "first.zip")
    (folder / "CURRENT").write_text("2\n")
    assert pack(folder, tmp_path / "third.zip") != first
