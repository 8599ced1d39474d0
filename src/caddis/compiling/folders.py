"""Where compiled kernels may be kept, and which of these folders can be trusted.

Reading a compiled kernel is running it. So a folder is used only if nobody can have written into it
but this user, root, or whoever installed the package; what lies in the package itself is trusted as
much as its sources.

In order:

    CADDIS_CACHE_DIR          if it is set
    the package               beside its sources, as in a checkout, if it can be written
    XDG_CACHE_HOME, ~/.cache  the user's
    the temporary folder      in a folder that only this user can read
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

VARIABLE = "CADDIS_CACHE_DIR"
PACKAGE = Path(__file__).parents[1]
OTHERS_WRITE = stat.S_IWOTH
GROUP_OR_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
ROOT = 0


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder that may hold compiled kernels.

    owners: the users whose files are trusted there; None trusts everybody's.
    forbidden: permissions that a trusted folder or file must not grant.
    mode: the permissions that the folder gets if it is made.
    """

    path: Path
    owners: frozenset[int] | None
    forbidden: int
    mode: int

    def trusts(self, status: os.stat_result) -> bool:
        """Whether a file or folder in here can only have been written by those who may."""
        if self.owners is None:
            return True
        return status.st_uid in self.owners and not status.st_mode & self.forbidden

    def readable(self) -> bool:
        """Whether the folder is there, and can be trusted."""
        try:
            status = self.path.lstat()
        except OSError:
            return False
        return stat.S_ISDIR(status.st_mode) and self.trusts(status)

    def writable(self) -> bool:
        """Whether the folder can be trusted and written to; it is made if it is not there."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.mkdir(mode=self.mode, exist_ok=True)
            tempfile.TemporaryFile(dir=self.path).close()
        except OSError:
            return False
        return self.readable()


def shipped() -> Folder:
    """Where a wheel carries kernels that were compiled when it was built."""
    return Folder(PACKAGE / "compiling" / "shipped", None, 0, 0o755)


def candidates() -> Iterator[Folder]:
    """The folders to write to, in order of preference."""
    ours = os.geteuid()
    named = os.environ.get(VARIABLE)
    if named:
        owners = frozenset({ours, ROOT, _owner_of_the_package()})
        yield Folder(Path(named).absolute() / "kernels", owners, OTHERS_WRITE, 0o755)
    yield Folder(PACKAGE / "__pycache__" / "kernels", None, 0, 0o755)
    only_ours = frozenset({ours})
    users = _users_cache()
    if users is not None:
        yield Folder(users / "caddis" / "kernels", only_ours, GROUP_OR_OTHERS_WRITE, 0o700)
    temporary = _temporary()
    if temporary is not None:
        yield Folder(temporary / f"caddis-kernels-{ours}", only_ours, GROUP_OR_OTHERS_WRITE, 0o700)


def unusable() -> Path | None:
    """The folder that CADDIS_CACHE_DIR names, if it can be neither read nor written."""
    if not os.environ.get(VARIABLE):
        return None
    named = next(candidates())
    return None if named.readable() or named.writable() else named.path.parent


def _owner_of_the_package() -> int:
    try:
        return PACKAGE.stat().st_uid
    except OSError:  # imported from an archive
        return ROOT


def _users_cache() -> Path | None:
    named = os.environ.get("XDG_CACHE_HOME", "")
    if Path(named).is_absolute():
        return Path(named)
    try:
        return Path.home() / ".cache"
    except RuntimeError:  # a user who is not listed, as in many containers
        return None


def _temporary() -> Path | None:
    try:
        return Path(tempfile.gettempdir()).absolute()
    except FileNotFoundError:
        return None
