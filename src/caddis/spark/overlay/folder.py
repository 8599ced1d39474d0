"""The folder of a running overlay: what lies where.

    overlay.json                     what never changes: schema, key, time zone, covering
    clients/NAME/                    a log: what a broker's own clients want and publish
    control/TO/FROM/, links/TO/FROM/ what brokers send each other, see `transport`
    notifications/NAME/              Parquet: who is notified of which event, each once
    refused/NAME/                    Parquet: events that do not satisfy what was advertised
    problems/NAME/                   Parquet: events that models could not read or failed on, why
    brokers/NAME/                    a broker's own: journal, graphs, models, out, checkpoint

A broker's name has no dots or slashes, so it can be a folder's name.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyarrow as pa

from caddis.errors import OverlayError
from caddis.files import locked, replace_file
from caddis.overlay import BATCH_FORWARDINGS
from caddis.spark.overlay.batches import Kind
from caddis.spark.overlay.logs import FolderLog
from caddis.spark.overlay.transport import FolderStream

SETTINGS = "overlay.json"
LOCAL: dict[Kind, str] = {
    "notified": "notifications",
    "refused": "refused",
    "problem": "problems",
}


class OverlayFolder:
    """The paths of everything that brokers keep."""

    def __init__(self, root: Path) -> None:
        self.root = root.absolute()

    def prepare(
        self, schema: pa.Schema, event_key: str, timezone: str, policy: str | None = None
    ) -> None:
        """Make the folder, or check that it was made for the same events.

        policy: if the folder is made now, decides whether clauses that others cover are left out.
        """
        columns = str(schema.remove_metadata())
        settings = {"schema": columns, "key": event_key, "time zone": timezone}
        self.root.mkdir(parents=True, exist_ok=True)
        path = self.root / SETTINGS
        with locked(path):  # several brokers may start at once
            if not path.exists():
                covering = BATCH_FORWARDINGS.named(policy).covers
                replace_file(path, json.dumps({**settings, "covering": covering}))
        before = self._settings()
        for name, value in settings.items():
            if before.get(name) != value:
                raise OverlayError(
                    f"{self.root} was made with the {name} {before.get(name)!r}, and now it is "
                    f"{value!r}; begin with a new folder (--dir)"
                )

    @property
    def covering(self) -> bool:
        """Whether brokers spare their neighbours clauses that others cover.

        It stays as it was when the folder was made, whatever the policy is later: a broker that
        replays its journal must send what it has sent before.
        """
        return bool(self._settings().get("covering", True))

    def _settings(self) -> dict[str, object]:
        return dict(json.loads((self.root / SETTINGS).read_text()))

    def broker(self, name: str) -> Path:
        """A broker's own folder."""
        return self.root / "brokers" / name

    def clients(self, name: str) -> FolderLog:
        """The log of what a broker's own clients want and publish."""
        return FolderLog(self.root / "clients" / name)

    def local_stream(self, kind: Kind, name: str) -> FolderStream:
        """Where a broker puts what goes to no neighbour: one of `LOCAL`."""
        return FolderStream(self.root / LOCAL[kind] / name, name)

    @contextmanager
    def running(self, name: str) -> Iterator[None]:
        """Keep other processes from running the same broker; the lock ends with the process."""
        folder = self.broker(name)
        folder.mkdir(parents=True, exist_ok=True)
        with ExitStack() as lock:
            try:
                lock.enter_context(locked(folder, wait=False))
            except BlockingIOError:
                raise OverlayError(f"broker {name!r} is running already in {self.root}") from None
            yield
