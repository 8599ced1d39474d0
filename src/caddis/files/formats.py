"""Which files a path holds, and which format their names show.

Names that begin with a dot or an underscore are not data, here as in Spark.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal

from caddis.errors import CaddisError

FileFormat = Literal["parquet", "jsonl", "csv"]

SUFFIXES: dict[str, FileFormat] = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".csv": "csv",
}
COMPRESSED = (".gz", ".bz2", ".zst", ".snappy", ".lz4")

Wrong = Callable[[str], CaddisError]
"""The type of error to raise for a wrong path, such as EventError or SubscriptionTableError."""


def existing(path: Path, wrong: Wrong) -> Path:
    """The path itself, if a file or folder is there; otherwise an error of the kind `wrong`."""
    if ":/" in str(path):
        raise wrong(
            f"{path}: the command reads this machine's files; for others call caddis.match() "
            "from a Spark program"
        )
    if not path.exists():
        raise wrong(f"{path}: there is no such file or folder")
    return path


def text_of(path: Path, wrong: Wrong) -> str:
    """The content of a text file."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise wrong(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise wrong(f"{path}: not a text file") from error


def data_files(path: Path) -> list[Path]:
    """The file itself, or all data files below a folder."""
    if not path.is_dir():
        return [path]
    files = (file for file in path.rglob("*") if file.is_file())
    return sorted(file for file in files if not _hidden(file.relative_to(path)))


def named_format(path: Path) -> FileFormat | None:
    """The format that a file's name shows; None if it shows none.

    >>> named_format(Path("offers.jsonl.gz"))
    'jsonl'
    """
    name = Path(path.stem) if path.suffix in COMPRESSED else path
    return SUFFIXES.get(name.suffix.lower())


def format_of(path: Path, wrong: Wrong, *, option: str | None = "--format") -> FileFormat:
    """The one format of a file or of all files in a folder.

    wrong: the type of error to raise if there is no such format.
    option: the command's option that names the format, if it has one.
    """
    formats = {named_format(file) for file in data_files(path)}
    known = {format_ for format_ in formats if format_ is not None}
    if len(known) == 1:
        return known.pop()
    if len(known) > 1:
        raise wrong(f"{path} holds files of several formats: {', '.join(sorted(known))}")
    if not formats:
        hint = f"; name the format that its files will have with {option}" if option else ""
        raise wrong(f"{path} is empty{hint}")
    hint = f"; name it with {option}" if option else ""
    raise wrong(f"{path}: the name does not show the format ({', '.join(SUFFIXES)}){hint}")


def is_store(path: Path) -> bool:
    """Whether a folder is a SubscriptionStore."""
    return (path / "CURRENT").is_file() and (path / "store.json").is_file()


def _hidden(path: Path) -> bool:
    return any(part.startswith((".", "_")) for part in path.parts)
