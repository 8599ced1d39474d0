"""YAML whose every part knows its line, so that a refusal can say where.

PyYAML's plain loading forgets lines, keeps the last of two equal keys and takes `no` for a truth
value. Here a file stays a tree of nodes until somebody says what is expected: a mapping of known
keys, a text, a number. What is written as a word may be read as a text, whatever YAML makes of it:
a broker may be called `no` or `12`.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

from caddis.errors import OverlayError

_NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
_NULL = "tag:yaml.org,2002:null"
_KINDS: dict[type[yaml.Node], str] = {yaml.MappingNode: "a mapping", yaml.SequenceNode: "a list"}


@dataclass(frozen=True, slots=True)
class Marked:
    """A part of a YAML file, and what a person would call it."""

    path: Path
    node: yaml.Node
    called: str

    @property
    def line(self) -> int:
        return int(self.node.start_mark.line) + 1

    @property
    def is_null(self) -> bool:
        return bool(self.node.tag == _NULL)

    def refuse(self, problem: str) -> OverlayError:
        """An error that says where it is."""
        return OverlayError(f"{self.path}, line {self.line}: {problem}")

    def text(self) -> str:
        """What stands here, as it is written."""
        value = self.node.value if isinstance(self.node, yaml.ScalarNode) else ""
        if self.is_null or not isinstance(value, str) or not value.strip():
            raise self.refuse(f"{self.called} must be a text, not {self._found()}")
        return value

    def number(self) -> float:
        """A finite number."""
        try:
            value = float(self.node.value) if self.node.tag in _NUMBERS else math.nan
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise self.refuse(f"{self.called} must be a number, not {self._found()}")
        return value

    def items(self) -> Iterator[Marked]:
        """The items of a list."""
        if not isinstance(self.node, yaml.SequenceNode):
            raise self.refuse(f"{self.called} must be a list, not {self._found()}")
        for place, item in enumerate(self.node.value, start=1):
            yield Marked(self.path, item, f"item {place} of {self.called}")

    def entries(self) -> dict[str, tuple[Marked, Marked]]:
        """Key and value of a mapping, by the key's text; no key twice. Nothing at all is empty."""
        if self.is_null:
            return {}
        if not isinstance(self.node, yaml.MappingNode):
            raise self.refuse(f"{self.called} must be a mapping, not {self._found()}")
        found: dict[str, tuple[Marked, Marked]] = {}
        for key_node, value_node in self.node.value:
            key = Marked(self.path, key_node, f"a key of {self.called}")
            name = key.text()
            if name in found:
                before = found[name][0].line
                raise key.refuse(f"{name!r} stands twice in {self.called}; first in line {before}")
            found[name] = key, Marked(self.path, value_node, repr(name))
        return found

    def fields(self, known: Collection[str]) -> dict[str, Marked]:
        """The values of a mapping that may have these keys and no others."""
        entries = self.entries()
        for name, (key, _) in entries.items():
            if name not in known:
                hint = nearest(name, known) or f"; there is: {', '.join(known)}"
                raise key.refuse(f"unknown key {name!r} in {self.called}{hint}")
        return {
            name: Marked(self.path, value.node, f"{name!r} of {self.called}")
            for name, (_, value) in entries.items()
        }

    def _found(self) -> str:
        if self.is_null or not self.node.value:
            return "nothing"
        return _KINDS.get(type(self.node)) or repr(self.node.value)


def read_marked(path: Path, called: str) -> Marked:
    """The one document of a YAML file."""
    try:
        node = yaml.compose(path.read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
    except OSError as error:
        raise OverlayError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise OverlayError(f"{path}: not a text file") from error
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        context = f"{error.context}: " if error.context else ""
        raise OverlayError(f"{path}, line {line}: not YAML: {context}{error.problem}") from error
    except yaml.YAMLError as error:
        raise OverlayError(f"{path}: not YAML: {error}") from error
    if node is None:
        raise OverlayError(f"{path}: the file is empty")
    return Marked(path, node, called)


def nearest(name: str, known: Collection[str]) -> str:
    """A hint at the known name that is most like it, or nothing.

    >>> nearest("galwya", ["cork", "galway"])
    "; did you mean 'galway'?"
    """
    near = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {near[0]!r}?" if near else ""
