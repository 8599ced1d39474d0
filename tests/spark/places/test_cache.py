"""Archives are downloaded once a machine, checked, and removed when nobody uses them."""

import errno
import fcntl
import multiprocessing
import os
import shutil
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from caddis.errors import EnvironmentProblem, IndexFolderError
from caddis.spark.places import cache
from caddis.spark.places.cache import LocalCache, this_machines_cache
from caddis.spark.places.packing import pack

SPAWN = multiprocessing.get_context("spawn")
SIZE = 1000


@pytest.fixture
def archives(tmp_path: Path) -> dict[str, Path]:
    """Three archives of one file each, by their digests."""
    found = {}
    for letter in "abc":
        folder = tmp_path / letter
        folder.mkdir()
        (folder / "file").write_text(letter * SIZE)
        digest = pack(folder, tmp_path / f"{letter}.zip")
        found[digest] = tmp_path / f"{letter}.zip"
    return found


def copying(archive: Path) -> Callable[[Path], None]:
    def copy(file: Path) -> None:
        file.write_bytes(archive.read_bytes())

    return copy


def fetch_all(kept: LocalCache, archives: dict[str, Path]) -> list[Path]:
    return [kept.fetch(digest, "it", copying(one)) for digest, one in archives.items()]


def test_an_archive_is_downloaded_once_and_unpacked(tmp_path: Path, archives: dict[str, Path]):
    root = tmp_path / "cache"
    folders = fetch_all(LocalCache(root, 10**6), archives)
    assert [folder.joinpath("file").read_text()[0] for folder in folders] == ["a", "b", "c"]
    for archive in archives.values():
        archive.unlink()
    assert fetch_all(LocalCache(root, 10**6), archives) == folders


def test_an_archive_with_another_digest_is_refused_and_leaves_nothing(
    tmp_path: Path, archives: dict[str, Path]
):
    kept = LocalCache(tmp_path / "cache", 10**6)
    (digest, _), (_, other), *_ = archives.items()
    with pytest.raises(IndexFolderError, match="s3://it is damaged: its SHA-256"):
        kept.fetch(digest, "s3://it", copying(other))
    assert [one.suffix for one in kept.root.iterdir()] == [".lock"]
    assert kept.fetch(digest, "it", copying(archives[digest])).is_dir()


