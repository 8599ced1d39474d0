"""Where ONNX graphs come from, and the one session that a process runs of each.

A `Graph` is small and is pickled: it says how to get the content, and its digest says which content
that must be. A session is large and is never pickled: it is opened once a process and kept. Spark
runs one worker a core, so a session has one thread by default.
"""

from __future__ import annotations

import hashlib
import os
from abc import ABC, abstractmethod
from pathlib import Path
from threading import Lock
from types import ModuleType
from typing import TYPE_CHECKING, NoReturn

from caddis.errors import EnvironmentProblem, ModelError
from caddis.files import replace_file

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

_QUIET = 4
"""onnxruntime's level of logging for fatal errors alone."""
_sessions: dict[tuple[int, str, int], InferenceSession] = {}
_opening = Lock()


class Graph(ABC):
    """An ONNX graph by reference."""

    name: str
    """What messages call it: a path, or a few words."""
    digest: str
    """Identifies the content: equal digests mean equal answers."""

    @abstractmethod
    def source(self) -> str | bytes:
        """A path or the content itself, as onnxruntime opens it."""

    def by_reference(self, folder: str) -> Graph:  # noqa: ARG002
        """The same graph, in a folder that all workers see unless they can get it themselves."""
        return self

    def carried_in(self, folder: str) -> Graph:
        """The same graph, in a folder of which every worker gets a copy."""
        return self.by_reference(folder)

    def found_in(self, folder: str) -> Graph:  # noqa: ARG002
        """The same graph on a worker, in its copy of the folder."""
        return self


class GraphFile(Graph):
    """A graph in a file that every worker sees under the same path."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).absolute()
        self.name = str(self.path)
        self.digest = self._digest_now()

    def source(self) -> str:
        if self._digest_now() != self.digest:
            raise ModelError(f"{self.name} was changed after the model was made; make it again")
        return self.name

    def carried_in(self, folder: str) -> CarriedGraph:
        write_once(Path(folder) / f"{self.digest}.onnx", Path(self.source()).read_bytes())
        return CarriedGraph(self.name, self.digest)

    def _digest_now(self) -> str:
        try:
            with self.path.open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()[:32]
        except OSError as problem:
            refused(self.name, problem)


class GraphBytes(Graph):
    """A graph in memory: it travels with its model unless that is shipped by reference."""

    def __init__(self, content: bytes) -> None:
        self.content = bytes(content)
        self.digest = hashlib.sha256(self.content).hexdigest()[:32]
        self.name = f"an ONNX graph of {len(self.content):,} bytes"

    def source(self) -> bytes:
        return self.content

    def by_reference(self, folder: str) -> GraphFile:
        return GraphFile(write_once(Path(folder) / f"{self.digest}.onnx", self.content))

    def carried_in(self, folder: str) -> CarriedGraph:
        self.by_reference(folder)
        return CarriedGraph(self.name, self.digest)


class CarriedGraph(Graph):
    """A graph in a folder that travels to the workers; each finds it in its own copy."""

    def __init__(self, name: str, digest: str) -> None:
        self.name, self.digest = name, digest

    def source(self) -> NoReturn:
        raise ModelError(f"{self.name} has not reached a worker yet")

    def found_in(self, folder: str) -> GraphFile:
        return GraphFile(Path(folder) / f"{self.digest}.onnx")


def graph_of(model: str | os.PathLike[str] | bytes | Graph) -> Graph:
    """The graph at a path, of some content, or as it is given."""
    if isinstance(model, Graph):
        return model
    return GraphBytes(model) if isinstance(model, bytes | bytearray) else GraphFile(model)


def session_of(graph: Graph, threads: int = 1) -> InferenceSession:
    """This process's session of a graph; sessions do not outlive a fork."""
    key = (os.getpid(), graph.digest, threads)
    if (found := _sessions.get(key)) is not None:
        return found
    with _opening:
        if key not in _sessions:
            _sessions[key] = _opened(graph, threads)
        return _sessions[key]


def _opened(graph: Graph, threads: int) -> InferenceSession:
    runtime = needs_onnxruntime()
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = _QUIET
    source = graph.source()
    try:
        return runtime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    except Exception as problem:
        # onnxruntime has an exception class for each of its error codes, and no common base.
        refused(graph.name, problem)


def write_once(path: Path, content: bytes) -> Path:
    """Write a file with this content, whole or not at all; a file that exists stays as it is."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, content)
    return path


def refused(name: str, problem: Exception) -> NoReturn:
    """Raise what is wrong with a graph, in one line."""
    why = " ".join(str(problem).split())
    raise ModelError(f"cannot use the ONNX model {name}: {why}") from None


def needs_onnxruntime() -> ModuleType:
    """Import onnxruntime, or say how to install it."""
    try:
        import onnxruntime
    except ImportError:
        raise EnvironmentProblem(
            "ONNX models need onnxruntime: install caddis[images] or caddis[texts]"
        ) from None
    runtime: ModuleType = onnxruntime
    return runtime


def needs_onnx() -> ModuleType:
    """Import onnx, or say how to install it."""
    try:
        import onnx
        import onnx.helper
        import onnx.numpy_helper
    except ImportError:
        raise EnvironmentProblem("making ONNX graphs needs onnx: install caddis[images]") from None
    module: ModuleType = onnx
    return module
