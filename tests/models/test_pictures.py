from io import BytesIO

import numpy as np
import pytest
from PIL import Image, ImageOps

from caddis.models.model import Unreadable
from caddis.models.pictures import STANDARD, PictureCache, decode, encoded_picture, fit
from tests.models.photos import encoded, noise, photo, plain


def test_one_decoding_serves_models_of_different_sizes():
    cache = PictureCache()
    content = photo("chelsea.png").read_bytes()
    assert cache.picture(content, 224) is cache.picture(content, 260)
    assert cache.decoded == 1


def test_a_model_that_needs_more_detail_gets_it_whoever_came_first():
    content = encoded(noise((900, 700)), "JPEG")
    small_first, large_first = PictureCache(), PictureCache()
    small, large = small_first.picture(content, 224), small_first.picture(content, 512)
    assert (min(small.shape[:2]), min(large.shape[:2])) == (STANDARD, 2 * STANDARD)
    assert (large_first.picture(content, 512) == large).all()
    assert (large_first.picture(content, 224) == small).all()


def test_the_cache_keeps_what_was_used_last_within_its_limit():
    pictures = [encoded(plain(colour)) for colour in ("red", "green", "blue")]
    cache = PictureCache(limit=2 * 40 * 30 * 3)
    for number in (0, 1, 0, 2, 0):
        cache.picture(pictures[number], 10)
    assert cache.decoded == 3
    cache.picture(pictures[1], 10)
    assert cache.decoded == 4


def test_a_picture_larger_than_the_cache_is_decoded_all_the_same():
    assert PictureCache(limit=10).picture(encoded(plain("red")), 10).shape == (30, 40, 3)


@pytest.mark.parametrize("mode", ["1", "L", "P", "CMYK", "RGBA", "LA", "I;16"])
def test_any_mode_becomes_red_green_and_blue(mode):
    image = plain("white").convert("L").convert(mode) if mode != "I;16" else None
    if image is None:
        image = Image.fromarray(np.full((30, 40), 65535, np.uint16))
    kind = "JPEG" if mode == "CMYK" else "PNG"
    picture = decode(encoded(image, kind), STANDARD)
    assert picture.shape == (30, 40, 3)
    assert picture.min() >= 250


def test_what_is_transparent_is_white():
    glass = Image.new("RGBA", (4, 4), (255, 0, 0, 0))
    assert decode(encoded(glass), STANDARD).min() == 255


@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_picture_taken_sideways_is_set_upright(orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    content = encoded(noise((48, 32)), exif=exif)
    with Image.open(BytesIO(content)) as image:
        expected = np.asarray(ImageOps.exif_transpose(image))
    assert (decode(content, STANDARD) == expected).all()


def test_shrinking_keeps_the_shape_and_what_is_seen():
    image = noise((1600, 1200))
    picture = decode(encoded(image, "JPEG", quality=95), STANDARD)
    assert picture.shape == (320, 427, 3)
    direct = np.asarray(image.resize((427, 320), Image.Resampling.BICUBIC), dtype=float)
    assert np.abs(picture - direct).mean() < 2


def test_the_centre_is_cut_out_before_resizing():
    image = plain("black", (100, 60))
    image.paste((255, 255, 255), (20, 0, 80, 60))
    assert fit(np.asarray(image), 30, 30, crop=0.95).min() == 255
    assert fit(np.asarray(image), 30, 50, crop=1.0).min() == 0


def test_a_file_is_found_by_its_path_or_as_spark_writes_it(tmp_path):
    path = tmp_path / "a b.png"
    path.write_bytes(b"x")
    for value in (path, f"file:{path}", f"file://{path}", path.as_uri()):
        assert encoded_picture(str(value)) == b"x"


def test_a_file_that_is_not_there_is_unreadable(tmp_path):
    for value in (tmp_path / "none.png", tmp_path, "s3://bucket/a.png"):
        with pytest.raises(Unreadable, match="no such file"):
            encoded_picture(str(value))


def test_a_text_that_is_no_path_at_all_is_unreadable():
    for value in ("a\0b", "a" * 5000, "file:/" + "a" * 5000):
        with pytest.raises(Unreadable, match=value[:3]):
            encoded_picture(value)


def test_damaged_pictures_are_unreadable_each_for_its_reason(monkeypatch):
    content = encoded(noise((200, 200)), "JPEG")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100_000)
    for broken, reason in {
        b"": "empty",
        b"no picture": "no picture of a known format",
        content[: len(content) // 2]: "truncated",
        encoded(plain("red", (400, 300))): "decompression bomb",
        encoded(plain("red", (600, 500))): "decompression bomb",
    }.items():
        with pytest.raises(Unreadable, match=reason):
            decode(broken, STANDARD)
