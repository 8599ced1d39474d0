"""Finished folders in one file each, so that they can travel: zip archives without compression.

Equal folders give equal archives, so an archive can be named by its digest. Arrays hardly shrink,
and would have to be unpacked before they can be mapped, so nothing is compressed.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Collection
from pathlib import Path
from zipfile import ZIP_STORED, ZipFile, ZipInfo

_LONG_AGO = (1980, 1, 1, 0, 0, 0)
"""The time of every entry: the earliest that the format knows."""
_READABLE = 0o644 << 16


def pack(folder: Path, archive: Path, *, without: Collection[str] = ()) -> str:
    """Write a folder's files into an archive; returns the archive's SHA-256 in hexadecimal.

    without: names of files that stay behind.
    """
    with ZipFile(archive, "w", ZIP_STORED) as out:
        for file in sorted(folder.rglob("*")):
            if file.is_file() and file.name not in without:
                entry = ZipInfo(str(file.relative_to(folder)), _LONG_AGO)
                entry.external_attr = _READABLE
                with file.open("rb") as content, out.open(entry, "w", force_zip64=True) as sink:
                    shutil.copyfileobj(content, sink, 1 << 20)
    return digest_of(archive)


def unpack(archive: Path, folder: Path) -> None:
    """Write an archive's files into a new folder."""
    with ZipFile(archive) as packed:
        packed.extractall(folder)


def digest_of(file: Path) -> str:
    """The SHA-256 of a file's content in hexadecimal."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
