"""What `match` does otherwise when events and subscriptions are sealed.

Workers get what brokers get: sealed clauses, and the public directory. No key is among it.
"""

from __future__ import annotations

import atexit
import shutil
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias
from uuid import uuid4

from pyspark.sql import DataFrame
from pyspark.sql.types import (
    BinaryType,
    ByteType,
    DataType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
)

from caddis.errors import EventError, SubscriptionTableError
from caddis.spark.matching.sealed_folder import DIRECTORY, Sealed, SealedFolder
from caddis.spark.matching.sealed_reports import SealedReport
from caddis.spark.store import SubscriptionStore

if TYPE_CHECKING:
    from caddis.sealed.keys import Directory

DirectoryOrPath: TypeAlias = "Directory | str | PathLike[str]"

EVENT_KEY = "event_id"
WHOLE = (ByteType, ShortType, IntegerType, LongType)
COMPARED = {
    "event_id": (StringType, *WHOLE),
    "stream": (StringType,),
    "epoch": WHOLE,
    "publisher": (StringType,),
    "filter": (BinaryType,),
    "tokens": (BinaryType,),
    "point": (BinaryType,),
}
"""The columns that sealed matching reads."""
CHECKED = {"run": WHOLE, "number": WHOLE, "payload": (BinaryType,), "signature": (BinaryType,)}
"""Those that a gate reads beside them."""


def sealed_columns(
    events: DataFrame, event_key: str, directory: DirectoryOrPath | None
) -> tuple[str, ...]:
    """The columns that workers need, all there and of the right types."""
    if event_key != EVENT_KEY:
        raise EventError(f"the key of sealed events is {EVENT_KEY!r}, not {event_key!r}")
    wanted: dict[str, tuple[type[DataType], ...]] = dict(COMPARED)
    if directory is not None:
        wanted |= CHECKED
    for name, types in wanted.items():
        if name not in events.columns:
            raise EventError(
                f"sealed events have a column {name!r}; these have {', '.join(events.columns)}. "
                "Are they sealed?"
            )
        found = events.schema[name].dataType
        if not isinstance(found, types):
            raise EventError(
                f"the column {name!r} of sealed events cannot be {found.simpleString()}"
            )
    return tuple(wanted)


def check_kind(store: SubscriptionStore, *, sealed: bool) -> None:
    """Refuse a store of the other kind."""
    if store.sealed and not sealed:
        raise SubscriptionTableError(
            f"the subscriptions of {store.path} are sealed; match them with sealed=True"
        )
    if sealed and not store.sealed:
        raise SubscriptionTableError(
            f"the subscriptions of {store.path} are not sealed; sealed ones need a store that was "
            "created with sealed=True"
        )


def read_directory(directory: DirectoryOrPath | None) -> Directory | None:
    """A directory as it is now, whose signature fits."""
    from caddis.sealed.keys import Directory

    if isinstance(directory, Directory):
        directory.verify()
        return directory
    return None if directory is None else Directory.read(Path(directory))


def sealed_means(
    store: SubscriptionStore,
    directory: DirectoryOrPath | None,
    follow: bool,
    report: SealedReport | None,
) -> Sealed:
    """What the workers are told in, and the directory; a folder only if something is in it."""
    from caddis.sealed.keys import Directory
    from caddis.sealed.matcher import warm_up

    warm_up()
    path = store.path / "sealed" / uuid4().hex
    if report is not None or isinstance(directory, Directory):
        path.mkdir(parents=True)
        if not follow:
            # A stream may outlive this process, if that is a client of Spark Connect.
            atexit.register(shutil.rmtree, path, ignore_errors=True)
    if report is not None:
        report.attach(SealedFolder(path))
    folder = None if report is None else str(path)
    if directory is None:
        return Sealed(folder, None, None)
    if isinstance(directory, Directory):
        directory.verify()
        directory.write(path / DIRECTORY)
        found, authority = path / DIRECTORY, directory.fingerprint
    else:
        found = Path(directory).absolute()
        authority = Directory.read(found).fingerprint
    return Sealed(folder, str(found), authority)
