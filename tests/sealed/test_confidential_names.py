"""What `caddis.sealed` gives, and what it does not drag in."""

import pytest

from caddis import sealed as confidential
from tests.test_public_surface import loaded_by


def test_everything_that_it_exports_exists():
    assert [
        name for name in confidential.__all__ if getattr(confidential, name, None) is None
    ] == []


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"'caddis.sealed' has no attribute 'Keys'"):
        _ = confidential.Keys


def test_who_handles_keys_does_not_wait_for_kernels():
    loaded = loaded_by("from caddis.sealed import Authority, Identity, KeyRing, Directory")
    assert not loaded & {"numba", "pyspark"}
