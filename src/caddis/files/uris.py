"""URIs of files and objects: how to connect to where they lie, and how messages name them."""

from __future__ import annotations

import re

from pyarrow.fs import FileSystem

RETRY_SECONDS = 60
"""Google's client would keep trying for a quarter of an hour to reach a store, or to log in."""

_USER = re.compile(r"(?<=://)[^/@]*@")
_OPTIONS = re.compile(r"(.*?)(\?[\w-]+=.*)?", re.DOTALL)
"""A URI, which may be a pattern, and its options, as in `s3://offers/?/*.parquet?region=eu-west-1`."""


def split_options(uri: str) -> tuple[str, str]:
    """A URI, or a pattern of one, without its options, and the options."""
    body, options = _OPTIONS.fullmatch(uri).groups("")  # type: ignore[union-attr]
    return body, options


def connect(uri: str) -> tuple[FileSystem, str]:
    """The file system that a URI belongs to, and the path there.

    It gives up after RETRY_SECONDS if the store cannot be reached, unless the URI says otherwise.
    """
    if uri.startswith(("gs://", "gcs://")) and "retry_limit_seconds=" not in uri:
        uri += f"{'&' if '?' in uri else '?'}retry_limit_seconds={RETRY_SECONDS}"
    system, path = FileSystem.from_uri(uri)
    return system, path


def without_secrets(uri: str) -> str:
    """A URI for messages: credentials may stand in its options or before its host.

    >>> without_secrets("s3://key:secret@bucket/caddis?session_token=secret")
    's3://bucket/caddis'
    """
    return _USER.sub("", split_options(uri)[0])
