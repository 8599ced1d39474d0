import csv

import pytest

from caddis.models import imagenet_classes, imagenet_concepts
from tests.models.photos import LABELS


def test_there_are_a_thousand_classes_each_of_its_own_name():
    assert len(set(imagenet_classes())) == 1000
    assert imagenet_classes()[0] == "tench"
    assert imagenet_classes()[999] == "toilet tissue"


def test_every_concept_has_classes_and_sql_can_call_it():
    for concept, ids in imagenet_concepts().items():
        assert concept.isidentifier()
        assert concept == concept.lower()
        assert ids
        assert len(set(ids)) == len(ids)
        assert set(ids) <= set(range(1000))


def test_concepts_contain_what_their_name_says():
    concepts = {name: set(ids) for name, ids in imagenet_concepts().items()}
    assert concepts["dog"] == set(range(151, 269))
    for part in ("dog", "cat", "bird", "fish", "snake", "insect", "butterfly", "whale"):
        assert concepts[part] < concepts["animal"]
    for part in ("car", "truck", "bus", "train", "bicycle", "motorcycle", "boat", "aircraft"):
        assert concepts[part] < concepts["vehicle"]
    for part in ("fruit", "vegetable", "bread", "pizza", "dessert", "fast_food", "drink"):
        assert concepts[part] < concepts["food"]


@pytest.mark.skipif(not LABELS.exists(), reason="needs the labelled photos")
def test_names_agree_with_labels_that_others_gave():
    names = imagenet_classes()
    with LABELS.open() as file:
        rows = list(csv.DictReader(file))
    assert [row["label"] for row in rows] == [names[int(row["imagenet_class"])] for row in rows]
