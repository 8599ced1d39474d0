import os
import pickle
import sys
from pathlib import Path

import pytest

from caddis.errors import EnvironmentProblem, ModelError
from caddis.models.onnx.sessions import GraphBytes, GraphFile, needs_onnx, session_of
from tests.models.graphs import colour_graph


def test_a_process_has_one_session_of_a_graph_however_it_was_given(tmp_path):
    graph = GraphBytes(colour_graph())
    path = tmp_path / "colours.onnx"
    path.write_bytes(graph.content)
    assert session_of(graph) is session_of(GraphFile(path))
    assert session_of(graph) is not session_of(graph, threads=2)


@pytest.mark.parametrize("content", [b"", b"no graph", colour_graph()[:-20]])
def test_a_bad_file_is_named_in_one_line(content, tmp_path, capfd):
    path = tmp_path / "bad.onnx"
    path.write_bytes(content)
    with pytest.raises(ModelError, match=r"cannot use the ONNX model .*bad\.onnx: \S+") as raised:
        session_of(GraphFile(path))
    assert "\n" not in str(raised.value)
    assert capfd.readouterr() == ("", "")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ModelError, match=r"none\.onnx: .*No such file"):
        GraphFile(tmp_path / "none.onnx")


def test_a_file_that_changed_since_is_not_run(tmp_path):
    path = tmp_path / "colours.onnx"
    path.write_bytes(colour_graph(height=31))
    graph = GraphFile(path)
    path.write_bytes(colour_graph(height=32))
    with pytest.raises(ModelError, match="was changed after the model was made"):
        session_of(graph)


def test_bytes_are_shipped_as_a_file_that_is_written_once(tmp_path):
    graph = GraphBytes(colour_graph())
    first = graph.by_reference(str(tmp_path / "new"))
    os.utime(first.path, (1, 1))
    second = graph.by_reference(str(tmp_path / "new"))
    assert first.digest == second.digest == graph.digest
    assert [file.name for file in (tmp_path / "new").iterdir()] == [f"{graph.digest}.onnx"]
    assert second.path.stat().st_mtime == 1
    assert second.by_reference(str(tmp_path)) is second


@pytest.mark.parametrize("given", ["bytes", "file"])
def test_a_graph_travels_in_a_folder_and_is_found_in_any_copy_of_it(tmp_path, given):
    (tmp_path / "mine.onnx").write_bytes(colour_graph())
    graph = GraphBytes(colour_graph()) if given == "bytes" else GraphFile(tmp_path / "mine.onnx")
    carried = graph.carried_in(str(tmp_path / "sent"))
    with pytest.raises(ModelError, match="has not reached a worker yet"):
        carried.source()
    (tmp_path / "mine.onnx").unlink()
    (tmp_path / "sent").rename(tmp_path / "arrived")
    found = pickle.loads(pickle.dumps(carried)).found_in(str(tmp_path / "arrived"))
    assert Path(found.source()).read_bytes() == colour_graph()
    assert found.digest == graph.digest


def test_a_missing_package_is_said_to_be_an_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(EnvironmentProblem, match=r"install caddis\[images\]"):
        needs_onnx()
