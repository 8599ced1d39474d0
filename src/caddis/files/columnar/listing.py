"""Which files a path, a pattern or a URI means, as Spark would list them.

A folder means all files below it. Names that begin with a dot or an underscore are ignored, unless
they name partitions, such as `_day=1`. Empty files are ignored, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from os import PathLike
from pathlib import Path
from typing import Literal
from urllib.parse import unquote

from pyarrow import ArrowException, fs

from caddis.errors import EventError
from caddis.files.uris import connect, split_options, without_secrets

ColumnarFormat = Literal["parquet", "arrow"]
AnyPath = str | PathLike[str]

_FORMATS: dict[str, ColumnarFormat] = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
}
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
_WILD = re.compile(r"[*?\[{]")
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file of events.

    root: the URI of a place on its file system; None on this machine's own.
    path: its path there.
    partitions: the columns that the names of its folders give, with their values as written.
    """

    root: str | None
    path: str
    size: int
    partitions: tuple[tuple[str, str | None], ...]

    @property
    def name(self) -> str:
        """What messages call it."""
        return self.path if self.root is None else f"{self.root.partition(':')[0]}://{self.path}"


def list_files(
    paths: AnyPath | Sequence[AnyPath], format_: ColumnarFormat | None = None
) -> tuple[ColumnarFormat, list[DataFile]]:
    """All files of some paths, sorted by name, and the one format of all of them.

    paths: files, folders, patterns such as `offers/*.parquet`, or URIs of these.
    format_: their format; by default the one that their names show.
    """
    several = [paths] if isinstance(paths, str | PathLike) else list(paths)
    if not several:
        raise EventError("there are no files to match: the list of paths is empty")
    files = {file.name: file for path in several for file in _below(path)}
    known = [files[name] for name in sorted(files)]
    return format_ or _format_of(known, several), known


@lru_cache(maxsize=16)
def file_system(root: str | None) -> fs.FileSystem:
    """The file system of a place."""
    return fs.LocalFileSystem() if root is None else connect(root)[0]


def _below(given: AnyPath) -> list[DataFile]:
    root, path = _place(given)
    named = _named(given)
    try:
        system = file_system(root)
        info = system.get_file_info(path)
        if info.type != fs.FileType.NotFound:
            return _of(root, [info])
        if not _WILD.search(path):
            raise EventError(f"{named}: there is no such file or folder")
        found = [one for text in _alternatives(path) for one in _matching(system, text)]
        if not found:
            raise EventError(f"{named}: no file matches this pattern")
        return _of(root, found)
    except (OSError, ArrowException) as error:
        raise EventError(f"{named}: cannot be read: {_line(error)}") from error


def _place(given: AnyPath) -> tuple[str | None, str]:
    """The URI of a file system, None for this machine's own, and a path there."""
    text = str(given)
    if isinstance(given, PathLike) or not _URI.match(text):
        return None, str(Path(given).absolute())
    if text.startswith("file:"):
        return None, unquote(re.sub(r"^file:(//[^/]*(?=/))?", "", text))
    body, query = split_options(text)
    # A pattern is no valid URI: only what stands before it leads to the file system.
    plain = _WILD.split(body, maxsplit=1)[0].rpartition("/")[0] if _WILD.search(body) else body
    try:
        _, path = connect(plain + query)
    except (OSError, ArrowException) as error:
        raise EventError(f"{_named(given)}: cannot be read: {_line(error)}") from error
    return plain + query, path + body[len(plain) :]


def _of(root: str | None, found: Iterable[fs.FileInfo]) -> list[DataFile]:
    """The files themselves, and those below the folders."""
    files = []
    for one in found:
        if one.type == fs.FileType.File:
            files.append(DataFile(root, one.path, one.size, ()))
            continue
        inside = file_system(root).get_file_info(fs.FileSelector(one.path, recursive=True))
        for file in inside:
            folders = file.path[len(one.path.rstrip("/")) + 1 :].split("/")
            if file.type == fs.FileType.File and not any(map(_hidden, folders)):
                files.append(DataFile(root, file.path, file.size, _partitions(folders[:-1])))
    return [file for file in files if file.size > 0]


def _hidden(name: str) -> bool:
    return name.startswith(".") or (name.startswith("_") and "=" not in name)


def _partitions(folders: list[str]) -> tuple[tuple[str, str | None], ...]:
    """The columns of the innermost unbroken run of folders with names such as city=Galway."""
    columns: list[tuple[str, str | None]] = []
    for folder in reversed(folders):
        name, equals, value = folder.partition("=")
        if equals and name:
            columns.append((unquote(name), None if value == NO_VALUE else unquote(value)))
        elif columns:
            break
    return tuple(reversed(columns))


def _matching(system: fs.FileSystem, pattern: str) -> list[fs.FileInfo]:
    """The files and folders whose paths fit a pattern, part by part."""
    parts = pattern.split("/")
    first = next((at for at, part in enumerate(parts) if _WILD.search(part)), len(parts))
    found = [system.get_file_info("/".join(parts[:first]) or "/")]
    for part in parts[first:]:
        fits = re.compile(_regex(part))
        folders = [one for one in found if one.type == fs.FileType.Directory]
        inside = [
            one for folder in folders for one in system.get_file_info(fs.FileSelector(folder.path))
        ]
        found = [
            one for one in inside if fits.fullmatch(one.base_name) and not _hidden(one.base_name)
        ]
    return found


def _alternatives(pattern: str) -> list[str]:
    """The patterns that a pattern with `{a,b}` stands for.

    >>> _alternatives("/{a,b}/x.{arrow,ipc}")
    ['/a/x.arrow', '/a/x.ipc', '/b/x.arrow', '/b/x.ipc']
    """
    braces = re.search(r"\{([^{}]*)\}", pattern)
    if braces is None:
        return [pattern]
    before, after = pattern[: braces.start()], pattern[braces.end() :]
    return [text for one in braces[1].split(",") for text in _alternatives(before + one + after)]


def _regex(part: str) -> str:
    """A name's pattern as a regular expression."""
    signs = {"*": ".*", "?": "."}
    pieces = re.split(r"(\[[^\]]+\]|[*?])", part)
    return "".join(
        signs.get(one, one if one[:1] == "[" and one[-1:] == "]" else re.escape(one))
        for one in pieces
    )


def _format_of(files: list[DataFile], paths: Sequence[AnyPath]) -> ColumnarFormat:
    names = ", ".join(map(_named, paths))
    if not files:
        raise EventError(f"{names}: there are no files; give the events' schema and format")
    for file in files:
        if _suffix(file) not in _FORMATS:
            raise EventError(
                f"{file.name}: the name does not show a format ({', '.join(_FORMATS)})"
            )
    formats = {_FORMATS[_suffix(file)] for file in files}
    if len(formats) > 1:
        raise EventError(
            f"{names}: there are files of several formats: {', '.join(sorted(formats))}"
        )
    return formats.pop()


def _named(given: AnyPath) -> str:
    """What messages call a path, a pattern or a URI."""
    text = str(given)
    return without_secrets(text) if _URI.match(text) else text


def _suffix(file: DataFile) -> str:
    return Path(file.path).suffix.lower()


def _line(error: Exception) -> str:
    return str(error).partition("\n")[0]
