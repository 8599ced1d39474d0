"""A transport that keeps everything in this process's memory: another one than folders.

Spark's Python workers are processes of their own, so a data source reads the records of a link over
a local socket, by offset. That is all that a transport over a network would do, but for keeping the
records when the process ends.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.connection import Listener
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource
from pyspark.sql.pandas.types import from_arrow_schema

from caddis.spark.overlay.logs import Record
from caddis.spark.overlay.transport import link_schema

KEY = b"of this test"


class MemoryLog:
    def __init__(self) -> None:
        self._records: list[Record] = []

    def append(self, records: Sequence[Record]) -> None:
        self._records += records

    def read(self, after: int = 0) -> list[Record]:
        return self._records[after:]

    def __len__(self) -> int:
        return len(self._records)


class MemoryStream:
    """Appends what is new to the receiver's list of batches."""

    def __init__(self, sender: str, received: dict[tuple[str, int], list[bytes]]) -> None:
        self._sender, self._received = sender, received

    def publish(self, batch: int, files: Sequence[Path]) -> None:
        self._received.setdefault((self._sender, batch), [_ipc(file) for file in files])


class MemoryTransport:
    def __init__(self) -> None:
        self._logs: dict[tuple[str, str], MemoryLog] = defaultdict(MemoryLog)
        self._received: dict[str, dict[tuple[str, int], list[bytes]]] = defaultdict(dict)
        """By receiver, then by sender and micro-batch; in the order of arrival."""
        self._listener = Listener(("127.0.0.1", 0), authkey=KEY)
        threading.Thread(target=self._serve, daemon=True).start()

    def outgoing(self, sender: str, receiver: str) -> MemoryStream:
        return MemoryStream(sender, self._received[receiver])

    def control(self, sender: str, receiver: str) -> MemoryLog:
        return self._logs[sender, receiver]

    def incoming(self, session: SparkSession, receiver: str, events: pa.Schema) -> DataFrame:
        session.dataSource.register(memory_source())
        reader = session.readStream.format("memory_link").schema(
            from_arrow_schema(link_schema(events))
        )
        host, port = self._listener.address
        return reader.options(host=host, port=port, receiver=receiver).load()

    def _serve(self) -> None:
        """Answer one request after the other: how many batches there are, or some of them."""
        while True:
            # A worker whose query is stopped may go away at any point of its request.
            with suppress(EOFError, ConnectionError), self._listener.accept() as connection:
                receiver, begin, end = connection.recv()
                batches = [one for some in [*self._received[receiver].values()] for one in some]
                connection.send(len(batches) if end is None else batches[begin:end])


def _ipc(file: Path) -> bytes:
    table = pq.read_table(file)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def memory_source() -> type[DataSource]:
    """Made in a function, so that the classes travel to Spark's processes by value."""
    from collections.abc import Iterator
    from multiprocessing.connection import Client

    import pyarrow
    from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
    from pyspark.sql.types import StructType

    key = KEY

    class MemoryLink(DataSource):
        @classmethod
        def name(cls) -> str:
            return "memory_link"

        def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
            return Reader(self.options["host"], int(self.options["port"]), self.options["receiver"])

    class Reader(DataSourceStreamReader):
        def __init__(self, host: str, port: int, receiver: str) -> None:
            self.address, self.receiver = (host, port), receiver

        def ask(self, begin: int, end: int | None) -> object:
            with Client(self.address, authkey=key) as connection:
                connection.send((self.receiver, begin, end))
                return connection.recv()

        def initialOffset(self) -> dict[str, int]:  # noqa: N802
            return {"batches": 0}

        def latestOffset(self, start: object, limit: object) -> dict[str, int]:  # noqa: N802
            return {"batches": self.ask(0, None)}  # type: ignore[dict-item]

        def partitions(
            self, start: dict[str, int], end: dict[str, int]
        ) -> Sequence[InputPartition]:
            return [InputPartition((start["batches"], end["batches"]))]

        def read(self, partition: InputPartition) -> Iterator[pyarrow.RecordBatch]:
            for one in self.ask(*partition.value):  # type: ignore[attr-defined]
                yield from pyarrow.ipc.open_stream(one)

    return MemoryLink
