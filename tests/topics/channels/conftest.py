import pytest

from tests.topics.channels.scene import Scene


@pytest.fixture
def scene() -> Scene:
    """Bob receives what Ann publishes about tea."""
    made = Scene()
    made.subscribe("tea")
    made.wait(50)
    return made
