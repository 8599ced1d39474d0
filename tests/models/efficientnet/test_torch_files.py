"""Files are written here as PyTorch writes them, but without PyTorch."""

import io
import os
import pickle
import sys
import zipfile
from collections import OrderedDict
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from caddis.errors import ModelError
from caddis.models.efficientnet.torch_files import read_state_dict

MAGIC = 0x1950A86A20F9469CFC6C
ARRAYS = {
    "a.weight": np.arange(12, dtype="<f4").reshape(3, 4),
    "a.tracked": np.array(7, dtype="<i8"),
    "a.half": np.array([1.5, -2], dtype="<f2"),
}
KINDS = {"<f4": "FloatStorage", "<i8": "LongStorage", "<f2": "HalfStorage"}


class Storage:
    def __init__(self, key: str, numbers: np.ndarray[Any, Any]) -> None:
        self.key, self.numbers = key, numbers


class Tensor:
    """A tensor as the file describes it, whether or not that can be."""

    def __init__(self, storage, offset, shape, strides):
        self.parts = storage, offset, shape, strides


class Evil:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return os.system, (f"touch {self.path}",)


class TorchPickler(pickle.Pickler):
    legacy = True

    def persistent_id(self, obj):
        if not isinstance(obj, Storage):
            return None
        kind = getattr(sys.modules["torch"], KINDS[obj.numbers.dtype.str])
        pid = ("storage", kind, obj.key, "cpu", obj.numbers.size)
        return (*pid, None) if self.legacy else pid

    def reducer_override(self, obj):
        if not isinstance(obj, Tensor):
            return NotImplemented
        rebuild = sys.modules["torch._utils"]._rebuild_tensor_v2
        return rebuild, (*obj.parts, False, OrderedDict())


@pytest.fixture(autouse=True)
def torch_names(monkeypatch):
    """The names that PyTorch's pickles refer to, so that a pickler finds them."""
    torch, utils = ModuleType("torch"), ModuleType("torch._utils")
    for kind in KINDS.values():
        setattr(torch, kind, type(kind, (), {"__module__": "torch"}))

    def _rebuild_tensor_v2(): ...

    _rebuild_tensor_v2.__module__ = "torch._utils"
    _rebuild_tensor_v2.__qualname__ = "_rebuild_tensor_v2"
    utils._rebuild_tensor_v2 = _rebuild_tensor_v2  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "torch._utils", utils)


def tensor(key: str, array: np.ndarray[Any, Any]) -> Tensor:
    strides = tuple(step // array.itemsize for step in array.strides)
    return Tensor(Storage(key, array.ravel()), 0, array.shape, strides)


def state() -> OrderedDict[str, Tensor]:
    return OrderedDict((name, tensor(name, array)) for name, array in ARRAYS.items())


def dumped(value: object, *, legacy: bool = True) -> bytes:
    file = io.BytesIO()
    pickler = TorchPickler(file, protocol=2)
    pickler.legacy = legacy
    pickler.dump(value)
    return file.getvalue()


def legacy_file(path: Path, value: object, storages: dict[str, np.ndarray[Any, Any]]) -> Path:
    system = {"protocol_version": 1001, "little_endian": True}
    pickles = [dumped(one) for one in (MAGIC, 1001, system, value, list(storages))]
    stored = [np.int64(one.size).tobytes() + one.tobytes() for one in storages.values()]
    path.write_bytes(b"".join(pickles + stored))
    return path


def zip_file(path: Path, value: object, storages: dict[str, np.ndarray[Any, Any]]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", dumped(value, legacy=False))
        for key, array in storages.items():
            archive.writestr(f"archive/data/{key}", array.tobytes())
    return path


@pytest.mark.parametrize("written", [legacy_file, zip_file])
def test_both_layouts_give_back_what_was_saved(written, tmp_path):
    read = read_state_dict(written(tmp_path / "w.pth", state(), ARRAYS))
    assert list(read) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert (read[name].dtype, read[name].shape) == (array.dtype, array.shape)
        assert (read[name] == array).all()


def test_a_tensor_may_be_a_transposed_part_of_a_storage(tmp_path):
    storage = Storage("s", np.arange(10, dtype="<f4"))
    saved = {"t": Tensor(storage, 2, (2, 3), (1, 2)), "whole": Tensor(storage, 0, (10,), (1,))}
    read = read_state_dict(legacy_file(tmp_path / "w.pth", saved, {"s": storage.numbers}))
    assert read["t"].tolist() == [[2, 4, 6], [3, 5, 7]]


@pytest.mark.parametrize("written", [legacy_file, zip_file])
def test_a_file_that_calls_anything_else_is_refused_before_it_does(written, tmp_path):
    path = written(tmp_path / "w.pth", {"a": Evil(tmp_path / "owned")}, {})
    with pytest.raises(ModelError, match=r"asks for posix\.system, .* refused"):
        read_state_dict(path)
    assert not (tmp_path / "owned").exists()


def test_a_file_whose_very_first_pickle_is_evil_is_refused(tmp_path):
    path = tmp_path / "w.pth"
    path.write_bytes(pickle.dumps(Evil(tmp_path / "owned")))
    with pytest.raises(ModelError, match="refused"):
        read_state_dict(path)
    assert not (tmp_path / "owned").exists()


@pytest.mark.parametrize(
    ("offset", "shape", "strides", "problem"),
    [
        (4, (10,), (1,), "reaches beyond"),
        (0, (3, 3), (5, 1), "reaches beyond"),
        (0, (1 << 40,), (0,), "larger than its storage"),
        (-1, (2,), (1,), "larger than its storage"),
        (0, (2.5,), (1,), "not of whole numbers"),
    ],
)
def test_a_tensor_never_reads_outside_its_storage(offset, shape, strides, problem, tmp_path):
    storage = Storage("s", np.zeros(10, "<f4"))
    saved = {"t": Tensor(storage, offset, shape, strides)}
    with pytest.raises(ModelError, match=problem):
        read_state_dict(legacy_file(tmp_path / "w.pth", saved, {"s": storage.numbers}))


def test_what_is_no_state_dict_is_refused_by_name(tmp_path):
    with pytest.raises(ModelError, match="holds a list, not a state dict"):
        read_state_dict(legacy_file(tmp_path / "a.pth", [1], {}))
    with pytest.raises(ModelError, match="'epoch' is no tensor"):
        read_state_dict(legacy_file(tmp_path / "b.pth", {"epoch": 3}, {}))
    (tmp_path / "c.pth").write_bytes(b"GIF89a")
    with pytest.raises(ModelError, match=r"c\.pth is no file of PyTorch weights"):
        read_state_dict(tmp_path / "c.pth")
    with pytest.raises(ModelError, match="No such file"):
        read_state_dict(tmp_path / "d.pth")


def test_a_file_cut_short_is_refused(tmp_path):
    path = legacy_file(tmp_path / "w.pth", state(), ARRAYS)
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(ModelError, match=r"w\.pth"):
        read_state_dict(path)
