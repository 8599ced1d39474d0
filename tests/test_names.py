"""Registries refuse a default that they do not hold."""

from dataclasses import dataclass

import pytest

from caddis.errors import CaddisError
from caddis.names import Registry


@dataclass(frozen=True)
class Tree:
    name: str
    evergreen: bool = False


TREES = [Tree("oak"), Tree("yew", evergreen=True)]


def test_a_default_must_be_registered():
    with pytest.raises(CaddisError, match=r"there is no tree 'elm'\. There are: oak, yew"):
        Registry("tree", TREES, default="elm", error=CaddisError)


def test_a_part_of_a_registry_has_a_default_of_its_own():
    trees = Registry("tree", TREES, default="oak", error=CaddisError)
    evergreen = trees.only(lambda tree: tree.evergreen, default="yew")
    assert evergreen.named(None).name == "yew"
    assert len(evergreen) == 1
