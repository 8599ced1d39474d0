import pytest

from tests.compiling.packages import SmallPackage


@pytest.fixture
def package(tmp_path):
    return SmallPackage(tmp_path)
