"""What a store of subscriptions says about itself, in two files beside its segments.

store.json       the version of this layout, the time zone, concepts, and whether it is sealed
events.schema    of the events that are matched, as Arrow writes schemas
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from caddis.errors import IndexFolderError
from caddis.language import Vocabulary

FORMAT = 1
SETTINGS = "store.json"
SCHEMA = "events.schema"


@dataclass(frozen=True, slots=True)
class Settings:
    """How the subscriptions of a store are read.

    vocabulary: the concepts that they may call.
    """

    timezone: str
    vocabulary: Vocabulary
    sealed: bool

    @classmethod
    def read(cls, root: Path) -> Settings:
        """Of a store that is there; IndexFolderError if none is."""
        try:
            found = json.loads((root / SETTINGS).read_text())
            version = found["format"]
            if version != FORMAT:
                raise IndexFolderError(
                    f"{root} has format {version}, this version reads {FORMAT}: make it anew"
                )
            vocabulary = Vocabulary.of(map(tuple, found.get("concepts", ())))
            return cls(str(found["timezone"]), vocabulary, bool(found.get("sealed", False)))
        except OSError:
            raise _no_store(root) from None
        except (ValueError, KeyError, TypeError) as problem:
            raise _damaged(root, problem) from None

    def write(self, root: Path) -> None:
        """In place of what is there, at once."""
        settings = {
            "format": FORMAT,
            "timezone": self.timezone,
            "concepts": self.vocabulary.pairs,
        }
        if self.sealed:
            settings["sealed"] = True
        unfinished = root / f"{SETTINGS}.new"
        unfinished.write_text(json.dumps(settings))
        unfinished.replace(root / SETTINGS)


def read_schema(root: Path) -> pa.Schema:
    """Of the events of a store; IndexFolderError if it is not there or not readable."""
    try:
        return pa.ipc.read_schema(pa.py_buffer((root / SCHEMA).read_bytes()))
    except OSError:
        raise _no_store(root) from None
    except pa.ArrowException as problem:
        raise _damaged(root, problem) from None


def write_schema(root: Path, schema: pa.Schema) -> None:
    """Of the events of a new store."""
    (root / SCHEMA).write_bytes(schema.serialize().to_pybytes())


def _no_store(root: Path) -> IndexFolderError:
    return IndexFolderError(f"{root} is no subscription store")


def _damaged(root: Path, problem: Exception) -> IndexFolderError:
    return IndexFolderError(f"the store {root} is damaged: {problem!r}")
