"""The contact sheet is one file that needs nothing else, whatever names it shows."""

import re

import pytest
from PIL import Image

from caddis.cli.demo.contact_sheet import (
    THUMBNAIL,
    Frame,
    Section,
    Sheet,
    as_html,
    thumbnail,
    write_sheet,
)
from caddis.spark import ModelUse


@pytest.fixture
def jpeg(tmp_path) -> bytes:
    Image.new("RGB", (400, 900), "teal").save(tmp_path / "photo.jpg")
    return thumbnail(str(tmp_path / "photo.jpg"))


def sheet(*sections: Section) -> Sheet:
    use = ModelUse("lite<0>(photo)", 30, 70, 5, 2, 1, 600.0)
    return Sheet((("frames", "2,000"),), (use,), sections)


def test_it_shows_the_frames_with_the_answers_that_made_them_match(jpeg):
    frame = Frame(jpeg, "roof-cork, 08:15", (("cat", "yes"), ("building", "no")))
    html = as_html(sheet(Section("cats", "cat(photo)", 40, (frame, frame))))
    assert html.count('src="data:image/jpeg;base64,') == 2
    assert "40 frames, 2 shown" in html
    assert '<span class="yes">cat</span><span class="no">building</span>' in html
    assert "roof-cork, 08:15" in html


def test_it_tells_what_models_did():
    html = as_html(sheet())
    assert "<td>30</td><td>70</td>" in html
    assert "--share:0.700" in html
    assert "<td>3</td><td>20.0</td><td>0.6</td>" in html


def test_a_subscription_that_got_nothing_says_so():
    assert "Nothing came by." in as_html(sheet(Section("dogs", "dog(photo)", 0, ())))


def test_names_and_clauses_are_never_taken_for_html():
    where = "city = '<script>' AND price < 3 & \"x\""
    html = as_html(sheet(Section("<b>", where, 0, ())))
    assert "<script" not in html
    assert "&lt;b&gt;" in html
    assert "price &lt; 3 &amp; &quot;x&quot;" in html
    assert "lite&lt;0&gt;(photo)" in html


def test_it_asks_for_nothing_from_elsewhere(jpeg):
    frame = Frame(jpeg, "", ())
    html = as_html(sheet(Section("cats", "cat(photo)", 1, (frame,))))
    assert not re.search(r"https?:|//|@import|<link|<script|url\(", html.split("base64,")[0])
    assert not re.search(r'(src|href)="(?!data:)', html)


def test_light_and_dark_are_both_drawn():
    html = as_html(sheet())
    assert "color-scheme: light dark" in html
    assert "prefers-color-scheme: dark" in html


def test_thumbnails_have_one_shape(jpeg, tmp_path):
    (tmp_path / "small.jpg").write_bytes(jpeg)
    with Image.open(tmp_path / "small.jpg") as small:
        assert small.size == THUMBNAIL


def test_a_sheet_is_replaced_as_a_whole(tmp_path):
    path = tmp_path / "new" / "sheet.html"
    for name in ("first", "second"):
        write_sheet(path, sheet(Section(name, "", 0, ())))
    assert "second" in path.read_text()
    assert [file.name for file in path.parent.iterdir()] == ["sheet.html"]
