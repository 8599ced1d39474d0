"""The settings of a store of subscriptions, in two files beside its segments.

store.json       the version of this layout, the time zone, concepts, and whether it is sealed
events.schema    the schema of the events that are matched, as Arrow writes schemas
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from caddis.errors import IndexFolderError
from caddis.language import Vocabulary
from caddis.spark.base import replace_json

FORMAT = 1
SETTINGS = "store.json"
SCHEMA = "events.schema"


@dataclass(frozen=True, slots=True)
class Settings:
    """How the subscriptions of a store are read.

    timezone: the one in which dates and times without a time zone are read.
    vocabulary: the concepts that subscriptions may call.
    sealed: whether subscriptions and events are sealed.
    """

    timezone: str
    vocabulary: Vocabulary
    sealed: bool

    @classmethod
    def read(cls, root: Path) -> Settings:
        """The settings of an existing store; raises IndexFolderError if there is none."""
        try:
            plain = json.loads((root / SETTINGS).read_text())
            version = plain["format"]
            if version != FORMAT:
                raise IndexFolderError(
                    f"{root} has format {version}, this version reads {FORMAT}: create it again"
                )
            vocabulary = Vocabulary.of(map(tuple, plain.get("concepts", ())))
            return cls(str(plain["timezone"]), vocabulary, bool(plain.get("sealed", False)))
        except OSError:
            raise _no_store(root) from None
        except (ValueError, KeyError, TypeError) as problem:
            raise _damaged(root, problem) from None

    def write(self, root: Path) -> None:
        """Replace the settings that are there."""
        settings = {
            "format": FORMAT,
            "timezone": self.timezone,
            "concepts": self.vocabulary.pairs,
        }
        if self.sealed:
            settings["sealed"] = True
        replace_json(root / SETTINGS, settings)


def read_schema(root: Path) -> pa.Schema:
    """The schema of a store's events; raises IndexFolderError if it is missing or damaged."""
    try:
        return pa.ipc.read_schema(pa.py_buffer((root / SCHEMA).read_bytes()))
    except OSError:
        raise _no_store(root) from None
    except pa.ArrowException as problem:
        raise _damaged(root, problem) from None


def write_schema(root: Path, schema: pa.Schema) -> None:
    """Write the schema of a new store's events."""
    (root / SCHEMA).write_bytes(schema.serialize().to_pybytes())


def _no_store(root: Path) -> IndexFolderError:
    return IndexFolderError(f"{root} is not a subscription store")


def _damaged(root: Path, problem: Exception) -> IndexFolderError:
    return IndexFolderError(f"the store {root} is damaged: {problem!r}")
