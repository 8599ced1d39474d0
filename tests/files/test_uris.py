"""How URIs are connected to, and how messages name them."""

import pyarrow.fs
import pytest

from caddis.files import connect, without_secrets
from caddis.files.uris import RETRY_SECONDS


@pytest.mark.parametrize("scheme", ["gs", "gcs"])
def test_google_stores_that_cannot_be_reached_are_given_up(scheme: str):
    limited = pyarrow.fs.FileSystem.from_uri(f"gs://b/x?retry_limit_seconds={RETRY_SECONDS}")
    assert connect(f"{scheme}://b/x") == limited
    assert connect(f"{scheme}://b/x") != pyarrow.fs.FileSystem.from_uri("gs://b/x")


def test_a_uri_may_say_how_long_to_try():
    uri = "gs://b/x?scheme=http&retry_limit_seconds=5"
    assert connect(uri) == pyarrow.fs.FileSystem.from_uri(uri)
    assert connect("gs://b/x?scheme=http")[0] != connect("gs://b/x")[0]


@pytest.mark.parametrize(
    ("uri", "shown"),
    [
        ("s3://key:secret@b/x?region=r", "s3://b/x"),
        ("s3://b/?/x[@]*?scheme=http", "s3://b/?/x[@]*"),
        ("hdfs://name:8020/x", "hdfs://name:8020/x"),
        ("mock:/e", "mock:/e"),
    ],
)
def test_messages_show_a_uri_without_secrets(uri: str, shown: str):
    assert without_secrets(uri) == shown
