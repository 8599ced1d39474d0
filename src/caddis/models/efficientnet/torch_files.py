"""Reads the weights that PyTorch saved, without PyTorch and without trusting the file.

A `.pth` file is a pickle, and a pickle may call whatever it likes. This reader looks up nothing but
the few names a state dict is made of, and refuses the rest before anything is called; nothing that
it hands to the pickle can be altered by it. Two layouts exist:

    legacy      magic number, protocol, system, state dict, storage keys: five pickles;
                then of each storage, in the order of the keys: its length (int64) and its numbers
    zip         */data.pkl with the state dict, and a file */data/<key> of each storage
"""

from __future__ import annotations

import io
import math
import pickle
import zipfile
from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from caddis.arrays import Anys
from caddis.errors import ModelError

_MAGIC = 0x1950A86A20F9469CFC6C
_NUMBERS = {
    "FloatStorage": "<f4",
    "DoubleStorage": "<f8",
    "HalfStorage": "<f2",
    "LongStorage": "<i8",
    "IntStorage": "<i4",
    "ShortStorage": "<i2",
    "CharStorage": "|i1",
    "ByteStorage": "|u1",
    "BoolStorage": "|b1",
}


class _Storage(NamedTuple):
    """A run of numbers that tensors are cut from."""

    key: str
    numbers: str
    length: int


class _Tensor(NamedTuple):
    """Where in its storage a tensor lies; strides count numbers, not bytes."""

    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def read_state_dict(path: str | Path) -> dict[str, Anys]:
    """The tensors of a `.pth` file by name."""
    try:
        with Path(path).open("rb") as file:
            if zipfile.is_zipfile(file):
                return _read_zip(file)
            file.seek(0)
            return _read_legacy(file)
    except (OSError, ModelError) as problem:
        raise ModelError(f"cannot read the weights in {path}: {problem}") from None
    except Exception as problem:
        # A damaged pickle can fail in as many ways as there are opcodes.
        raise ModelError(f"{path} is no file of PyTorch weights: {problem!r}") from None


def _read_legacy(file: BinaryIO) -> dict[str, Anys]:
    if _Unpickler(file).load() != _MAGIC:
        raise ModelError("it does not begin as PyTorch's files do")
    _protocol, system, state, keys = (_Unpickler(file).load() for _ in range(4))
    if not system.get("little_endian", True):
        raise ModelError("it was saved on a big-endian machine")
    tensors = _tensors(state)
    storages = {tensor.storage.key: tensor.storage for tensor in tensors.values()}
    content = {}
    for key in keys:
        storage = storages[key]
        length = int.from_bytes(file.read(8), "little")
        if length != storage.length:
            raise ModelError(f"storage {key} holds {length} numbers instead of {storage.length}")
        content[key] = file.read(length * np.dtype(storage.numbers).itemsize)
    return _arrays(tensors, content.__getitem__)


def _read_zip(file: BinaryIO) -> dict[str, Anys]:
    with zipfile.ZipFile(file) as archive:
        [pickled] = [name for name in archive.namelist() if name.endswith("/data.pkl")]
        folder = pickled.removesuffix(".pkl")
        tensors = _tensors(_Unpickler(io.BytesIO(archive.read(pickled))).load())
        return _arrays(tensors, lambda key: archive.read(f"{folder}/{key}"))


def _tensors(state: object) -> dict[str, _Tensor]:
    if not isinstance(state, Mapping):
        raise ModelError(f"it holds a {type(state).__name__}, not a state dict")
    for name, tensor in state.items():
        if not isinstance(name, str) or not isinstance(tensor, _Tensor):
            raise ModelError(f"it holds no state dict: {name!r} is no tensor")
    return dict(state)


def _arrays(tensors: Mapping[str, _Tensor], content: Callable[[str], bytes]) -> dict[str, Anys]:
    read: dict[str, Anys] = {}
    arrays = {}
    for name, tensor in tensors.items():
        key, numbers, length = tensor.storage
        if key not in read:
            read[key] = np.frombuffer(content(key), numbers, count=length)
        arrays[name] = _cut(name, read[key], tensor)
    return arrays


def _cut(name: str, storage: Anys, tensor: _Tensor) -> Anys:
    """The tensor out of its storage, if it lies within: strides in a file may say anything."""
    _, offset, shape, strides = tensor
    reach = sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
    numbers = math.prod(shape)
    if min((offset, *shape, *strides)) < 0 or numbers > storage.size:
        raise ModelError(f"the tensor {name!r} is larger than its storage")
    if numbers and offset + reach >= storage.size:
        raise ModelError(f"the tensor {name!r} reaches beyond its storage")
    width = storage.itemsize
    inside = storage[offset:] if numbers else storage[:0]
    return np.ascontiguousarray(
        np.lib.stride_tricks.as_strided(inside, shape, [stride * width for stride in strides])
    ).reshape(shape)


class _Unpickler(pickle.Unpickler):
    """An unpickler that knows what state dicts are made of, and nothing else."""

    def find_class(self, module: str, name: str) -> object:
        # What is handed out is immutable or made afresh: a pickle may also set attributes.
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return lambda storage, offset, shape, strides, *_: _tensor(
                storage, offset, shape, strides
            )
        if (module, name) == ("torch._utils", "_rebuild_parameter"):
            return lambda tensor, *_: tensor
        if module == "torch" and name in _NUMBERS:
            return _NUMBERS[name]
        raise ModelError(f"it asks for {module}.{name}, which no state dict needs; refused")

    def persistent_load(self, pid: object) -> _Storage:
        match pid:
            case ("storage", str(numbers), str(key), _, int(length), *view) if not any(view):
                return _Storage(key, numbers, length)
        raise ModelError(f"it refers to {pid!r:.80}, which is no storage")


def _tensor(storage: object, offset: object, shape: object, strides: object) -> _Tensor:
    if not isinstance(storage, _Storage):
        raise ModelError("it holds a tensor without a storage")
    where = (offset, *tuple(shape), *tuple(strides))  # type: ignore[arg-type]
    if not all(isinstance(number, int) for number in where):
        raise ModelError("it holds a tensor whose shape is not of whole numbers")
    return _Tensor(storage, offset, tuple(shape), tuple(strides))  # type: ignore[arg-type]
