"""The folder of a running overlay: everything that its brokers keep and share.

    overlay.json                     what stays the same: schema, key, time zone, covering
    clients/NAME/                    a log: what those at a broker want and publish
    control/TO/FROM/, links/TO/FROM/ what brokers tell each other, see `overlay_streams`
    notifications/NAME/              Parquet: who is notified of which event, each once
    refused/NAME/                    Parquet: events that do not satisfy what was advertised
    problems/NAME/                   Parquet: events that models could not read or failed on, why
    brokers/NAME/                    a broker's own: journal, graphs, models, out, checkpoint

A broker's name has no dots or slashes, so that it can be a folder's.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from caddis.errors import OverlayError
from caddis.overlay import BATCH_FORWARDINGS
from caddis.spark.overlay.control import ControlLogs
from caddis.spark.overlay.logs import FolderLog
from caddis.spark.overlay.transport import FolderStream, FolderTransport

SETTINGS = "overlay.json"


class OverlayFolder:
    """Names what lies where."""

    def __init__(self, root: Path) -> None:
        self.root = root.absolute()
        self.transport = FolderTransport(self.root)

    def prepare(
        self, schema: pa.Schema, event_key: str, timezone: str, policy: str | None = None
    ) -> None:
        """Make the folder, or see that it was made for the same events.

        policy: decides whether subscriptions are covered, if the folder is made now.
        """
        columns = str(schema.remove_metadata())
        settings = {"schema": columns, "key": event_key, "time zone": timezone}
        self.root.mkdir(parents=True, exist_ok=True)
        self._make({**settings, "covering": BATCH_FORWARDINGS.named(policy).covers})
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
        replays its journal must say what it has said.
        """
        return bool(self._settings().get("covering", True))

    def _settings(self) -> dict[str, object]:
        return dict(json.loads((self.root / SETTINGS).read_text()))

    def _make(self, settings: Mapping[str, object]) -> None:
        """Write the settings, unless some are there: of brokers that start at once, one does."""
        path = self.root / SETTINGS
        if path.exists():
            return
        unfinished = path.with_name(f".{SETTINGS}.{os.getpid()}")
        unfinished.write_text(json.dumps(settings))
        try:
            os.link(unfinished, path)
        except FileExistsError:
            pass
        except OSError:  # there are no hard links here
            unfinished.replace(path)
        unfinished.unlink(missing_ok=True)

    def broker(self, name: str) -> Path:
        """A broker's own folder."""
        return self.root / "brokers" / name

    def clients(self, name: str) -> FolderLog:
        """What those at a broker say."""
        return FolderLog(self.root / "clients" / name)

    def control_logs(self, name: str, neighbours: Sequence[str]) -> ControlLogs:
        """All that a broker's control plane reads and writes."""
        return ControlLogs(
            FolderLog(self.broker(name) / "journal"),
            self.clients(name),
            {other: self.transport.control(other, name) for other in neighbours},
            {other: self.transport.control(name, other) for other in neighbours},
        )

    def notifications(self, name: str) -> FolderStream:
        """Where a broker's subscribers find what they asked for."""
        return FolderStream(self.root / "notifications" / name, name)

    def refused(self, name: str) -> FolderStream:
        """Where events lie that were published at a broker against its advertisement."""
        return FolderStream(self.root / "refused" / name, name)

    def problems(self, name: str) -> FolderStream:
        """Where events are listed that models could not read or failed on at a broker."""
        return FolderStream(self.root / "problems" / name, name)

    @contextmanager
    def running(self, name: str) -> Iterator[None]:
        """Only one process at a time runs a broker; the lock falls with the process."""
        folder = self.broker(name)
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "LOCK").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise OverlayError(f"broker {name!r} is running already in {self.root}") from None
            yield
