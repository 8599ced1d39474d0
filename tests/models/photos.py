"""Real photos that ship in wheels, and pictures made up."""

import importlib.util
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

LABELS = Path(__file__).resolve().parents[3] / "shared" / "data" / "photos" / "labels.csv"
"""The classes of photos beside it, on machines that have them."""
PACKAGES = {"skimage": "data", "sklearn": "datasets/images"}


def photo(name: str) -> Path:
    """A photo out of scikit-image (chelsea.png) or scikit-learn (china.jpg)."""
    for package, folder in PACKAGES.items():
        spec = importlib.util.find_spec(package)
        assert spec is not None
        assert spec.origin is not None
        path = Path(spec.origin).parent / folder / name
        if path.is_file():
            return path
    raise FileNotFoundError(name)


def plain(colour: str | tuple[int, ...], size: tuple[int, int] = (40, 30)) -> Image.Image:
    return Image.new("RGB", size, colour)


def noise(size: tuple[int, int], seed: int = 1) -> Image.Image:
    """A soft random picture, wide by high."""
    small = np.random.default_rng(seed).integers(0, 256, (8, 8, 3), dtype=np.uint8)
    return Image.fromarray(small).resize(size, Image.Resampling.BICUBIC)


def encoded(image: Image.Image, kind: str = "PNG", **options: Any) -> bytes:
    file = BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()
