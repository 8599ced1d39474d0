"""Graphs that tests make are kept for the tests alone."""

import pytest

from caddis.models import OnnxImages, efficientnet_lite


@pytest.fixture(scope="session", autouse=True)
def cache_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        yield folder / "caddis"


@pytest.fixture(scope="session")
def lite0(cache_folder) -> OnnxImages:
    return efficientnet_lite(0, reads="photo")
