"""Answers that need not be paid for twice.

They are kept by what a value is, not by where it was found, and under the version of the model that
gave them. Memory is bounded; what was not asked for longest leaves first.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from threading import Lock

DEFAULT_LIMIT = 64 << 20
ENTRY_BYTES = 240
"""What Python takes for an entry beside its two byte strings' contents; measured."""


class AnswerCache:
    r"""The answers used last, within a number of bytes.

    >>> cache = AnswerCache()
    >>> cache.put("colours 1", b"digest of a picture", b"\x01\x00")
    >>> cache.get("colours 1", b"digest of a picture"), cache.get("colours 2", b"...")
    (b'\x01\x00', None)
    """

    def __init__(self, limit: int = DEFAULT_LIMIT) -> None:
        self.limit = limit
        self.nbytes = 0
        self._marks: OrderedDict[tuple[str, bytes], bytes] = OrderedDict()
        self._lock = Lock()

    @property
    def entries(self) -> int:
        """How many answers are kept."""
        return len(self._marks)

    def get(self, version: str, digest: bytes) -> bytes | None:
        """The marks of all concepts of a model, a byte each; None if they are not kept.

        version: no two models share it, nor two states of one whose answers differ.
        """
        key = (version, digest)
        with self._lock:
            marks = self._marks.get(key)
            if marks is not None:
                self._marks.move_to_end(key)
            return marks

    def put(self, version: str, digest: bytes, marks: bytes) -> None:
        """Keep the marks of all concepts of a model for a value."""
        key = (sys.intern(version), digest)
        with self._lock:
            before = self._marks.pop(key, None)
            if before is not None:
                self.nbytes -= _size(digest, before)
            self._marks[key] = marks
            self.nbytes += _size(digest, marks)
            while self.nbytes > self.limit:
                (_, oldest), gone = self._marks.popitem(last=False)
                self.nbytes -= _size(oldest, gone)


def _size(digest: bytes, marks: bytes) -> int:
    return ENTRY_BYTES + len(digest) + len(marks)
