"""A bucket for each test, and a cache of its own for what is downloaded from there."""

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from caddis.spark.places.cache import FOLDER, this_machines_cache
from tests.spark.s3 import CREDENTIALS, new_bucket, running_s3


@pytest.fixture(scope="session")
def s3_server() -> Iterator[str]:
    with running_s3() as address:
        yield address


@pytest.fixture
def bucket(s3_server: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[str]:
    """The URI of an empty bucket."""
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv(FOLDER, str(tmp_path / "cache"))
    this_machines_cache.cache_clear()
    yield new_bucket(s3_server, f"caddis-{uuid4().hex}")
    this_machines_cache().release()
    this_machines_cache.cache_clear()
