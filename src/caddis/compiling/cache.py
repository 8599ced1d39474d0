"""A kernel's compiled forms on disk: a file for each signature, named by what it was made from.

    <folder>/<target>/<kernel>-<signature>-<fingerprint>.kernel

A file is written whole under another name and then renamed, and its content is the same whichever
process writes it, so processes that compile at the same time do not disturb each other. It begins
with a digest of the rest: if it was cut short or changed, the kernel is compiled again.

Numba's own cache keeps an index beside the files, which two processes can both rewrite, and knows
only whether the file of the function itself has changed.
"""

from __future__ import annotations

import hashlib
import logging
import os
import pickle
import shutil
import tempfile
import time
import warnings
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.cpu import CPUContext
from numba.core.dispatcher import Dispatcher
from numba.core.serialize import dumps
from numba.core.sigutils import normalize_signature
from numba.core.types import Callable

from caddis.compiling.fingerprints import UnknownGlobal, described, fingerprint, name_of
from caddis.compiling.folders import VARIABLE, Folder, candidates, shipped
from caddis.compiling.targets import target, usable_targets

logger = logging.getLogger(__name__)

SUFFIX = ".kernel"
HALF_WRITTEN = ".half-written-"
A_DAY = 24 * 3600.0
DIGEST_BYTES = hashlib.sha256().digest_size
VERSIONS_KEPT = 4
"""How many versions of a kernel are kept, so that switching between branches recompiles nothing."""
TARGETS_KEPT = 8
"""How many targets kernels are kept for: versions of Python and packages, and processors."""


class KernelCache(_Cache):
    """Where numba looks for the compiled forms of one kernel, and stores those that it compiles."""

    def __init__(self, kernel: Dispatcher) -> None:
        self._kernel = kernel

    @property
    def cache_path(self) -> str | None:
        """The folder that compiled forms are written into."""
        folder = chosen_folder()
        return None if folder is None else str(folder.path)

    def load_overload(self, sig: Any, target_context: Any) -> CompileResult | None:
        """The compiled form for a signature; None if there is none that can be used."""
        target_context.refresh()
        name = self._name(sig)
        for folder, path in () if name is None else _places(name, usable_targets()):
            found = _read(folder, path, target_context)
            if found is not None:
                return found
        logger.debug("compiling %s for %s", name_of(self._kernel), sig)
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Store the compiled form for a signature, if a folder can be written to."""
        name = self._name(sig)
        if name is None or data.lifted or data.library.has_dynamic_globals:
            return
        folder = chosen_folder()
        if folder is None:
            tried = ", ".join(str(one.path) for one in candidates())
            _warn_once(f"none of these folders can be trusted and written to: {tried}")
            return
        path = folder.path / target() / name
        try:
            _write(path, dumps(data._reduce()))  # noqa: SLF001
        except OSError as error:
            _warn_once(f"{path.parent}: {error.strerror}")

    def enable(self) -> None:
        """Do nothing: the cache is always there."""

    def disable(self) -> None:
        """Do nothing: the cache is always there."""

    def flush(self) -> None:
        """Do nothing: a stale file is never found."""

    def _name(self, sig: Any) -> str | None:
        """The name of the file for a signature; None if its fingerprint is unknown."""
        args, returned = normalize_signature(sig)
        if any(isinstance(one, Callable) for one in args):
            return None
        try:
            made = fingerprint(self._kernel)
        except UnknownGlobal as error:
            logger.debug("%s is not kept: %s", name_of(self._kernel), error)
            return None
        wanted = hashlib.sha256(f"{described(args)} {returned}".encode()).hexdigest()
        return f"{name_of(self._kernel)}-{wanted[:16]}-{made[:32]}{SUFFIX}"


@cache
def chosen_folder() -> Folder | None:
    """The folder that this process writes compiled kernels to; None if there is none."""
    for folder in candidates():
        if folder.writable():
            _tidy(folder.path)
            return folder
    return None


def mark(name: str) -> None:
    """Note that all kernels of a need are compiled, if compiled kernels can be kept."""
    folder = chosen_folder()
    if folder is not None:
        _write(folder.path / target() / name, b"")


def marked(name: str, targets: Iterable[str]) -> bool:
    """Whether that was noted for one of these targets, in a folder that can be trusted."""
    for folder, path in _places(name, targets):
        with suppress(OSError):
            if folder.trusts(path.stat()):
                return True
    return False


def _places(name: str, targets: Iterable[str]) -> Iterator[tuple[Folder, Path]]:
    """Where a file may be, in the order to look."""
    for place in targets:
        for folder in (*candidates(), shipped()):
            if folder.readable():
                yield folder, folder.path / place / name


def _read(folder: Folder, path: Path, target_context: CPUContext) -> CompileResult | None:
    """A compiled form from a file; None if it is not there, not whole, or not to be trusted."""
    try:
        with path.open("rb") as file:
            trusted = folder.trusts(os.fstat(file.fileno()))
            content = file.read() if trusted else b""
    except OSError:
        return None
    digest, body = content[:DIGEST_BYTES], content[DIGEST_BYTES:]
    if digest != hashlib.sha256(body).digest():
        logger.info("%s is damaged or not to be trusted; compiling again", path)
        return None
    with suppress(OSError):  # so that kernels in use are not tidied away
        os.utime(path)
        os.utime(path.parent)
    try:
        reduced = pickle.loads(body)
        whole: CompileResult = CompileResult._rebuild(target_context, *reduced)  # noqa: SLF001
    except (AttributeError, ImportError, TypeError, pickle.UnpicklingError) as error:
        logger.info("%s cannot be read (%s); compiling again", path, error)
        return None
    return whole


def _write(path: Path, body: bytes) -> None:
    path.parent.mkdir(exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=HALF_WRITTEN, delete=False) as file:
        try:
            file.write(hashlib.sha256(body).digest() + body)
            file.close()
            Path(file.name).chmod(0o644)
            Path(file.name).replace(path)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise
    kernel_and_types = path.name.rpartition("-")[0]
    for old in _newest_first(path.parent.glob(f"{kernel_and_types}-*"))[VERSIONS_KEPT:]:
        old.unlink(missing_ok=True)


def _tidy(folder: Path) -> None:
    """Remove targets that are long out of use, and files that a dead process left behind."""
    for old in _newest_first(folder.iterdir())[TARGETS_KEPT:]:
        shutil.rmtree(old, ignore_errors=True)
    for half in folder.glob(f"*/{HALF_WRITTEN}*"):
        with suppress(OSError):
            if time.time() - half.stat().st_mtime > A_DAY:
                half.unlink()


def _newest_first(paths: Iterable[Path]) -> list[Path]:
    """Paths, the last used first, without those that another process has removed."""
    found = []
    for path in paths:
        with suppress(FileNotFoundError):
            found.append((path.stat().st_mtime, path))
    return [path for _, path in sorted(found, reverse=True)]


@cache
def _warn_once(problem: str) -> None:
    warnings.warn(
        f"compiled kernels cannot be kept, so every process compiles its own ({problem}); "
        f"set {VARIABLE} to a folder that can be written to",
        RuntimeWarning,
        stacklevel=2,
    )
