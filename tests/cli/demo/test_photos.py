"""Frames are made of photos that ship in packages, or of one's own."""

import sys
from pathlib import Path

import pytest
from PIL import Image

from caddis.cli.demo.photos import make_frames, own_photos, wheel_photos
from caddis.errors import CaddisError, EnvironmentProblem
from caddis.lab.workloads.photo_stream import shots


def test_the_packages_have_their_photos():
    assert all(source.path.is_file() for source in wheel_photos())


def test_without_the_packages_it_is_said_how_to_get_them(monkeypatch):
    monkeypatch.setitem(sys.modules, "skimage", None)
    with pytest.raises(EnvironmentProblem, match=r"install caddis\[lab\], or give a folder"):
        wheel_photos()


def test_own_photos_are_all_pictures_below_a_folder(tmp_path):
    for name in ("a.JPG", "b/c.png", "notes.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    found = own_photos(tmp_path)
    assert [source.path.name for source in found] == ["a.JPG", "c.png"]


@pytest.mark.parametrize(
    ("name", "complaint"), [("nowhere", "no such folder"), (".", "holds no photos")]
)
def test_a_folder_without_photos_is_refused(tmp_path, name, complaint):
    with pytest.raises(CaddisError, match=complaint):
        own_photos(tmp_path / name)


def test_a_file_is_made_for_every_shot_and_one_that_is_no_picture_is_passed_on(tmp_path):
    Image.new("RGB", (640, 480), "teal").save(tmp_path / "a.jpg")
    (tmp_path / "b.jpg").write_bytes(b"no picture")
    taken = shots(20, [1, 1], seed=2)
    made: list[int] = []
    paths = make_frames(own_photos(tmp_path), taken, tmp_path / "frames", made.append)
    assert made[-1] == len(paths) == 20
    for shot, path in zip(taken, paths, strict=True):
        assert (Path(path).read_bytes() == b"no picture") == (shot.photo == 1)
