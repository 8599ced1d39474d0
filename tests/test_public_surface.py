"""What `import caddis` gives, and what it does not drag in."""

import logging
import subprocess
import sys
from operator import attrgetter
from pathlib import Path

import pytest

import caddis
from caddis import files, lab, sealed, spark

SOURCES = Path(caddis.__file__).parent


def loaded_by(statement: str) -> set[str]:
    """The modules that a fresh interpreter has after a statement."""
    script = f"{statement}\nimport sys\nsys.stdout.write(' '.join(sys.modules))"
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=SOURCES.parent)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "package",
    [caddis, files, lab, sealed, spark],
    ids=lambda one: one.__name__,
)
def test_everything_that_a_lazy_door_offers_exists(package):
    missing = [name for name in package.__all__ if getattr(package, name, None) is None]
    assert missing == []


def test_the_public_names_are_these():
    rooms = "errors models overlay sealed topics"
    calls = (
        "check concept match match_files match_sealed open_events seal_events topics_to_channels"
    )
    types = "ClusteringReport Matcher Matches Report SubscriptionStore"
    assert set(caddis.__all__) == set(f"{rooms} {calls} {types}".split())


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="matcher_of_all"):
        attrgetter("matcher_of_all")(caddis)


def test_importing_caddis_does_not_load_spark():
    rooms = "import caddis, caddis.language, caddis.matching, caddis.models, caddis.ordering"
    assert not loaded_by(rooms) & {"pyspark", "py4j"}


def test_what_needs_spark_is_loaded_when_it_is_first_used():
    assert "caddis.spark" in loaded_by("import caddis; caddis.match")


def test_who_seals_nothing_does_without_cryptography():
    loaded = loaded_by("import caddis; caddis.match; import caddis.spark.matching.worker")
    assert not loaded & {"cryptography", "caddis.sealed"}


def test_importing_caddis_logs_nothing_unless_asked():
    assert logging.getLogger("caddis").handlers, "Python would print warnings to stderr"


def test_who_handles_keys_does_not_wait_for_kernels():
    loaded = loaded_by("from caddis.sealed import Authority, Identity, KeyRing, Directory")
    assert not loaded & {"numba", "pyspark"}


def test_the_package_says_that_it_is_typed():
    assert (SOURCES / "py.typed").is_file()


def test_the_version_is_a_release_number():
    assert [part.isdigit() for part in caddis.__version__.split(".")] == [True] * 3
