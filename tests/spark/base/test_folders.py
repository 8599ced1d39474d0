"""Versions as folders: published whole, read whole, deleted when nobody may ask for them.

A segment is here only a name; a version that removes link k of segment k tells a reader at once
whether it saw a mix of two.
"""

import json
import multiprocessing
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from caddis.errors import IndexFolderError
from caddis.spark.base.folders import KEPT_VERSIONS, Version, VersionFolder, new_folder

SPAWN = multiprocessing.get_context("spawn")


def test_a_place_that_cannot_be_written_to_is_named(tmp_path: Path):
    (tmp_path / "file").touch()
    for place in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(IndexFolderError, match=f"{place} cannot be written to: "):
            new_folder(place)
        with pytest.raises(IndexFolderError, match=f"{place} cannot be written to: "):
            VersionFolder(place).found({})


@pytest.fixture
def folder(tmp_path: Path) -> VersionFolder:
    (tmp_path / "segments").mkdir()
    return VersionFolder(tmp_path)


def publish(folder: VersionFolder, number: int) -> Version:
    """Version `number`: one segment of that name, whose link `number` is dead."""
    name = f"{number:08}"
    folder.segment(name).mkdir()
    return folder.publish((name,), {name: np.array([number], np.int32)})


def is_whole(version: Version) -> bool:
    numbers = {name: list(links) for name, links in version.removed.items()}
    return numbers == {name: [int(name)] for name in version.segments} != {}


def names(folder: Path) -> list[str]:
    return sorted(one.name for one in folder.iterdir())


def test_the_current_version_is_the_one_published_last(folder: VersionFolder):
    for number in range(1, 4):
        published = publish(folder, number)
        assert folder.current_name == published.name
        assert folder.current().segments == published.segments
        assert is_whole(folder.current())


def test_an_earlier_version_can_be_read_by_its_name(folder: VersionFolder):
    first = publish(folder, 1)
    publish(folder, 2)
    assert folder.version(first.name).segments == first.segments
    assert is_whole(folder.version(first.name))


def test_only_the_last_versions_and_their_segments_are_kept(folder: VersionFolder):
    published = [publish(folder, number).name for number in range(1, 3 * KEPT_VERSIONS)]
    assert names(folder.root / "versions") == published[-KEPT_VERSIONS:]
    kept = {
        segment for name in published[-KEPT_VERSIONS:] for segment in folder.version(name).segments
    }
    assert set(names(folder.root / "segments")) == kept


def test_a_segment_lives_as_long_as_a_kept_version_mentions_it(folder: VersionFolder):
    folder.segment("00000001").mkdir()
    for number in range(2, 3 * KEPT_VERSIONS):
        folder.segment(f"{number:08}").mkdir()
        folder.publish(("00000001", f"{number:08}"), {})
    assert folder.segment("00000001").exists()
    assert not folder.segment("00000002").exists()


def test_a_version_that_is_gone_says_how_many_are_kept(folder: VersionFolder):
    first = publish(folder, 1)
    for number in range(2, KEPT_VERSIONS + 2):
        publish(folder, number)
    with pytest.raises(IndexFolderError, match=f"version {first.name} is gone.*{KEPT_VERSIONS}"):
        folder.version(first.name)


def test_names_of_segments_are_not_used_twice(folder: VersionFolder):
    seen = set()
    for _ in range(2 * KEPT_VERSIONS):
        name = folder.new_segment()
        assert name not in seen
        seen.add(name)
        folder.segment(name).mkdir()
        folder.publish((name,), {})


def test_a_folder_without_a_pointer_is_no_store(tmp_path: Path):
    with pytest.raises(IndexFolderError, match="not a subscription store, or this machine cannot"):
        VersionFolder(tmp_path).current()


def test_a_pointer_to_nothing_is_damage(folder: VersionFolder):
    publish(folder, 1)
    (folder.root / "CURRENT").write_text("00000099\n")
    with pytest.raises(IndexFolderError, match="version 00000099 is damaged"):
        folder.current()


