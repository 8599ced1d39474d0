"""Versions of functions: what they follow, and what leaves them as they are."""

import functools
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from json import loads

import pytest

from caddis.models import FunctionModel, concept
from caddis.models.functions import version_of


class Classifier:
    """Something that is trained, and is no plain value."""

    def __init__(self, weight: int) -> None:
        self.weight = weight

    def __call__(self, text: str) -> bool:
        return len(text) > self.weight

    def predict(self, text: str) -> bool:
        return self(text)


CLASSIFIER = Classifier(1)


def helped(text: str) -> bool:
    return CLASSIFIER.predict(text)


def test_the_version_changes_with_the_code_and_only_with_it():
    def made(limit: int) -> FunctionModel:
        if limit == 3:
            return concept(answers=["long"])(lambda text: len(text) > 3)
        return concept(answers=["long"])(lambda text: len(text) > 4)

    assert made(3).version == made(3).version != made(4).version
    assert concept(version="7", answers=["long"])(len).version == "7"


def test_the_version_changes_with_the_plain_values_that_the_function_names():
    def made(limit: object, extra: int = 0) -> FunctionModel:
        def long(text, more=extra):
            return len(text) + more > limit or long(text)

        return concept()(long)

    assert made(3).version == made(3).version
    others = [made(4), made(3, extra=1), made([3]), made({"a": 3}), made({3})]
    assert len({made(3).version, *(other.version for other in others)}) == 6
    assert made(object()).version == made(object()).version


def test_a_function_that_names_itself_has_a_version():
    @concept()
    def deep(text):
        return deep(text[1:]) if text else True

    assert deep.version


def test_the_version_is_the_same_in_every_process():
    script = """
from caddis.models import concept
@concept()
def city(text):
    return text in {"Galway", "Cork", "Dublin", "Limerick"} or (lambda: text)()
print(city.version)
"""
    versions = {
        subprocess.run(
            [sys.executable, "-c", script],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(versions) == 1


def captured(value: object) -> Callable[[str], object]:
    return lambda _: value


@pytest.mark.parametrize(
    "made",
    [
        captured,
        lambda classifier: classifier,
        lambda classifier: classifier.predict,
        lambda classifier: functools.partial(Classifier.predict, classifier),
        lambda classifier: functools.partial(lambda text, by: by(text), by=classifier),
        lambda classifier: captured([{"in": (classifier,)}]),
        lambda classifier: functools.wraps(len)(captured(classifier)),
        lambda classifier: functools.lru_cache(captured(classifier)),
        lambda classifier: [classifier.weight].__contains__,
    ],
)
def test_a_retrained_classifier_is_another_version_wherever_it_is_held(made):
    one, same, other = (version_of(made(Classifier(weight))) for weight in (1, 1, 2))
    assert one == same != other


@pytest.mark.parametrize(
    "function",
    [
        helped,
        lambda text: not helped(text),
        lambda text: any(CLASSIFIER(word) for word in text.split()),
        lambda text: max(text, key=lambda word: not CLASSIFIER(word)),
        lambda text: [max(word, key=lambda one: not helped(one)) for word in text],
    ],
)
def test_a_retrained_classifier_is_another_version_however_deep_it_is_named(function, monkeypatch):
    before = version_of(function)
    assert version_of(function) == before
    monkeypatch.setitem(globals(), "CLASSIFIER", Classifier(2))
    assert version_of(function) != before


def test_what_does_not_pickle_is_never_taken_for_the_same():
    lock = threading.Lock()
    held = captured(lock)
    assert version_of(held) != version_of(held)


def test_a_list_that_holds_itself_has_a_version():
    holds: list[object] = []
    holds.append(holds)
    assert version_of(lambda: holds)


def test_a_concept_that_calls_another_follows_its_version():
    def calling(version: str) -> FunctionModel:
        called = concept(version=version, answers=["long"])(len)
        return concept(answers=["calls"])(lambda text: not called(text))

    assert calling("1").version == calling("1").version != calling("2").version


def test_a_function_that_is_defined_again_keeps_its_version():
    cell = "@concept()\ndef deep(text):\n    return deep(text[1:]) if text else True\n"
    shell: dict[str, object] = {"concept": concept}
    versions = set()
    for _ in range(3):
        exec(cell, shell)
        versions.add(shell["deep"].version)  # type: ignore[attr-defined]
    assert len(versions) == 1


def test_what_installed_packages_are_made_of_does_not_matter():
    def function(text):
        return not loads(text)

    assert version_of(function) == version_of(function)


def test_functions_that_name_each_other_have_a_version():
    def even(text):
        return not text or odd(text[1:])

    def odd(text):
        return bool(text) and even(text[1:])

    assert version_of(even) != version_of(odd)