def test_the_least_recently_used_archive_is_removed_unless_it_is_in_use(
    tmp_path: Path, archives: dict[str, Path]
):
    root = tmp_path / "cache"
    a, b, c = archives
    user = LocalCache(root, 10**6)
    folder = {one: root / one for one in archives}
    for age, digest in enumerate(archives):
        user.fetch(digest, "it", copying(archives[digest]))
        os.utime(folder[digest], (age, age))
    user.release()
    user.fetch(a, "it", copying(archives[a]))
    os.utime(folder[a], (0, 0))
    tight = LocalCache(root, 2 * SIZE + SIZE // 2)
    tight.fetch(c, "it", copying(archives[c]))
    assert {one for one in archives if folder[one].exists()} == {a, c}
    assert not (root / f"{b}.lock").exists()


def test_what_is_not_the_caches_own_is_left_alone(tmp_path: Path, archives: dict[str, Path]):
    root = tmp_path / "cache"
    other = root / "somebody"
    other.mkdir(parents=True)
    (other / "file").write_text("much" * SIZE)
    fetch_all(LocalCache(root, 0), archives)
    assert (other / "file").exists()


def test_a_removal_that_was_cut_short_leaves_no_folder_in_part(
    tmp_path: Path, archives: dict[str, Path], monkeypatch: pytest.MonkeyPatch
):
    root, (a, b, _) = tmp_path / "cache", archives
    user = LocalCache(root, 10**6)
    user.fetch(a, "it", copying(archives[a]))
    user.release()

    remove = shutil.rmtree

    def killed(folder: Path, *, ignore_errors: bool = False) -> None:
        if folder.name.startswith(a):
            raise KeyboardInterrupt
        remove(folder, ignore_errors=ignore_errors)

    tight = LocalCache(root, 0)
    monkeypatch.setattr(shutil, "rmtree", killed)
    with pytest.raises(KeyboardInterrupt):
        tight.fetch(b, "it", copying(archives[b]))
    assert not (root / a).exists()


def test_what_a_killed_process_left_is_removed(tmp_path: Path, archives: dict[str, Path]):
    root, (a, b, _) = tmp_path / "cache", archives
    left = root / f"{a}.part-1"
    left.mkdir(parents=True)
    (left / "archive").write_text("the beginning")
    LocalCache(root, 10**6).fetch(b, "it", copying(archives[b]))
    assert not left.exists()


def test_what_another_process_downloads_is_not_taken_for_a_leftover(
    tmp_path: Path, archives: dict[str, Path]
):
    root, (a, b, _) = tmp_path / "cache", archives

    def while_another_fetches(file: Path) -> None:
        LocalCache(root, 10**6).fetch(b, "it", copying(archives[b]))
        copying(archives[a])(file)

    assert LocalCache(root, 10**6).fetch(a, "it", while_another_fetches).is_dir()


def test_what_was_deleted_at_its_source_is_named(tmp_path: Path, archives: dict[str, Path]):
    digest, archive = next(iter(archives.items()))
    archive.unlink()
    with pytest.raises(IndexFolderError, match="s3://it is gone"):
        LocalCache(tmp_path / "cache", 10**6).fetch(digest, "s3://it", copying(archive))


def test_a_full_disk_is_named_with_the_remedy(tmp_path: Path, archives: dict[str, Path]):
    def no_room(_: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(IndexFolderError, match=r"No space left.*CADDIS_INDEX_CACHE names another"):
        LocalCache(tmp_path / "cache", 10**6).fetch(next(iter(archives)), "s3://it", no_room)


def test_a_process_holds_on_to_the_last_ones_only(
    tmp_path: Path, archives: dict[str, Path], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(cache, "HELD", 1)
    kept = LocalCache(tmp_path / "cache", SIZE + SIZE // 2)
    fetch_all(kept, archives)
    a, b, c = (kept.root / digest for digest in archives)
    assert (a.exists(), b.exists(), c.exists()) == (False, False, True)


def test_a_lock_that_was_removed_meanwhile_does_not_count(
    tmp_path: Path, archives: dict[str, Path], monkeypatch: pytest.MonkeyPatch
):
    kept, lock = LocalCache(tmp_path / "cache", 10**6), fcntl.flock
    digest = next(iter(archives))

    def removed_just_before(number: int, how: int) -> None:
        monkeypatch.setattr(fcntl, "flock", lock)
        (kept.root / f"{digest}.lock").unlink()
        lock(number, how)

    monkeypatch.setattr(fcntl, "flock", removed_just_before)
    kept.fetch(digest, "it", copying(archives[digest]))
    assert (kept.root / f"{digest}.lock").exists()


def fetch_in_a_process(root: Path, digest: str, archive: Path, log: Path) -> str:
    def download(file: Path) -> None:
        with log.open("a") as out:
            out.write("downloaded\n")
        file.write_bytes(archive.read_bytes())

    return LocalCache(root, 10**6).fetch(digest, "it", download).joinpath("file").read_text()


def test_several_processes_download_once(tmp_path: Path, archives: dict[str, Path]):
    digest, archive = next(iter(archives.items()))
    given = (tmp_path / "cache", digest, archive, tmp_path / "log")
    with ProcessPoolExecutor(3, mp_context=SPAWN) as pool:
        found = list(pool.map(fetch_in_a_process, *([one] * 6 for one in given)))
    assert found == ["a" * SIZE] * 6
    assert (tmp_path / "log").read_text() == "downloaded\n"


def test_the_cache_is_in_the_folder_that_the_environment_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv(cache.FOLDER, str(tmp_path / "named"))
    monkeypatch.setenv(cache.LIMIT, "0.5")
    this_machines_cache.cache_clear()
    assert this_machines_cache().root == tmp_path / "named"
    assert (tmp_path / "named").stat().st_mode & 0o777 == 0o700
    this_machines_cache.cache_clear()
    monkeypatch.setenv(cache.LIMIT, "much")
    with pytest.raises(EnvironmentProblem, match="CADDIS_INDEX_CACHE_GB is 'much'"):
        this_machines_cache()


def test_another_users_cache_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(os, "geteuid", lambda: tmp_path.stat().st_uid + 1)
    with pytest.raises(EnvironmentProblem, match="is another user's"):
        LocalCache(tmp_path, 1)


def test_a_folder_that_cannot_be_made_is_named_with_the_remedy(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(EnvironmentProblem, match="name another folder with CADDIS_INDEX_CACHE"):
        LocalCache(tmp_path / "file" / "cache", 1)


def test_a_link_of_another_user_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "mine").mkdir()
    link = tmp_path / "cache"
    link.symlink_to(tmp_path / "mine")
    LocalCache(link, 1)
    theirs = os.lstat(link)
    monkeypatch.setattr(Path, "lstat", lambda _: os.stat_result((*theirs[:4], 12345, *theirs[5:])))
    with pytest.raises(EnvironmentProblem, match="is another user's"):
        LocalCache(link, 1)
