"""Pictures decoded once, whichever models ask for them.

Decoding costs about as much as a small network, so a decoded picture is kept for a while, by the
digest of its encoding. It is shrunk to a short side of `STANDARD` pixels, which is more than
common networks see. How far a picture is shrunk depends on the picture and on what a model needs,
never on which model came first: answers are the same whatever the cache holds.
"""

from __future__ import annotations

import hashlib
import warnings
from collections import OrderedDict
from io import BytesIO
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import numpy as np

from caddis.arrays import Bytes
from caddis.errors import EnvironmentProblem
from caddis.models.model import Unreadable

if TYPE_CHECKING:
    from PIL import Image

STANDARD = 320
"""Pixels of the short side, enough for most networks; for others it is doubled until it is."""
_KEPT = 128 << 20
_LARGEST_FILE = 256 << 20
_ORIENTATION = 0x0112


class PictureCache:
    """The pictures used last, within a number of bytes; `decoded` counts those it had to decode."""

    def __init__(self, limit: int = _KEPT) -> None:
        self.limit = limit
        self.decoded = 0
        self._held = 0
        self._pictures: OrderedDict[tuple[bytes, int], Bytes] = OrderedDict()
        self._lock = Lock()

    def picture(self, encoded: bytes, needed: int) -> Bytes:
        """Red, green and blue of each pixel (height, width, 3), of a picture in whatever format.

        needed: the short side that would suffice; the picture given may be larger or smaller.
        """
        key = (hashlib.blake2b(encoded, digest_size=16).digest(), _detail(needed))
        with self._lock:
            if key in self._pictures:
                self._pictures.move_to_end(key)
                return self._pictures[key]
        picture = decode(encoded, key[1])
        with self._lock:
            self.decoded += 1
            self._keep(key, picture)
        return picture

    def _keep(self, key: tuple[bytes, int], picture: Bytes) -> None:
        if key not in self._pictures:
            self._pictures[key] = picture
            self._held += picture.nbytes
        while self._held > self.limit:
            self._held -= self._pictures.popitem(last=False)[1].nbytes


PICTURES = PictureCache()
"""The cache of this process, which all its models share."""


def encoded_picture(value: bytes | str) -> bytes:
    """The picture that a value holds, or to which it is the path."""
    if isinstance(value, bytes):
        return value
    try:
        path = _path(value)
        if not path.is_file():
            raise Unreadable(f"no such file: {value:.200}")
        if path.stat().st_size > _LARGEST_FILE:
            raise Unreadable(f"more than {_LARGEST_FILE >> 20} MB: {value:.200}")
        return path.read_bytes()
    except OSError as problem:
        raise Unreadable(f"{problem.strerror}: {value:.200}") from None


def decode(encoded: bytes, short_side: int) -> Bytes:
    """Decode a picture, upright, and shrink it to a short side if it is larger."""
    pil = needs_pillow()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", pil.DecompressionBombWarning)
        try:
            with pil.open(BytesIO(encoded)) as image:
                return np.asarray(_upright(image, short_side))
        except MemoryError:
            raise
        except pil.UnidentifiedImageError:
            raise Unreadable("no picture of a known format" if encoded else "empty") from None
        except Exception as problem:
            # A damaged picture can fail in as many ways as there are formats.
            raise Unreadable(" ".join(f"damaged picture: {problem}".split())[:200]) from None


def fit(picture: Bytes, height: int, width: int, crop: float) -> Bytes:
    """The central `crop` of a picture, in the shape asked for."""
    pil = needs_pillow()
    scale = crop * min(picture.shape[0] / height, picture.shape[1] / width)
    tall, wide = height * scale, width * scale
    top, left = (picture.shape[0] - tall) / 2, (picture.shape[1] - wide) / 2
    box = (left, top, left + wide, top + tall)
    resized = pil.fromarray(picture).resize((width, height), pil.Resampling.BICUBIC, box=box)
    return np.asarray(resized)


def needs_pillow() -> Any:
    """Import PIL.Image, or say how to install Pillow."""
    try:
        from PIL import Image
    except ImportError:
        raise EnvironmentProblem("pictures need Pillow: install caddis[images]") from None
    return Image


def _detail(needed: int) -> int:
    detail = STANDARD
    while detail < needed:
        detail *= 2
    return detail


def _path(value: str) -> Path:
    """A path, or a URL as Spark writes them: file:/a/b, file:///a/b."""
    if not value.startswith("file:"):
        return Path(value)
    path = "/" + value.removeprefix("file:").lstrip("/")
    return Path(path) if Path(path).exists() else Path(unquote(path))


def _upright(image: Image.Image, short_side: int) -> Image.Image:
    pil = needs_pillow()
    turn = _turn(image)
    # JPEG can be decoded at a half, a quarter or an eighth; twice the size leaves no trace of it.
    image.draft(None, (2 * short_side, 2 * short_side))
    colours = _colours(image)
    shrink = short_side / min(colours.size)
    if shrink < 1:
        width, height = (max(1, round(side * shrink)) for side in colours.size)
        colours = colours.resize((width, height), pil.Resampling.BICUBIC, reducing_gap=2.0)
    return colours if turn is None else colours.transpose(turn)


def _turn(image: Image.Image) -> Image.Transpose | None:
    """How to turn a picture upright that its camera took sideways."""
    turns = needs_pillow().Transpose
    try:
        orientation = image.getexif().get(_ORIENTATION)
    except Exception:
        # The notes beside a picture may be damaged where the picture is not.
        return None
    by_orientation: dict[object, Image.Transpose] = {
        2: turns.FLIP_LEFT_RIGHT,
        3: turns.ROTATE_180,
        4: turns.FLIP_TOP_BOTTOM,
        5: turns.TRANSPOSE,
        6: turns.ROTATE_270,
        7: turns.TRANSVERSE,
        8: turns.ROTATE_90,
    }
    return by_orientation.get(orientation)


def _colours(image: Image.Image) -> Image.Image:
    """The picture in red, green and blue; what is transparent becomes white, 16 bits become 8."""
    pil = needs_pillow()
    if image.mode.startswith("I;16"):
        grey = np.asarray(image).astype(np.uint16) >> 8
        image = pil.fromarray(grey.astype(np.uint8))
    if image.has_transparency_data:
        layer = image.convert("RGBA")
        image = pil.alpha_composite(pil.new("RGBA", layer.size, "white"), layer)
    return image.convert("RGB")
