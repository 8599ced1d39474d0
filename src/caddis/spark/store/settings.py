"""The settings of a store of subscriptions, in two files beside its segments.

store.json       the version of this layout, the time zone, concepts, and whether it is sealed
events.schema    the schema of the events that are matched, as Arrow writes schemas
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import pyarrow as pa

from caddis.errors import IndexFolderError
from caddis.language import Vocabulary
from caddis.spark.base import Versions

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
    def read(cls, versions: Versions) -> Settings:
        """The settings of an existing store; raises IndexFolderError if there is none."""
        try:
            plain = json.loads(versions.read(SETTINGS))
            version = plain["format"]
            if version != FORMAT:
                raise IndexFolderError(
                    f"{versions!r} has format {version}, this version reads {FORMAT}: create it "
                    "again"
                )
            vocabulary = Vocabulary.of(map(tuple, plain.get("concepts", ())))
            return cls(str(plain["timezone"]), vocabulary, bool(plain.get("sealed", False)))
        except OSError:
            raise _no_store(versions) from None
        except (ValueError, KeyError, TypeError) as problem:
            raise _damaged(versions, problem) from None

    def content(self) -> bytes:
        """What `read` reads."""
        settings = {
            "format": FORMAT,
            "timezone": self.timezone,
            "concepts": self.vocabulary.pairs,
        }
        if self.sealed:
            settings["sealed"] = True
        return json.dumps(settings).encode()


def read_schema(versions: Versions) -> pa.Schema:
    """The schema of a store's events; raises IndexFolderError if it is missing or damaged."""
    try:
        return pa.ipc.read_schema(pa.py_buffer(versions.read(SCHEMA)))
    except OSError:
        raise _no_store(versions) from None
    except pa.ArrowException as problem:
        raise _damaged(versions, problem) from None


def schema_content(schema: pa.Schema) -> bytes:
    """What `read_schema` reads."""
    content: bytes = schema.serialize().to_pybytes()
    return content


def _no_store(versions: Versions) -> IndexFolderError:
    return IndexFolderError(f"{versions!r} is not a subscription store")


def _damaged(versions: Versions, problem: Exception) -> IndexFolderError:
    return IndexFolderError(f"the store {versions!r} is damaged: {problem!r}")
