"""Names that users type: what they may have meant, and registries of what names stand for.

A registry is the one place that knows which variants of a thing there are (policies, say) and
which of them is the default; an unknown name gets an error that lists the known ones.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Generic, Protocol, TypeVar

from caddis.errors import CaddisError


class Named(Protocol):
    """What a registry can hold."""

    @property
    def name(self) -> str: ...


Thing = TypeVar("Thing", bound=Named)


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that looks most like this one, if any does.

    >>> nearest("pricee", ["city", "price"])
    'price'
    """
    return next(iter(difflib.get_close_matches(name, list(known), n=1)), None)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of an error message about an unknown name; empty if nothing looks like it.

    >>> did_you_mean("galwey", ["galway", "cork"])
    "; did you mean 'galway'?"
    >>> did_you_mean("paris", ["galway", "cork"])
    ''
    """
    near = nearest(name, known)
    return "" if near is None else f"; did you mean {near!r}?"


class Registry(Mapping[str, Thing], Generic[Thing]):
    """Things by their names, with one that is used if nobody names another.

    kind: what they are, as an error message says it: "policy".
    error: what is raised for an unknown name.

    >>> from collections import namedtuple
    >>> Tree = namedtuple("Tree", "name")
    >>> trees = Registry("tree", [Tree("oak"), Tree("ash")], default="oak", error=CaddisError)
    >>> trees.named(None).name, list(trees)
    ('oak', ['oak', 'ash'])
    >>> trees.named("oka")
    Traceback (most recent call last):
    caddis.errors.CaddisError: there is no tree 'oka'; did you mean 'oak'? There are: oak, ash
    """

    def __init__(
        self, kind: str, things: Iterable[Thing], *, default: str, error: type[CaddisError]
    ) -> None:
        self.kind = kind
        self.default = default
        self._things = {thing.name: thing for thing in things}
        self._error = error
        self.named(default)

    def named(self, name: str | None) -> Thing:
        """The thing of that name, or the default for None."""
        wanted = self.default if name is None else name
        if wanted in self._things:
            return self._things[wanted]
        hint = did_you_mean(wanted, self) or "."
        raise self._error(f"there is no {self.kind} {wanted!r}{hint} There are: {', '.join(self)}")

    def only(self, keep: Callable[[Thing], bool], *, default: str) -> Registry[Thing]:
        """The registry of those that `keep` accepts, with a default of its own."""
        kept = [thing for thing in self.values() if keep(thing)]
        return Registry(self.kind, kept, default=default, error=self._error)

    def __getitem__(self, name: str) -> Thing:
        return self._things[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._things)

    def __len__(self) -> int:
        return len(self._things)
