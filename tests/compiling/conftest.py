from collections.abc import Iterator

import pytest

from tests.compiling.packages import Nursery, SmallPackage


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    nursery = Nursery()
    yield nursery
    nursery.close()


@pytest.fixture
def package(tmp_path, nursery):
    return SmallPackage(tmp_path, nursery)
