"""Objects in a store such as S3, addressed by URI and reached through `pyarrow.fs`.

Credentials, region and endpoint are those that pyarrow finds: in the environment (AWS_*), in the
machine's or pod's role, or in the URI's query, as in
s3://bucket/caddis?endpoint_override=host:9000&scheme=http.

pyarrow cannot write an object on condition that there is none of its name. `create` does that with
obstore, which only processes that change a store need.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pyarrow as pa
from pyarrow.fs import FileSelector, FileType

from caddis.errors import EnvironmentProblem, IndexFolderError
from caddis.files import connect, without_secrets

CHUNK = 8 << 20
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def is_uri(address: str) -> bool:
    """Whether an address is a URI of something that is not a local file.

    >>> is_uri("s3://bucket/caddis"), is_uri("file:///tmp"), is_uri("/tmp")
    (True, False, False)
    """
    return bool(_URI.match(address)) and not address.lower().startswith("file://")


class Objects:
    """The objects below a URI; their names are relative to it, with slashes."""

    def __init__(self, uri: str) -> None:
        self.uri = uri
        try:
            self._files, root = connect(uri)
        except (pa.ArrowException, OSError) as problem:
            said = _first_line(problem).replace(uri, repr(self))
            raise IndexFolderError(f"{self!r} cannot be used: {said}") from None
        self._root = root.rstrip("/")

    def __repr__(self) -> str:
        return without_secrets(self.uri)

    def named(self, name: str) -> str:
        """The URI of an object, or of all objects below a name."""
        parts = urlsplit(self.uri)
        return parts._replace(path=f"{parts.path.rstrip('/')}/{name}").geturl()

    def read(self, name: str) -> bytes:
        """An object's content; raises FileNotFoundError if there is no such object."""
        with self._explained(), self._files.open_input_file(self._path(name)) as source:
            content: bytes = source.read()
        return content

    def download(self, name: str, file: Path) -> None:
        """Write an object's content to a file."""
        with (
            self._explained(),
            self._files.open_input_stream(self._path(name)) as source,
            file.open("wb") as sink,
        ):
            shutil.copyfileobj(source, sink, CHUNK)

    def write(self, name: str, content: bytes) -> None:
        """Write an object, whether there is one of this name or not."""
        with self._explained(), self._files.open_output_stream(self._path(name)) as sink:
            sink.write(content)

    def upload(self, file: Path, name: str) -> None:
        """Write a file's content to an object."""
        with (
            self._explained(),
            file.open("rb") as source,
            self._files.open_output_stream(self._path(name)) as sink,
        ):
            shutil.copyfileobj(source, sink, CHUNK)

    def names(self, folder: str) -> dict[str, datetime]:
        """The names of objects directly below a name, without it, and when each was written."""
        selector = FileSelector(self._path(folder), allow_not_found=True)
        with self._explained():
            found = self._files.get_file_info(selector)
        return {one.base_name: one.mtime for one in found if one.type == FileType.File}

    def delete(self, name: str) -> None:
        """Delete an object, if there is one."""
        with self._explained(), suppress(FileNotFoundError):
            self._files.delete_file(self._path(name))

    def create(self, name: str, content: bytes) -> None:
        """Write a new object; if there is one already, leave it alone and raise FileExistsError."""
        store = self._conditional()
        from obstore.exceptions import AlreadyExistsError, BaseError

        try:
            store.put(name, content, mode="create")
        except AlreadyExistsError:
            raise FileExistsError(self.named(name)) from None
        except (BaseError, OSError) as problem:
            raise IndexFolderError(f"{self!r}: {_first_line(problem)}") from None

    def check_conditional(self) -> None:
        """Refuse stores in which two writers cannot be kept apart."""
        self._conditional()

    def _conditional(self) -> Any:
        parts = urlsplit(self.uri)
        try:
            from obstore.store import GCSStore, S3Store
        except ImportError:
            raise EnvironmentProblem(
                f"changing the store {self!r} needs conditional writes: install caddis[objects]"
            ) from None
        prefix = parts.path.strip("/")
        if parts.scheme == "s3":
            return S3Store(
                parts.netloc.rpartition("@")[2], prefix=prefix, **_s3_settings(parts.query)
            )
        if parts.scheme in ("gs", "gcs"):
            return GCSStore(parts.netloc.rpartition("@")[2], prefix=prefix)
        raise IndexFolderError(
            f"{self!r} cannot be changed: two writers cannot be kept apart at {parts.scheme}://; "
            "use s3://, gs:// or a folder"
        )

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Name the place in errors of the store; callers deal with missing objects themselves."""
        try:
            yield
        except FileNotFoundError:
            raise
        except (OSError, pa.ArrowException) as problem:
            raise IndexFolderError(f"{self!r}: {_first_line(problem)}") from None

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}"


def _s3_settings(query: str) -> dict[str, Any]:
    """What obstore calls the settings that pyarrow takes from a URI's query."""
    given = {name: values[-1] for name, values in parse_qs(query).items()}
    settings: dict[str, Any] = {}
    if "region" in given:
        settings["region"] = given["region"]
    if "endpoint_override" in given:
        scheme = given.get("scheme", "https")
        settings["endpoint"] = f"{scheme}://{given['endpoint_override']}"
        settings["client_options"] = {"allow_http": scheme == "http"}
    return settings


def _first_line(problem: Exception) -> str:
    return str(problem).partition("\n")[0]