def test_a_truncated_manifest_is_damage(folder: VersionFolder):
    name = publish(folder, 1).name
    (folder.root / "versions" / name / "manifest.json").write_text('{"segm')
    with pytest.raises(IndexFolderError, match=f"version {name} is damaged"):
        folder.current()


def test_a_writer_that_died_halfway_leaves_the_last_version_in_force(folder: VersionFolder):
    last = publish(folder, 1)
    half = folder.root / "versions" / "00000002"
    half.mkdir()
    (folder.root / "CURRENT.new").write_text("000")
    assert folder.current().name == last.name
    assert publish(folder, 3).name == folder.current_name


def overtake(folder: VersionFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next manifest that is read: before its reader goes on, many versions are published."""
    read = json.loads

    def slowly(text: str) -> object:
        manifest = read(text)
        monkeypatch.setattr(json, "loads", read)
        first = int(folder.current_name) + 1
        for number in range(first, first + KEPT_VERSIONS + 1):
            publish(folder, number)
        return manifest

    monkeypatch.setattr(json, "loads", slowly)


def test_a_reader_of_the_current_version_that_is_overtaken_turns_to_the_next(
    folder: VersionFolder, monkeypatch: pytest.MonkeyPatch
):
    publish(folder, 1)
    overtake(folder, monkeypatch)
    assert is_whole(folder.current())


def test_a_reader_of_a_named_version_that_is_overtaken_is_told(
    folder: VersionFolder, monkeypatch: pytest.MonkeyPatch
):
    first = publish(folder, 1)
    overtake(folder, monkeypatch)
    with pytest.raises(IndexFolderError, match=f"version {first.name} is gone"):
        folder.version(first.name)


def read_until(root: Path, last: str) -> list[tuple[str, bool]]:
    """Every version that a tight loop of reads saw, and whether it was whole."""
    folder, seen = VersionFolder(root), dict[str, bool]()
    while last not in seen:
        version = folder.current()
        seen[version.name] = is_whole(version) and seen.get(version.name, True)
    return list(seen.items())


def test_a_reader_in_another_process_never_sees_a_broken_version(folder: VersionFolder):
    publish(folder, 1)
    with ProcessPoolExecutor(1, mp_context=SPAWN) as pool:
        pool.submit(read_until, folder.root, "00000001").result()
        reading = pool.submit(read_until, folder.root, "00000200")
        for number in range(2, 201):
            publish(folder, number)
        seen = reading.result(timeout=60)
    assert all(whole for _, whole in seen)
    versions = [name for name, _ in seen]
    assert versions == sorted(versions), "a reader went back"
    assert len(versions) > 5, "reader and writer did not run at the same time"


def write(root: Path, count: int) -> list[str]:
    """Under the lock: one more segment after those of the current version, `count` times."""
    folder, written = VersionFolder(root), []
    for _ in range(count):
        with folder.writing():
            name = folder.new_segment()
            folder.segment(name).mkdir()
            folder.publish((*folder.current().segments, name), {})
        written.append(name)
    return written


def test_writers_in_two_processes_take_turns(folder: VersionFolder):
    folder.publish((), {})
    with ProcessPoolExecutor(2, mp_context=SPAWN) as pool:
        turns = list(pool.map(write, [folder.root] * 2, [100, 100]))
    assert sorted(turns[0] + turns[1]) == list(folder.current().segments)
    assert len(set(turns[0] + turns[1])) == 200


# ------------------------------------------------------------------------- folders of a process


@pytest.mark.parametrize(("keep", "left"), [("False", 0), ("True", 1)])
def test_a_new_folder_goes_with_its_process_unless_it_is_kept(tmp_path: Path, keep: str, left: int):
    program = (
        "import sys; from caddis.spark.base import new_folder; "
        f"folder = new_folder(sys.argv[1], keep={keep}); (folder / 'file').write_text('')"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "parent")], check=True)
    assert len(list((tmp_path / "parent").iterdir())) == left
