"""Which of many clauses must be asked for: those that no other one covers.

The clauses are a forest. Its roots are asked for; every other clause hangs below one that covers
it. Of clauses that cover each other the first is the root. When a root leaves, what hung directly
below it is placed anew, the broader first; the trees below that stay, as `covers` is transitive.

Roots are found by *tokens*. What an atom needs is a token: a concept its name and column, an
equality its column and value, another predicate its column. A clause offers the tokens that it
needs and the columns that it tests, so that a clause can only be covered by one whose needs are
all among its offers. A root is filed under its rarest need, where those look that it may cover,
and posted under all that it offers, where those look that may cover it. Adding costs one short
list per offer and one posting; removing what covers n others costs as much as adding these n.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from caddis.language.predicates import Clause, InValues, Predicate
from caddis.overlay.routing.covering import covers

K = TypeVar("K", bound=Hashable)
Token = tuple[object, ...]

ANY: Token = ()
"""What a clause without atoms needs, and what every clause offers."""


@dataclass(frozen=True, slots=True)
class Change(Generic[K]):
    """Which clauses must be asked for from now on, and which no longer."""

    announced: tuple[K, ...] = ()
    withdrawn: tuple[K, ...] = ()


class Cover(Generic[K]):
    """An index of clauses, each under a key of its own.

    >>> from caddis.language import Column, Concept
    >>> photo = Column(("photo",), None)
    >>> beach, crowded = Concept("beach", photo), Concept("crowded", photo)
    >>> cover = Cover[str]()
    >>> cover.add("both", Clause((), (beach, crowded)))
    Change(announced=('both',), withdrawn=())
    >>> cover.add("any beach", Clause((), (beach,)))
    Change(announced=('any beach',), withdrawn=('both',))
    >>> cover.remove("any beach")
    Change(announced=('both',), withdrawn=('any beach',))
    """

    def __init__(self) -> None:
        self._nodes: dict[K, _Node[K]] = {}
        self._filed: dict[Token, dict[_Node[K], None]] = {}
        self._posted: dict[Token, dict[_Node[K], None]] = {}

    def __contains__(self, key: K) -> bool:
        return key in self._nodes

    def __len__(self) -> int:
        return len(self._nodes)

    def uncovered(self) -> Iterator[tuple[K, Clause]]:
        """The clauses that are asked for."""
        return ((root.key, root.clause) for root in self._posted.get(ANY, ()))

    def add(self, key: K, clause: Clause) -> Change[K]:
        """Take in a clause under a key that is not in use."""
        assert key not in self._nodes
        node = self._nodes[key] = _Node(key, clause, *_tokens(clause))
        moves = _Moves[K]()
        self._place(node, moves)
        return moves.change()

    def remove(self, key: K) -> Change[K]:
        """Forget a clause that was added."""
        node = self._nodes.pop(key)
        moves = _Moves[K]()
        if node.above is not None:
            del node.above.below[node]
            for child in node.below:
                child.hang_below(node.above)
            return moves.change()
        self._uproot(node)
        moves.withdraw(key)
        for child in sorted(node.below, key=lambda child: len(child.needs)):
            child.above = None
            self._place(child, moves)
        return moves.change()

    def _place(self, node: _Node[K], moves: _Moves[K]) -> None:
        """Hang a node below a root that covers it, or make it a root over those it covers."""
        coverer = self._coverer(node)
        if coverer is not None:
            node.hang_below(coverer)
            return
        for covered in self._covered(node):
            self._uproot(covered)
            covered.hang_below(node)
            moves.withdraw(covered.key)
        self._root(node)
        moves.announce(node.key)

    def _coverer(self, node: _Node[K]) -> _Node[K] | None:
        offers = node.offers
        for token in node.offered:
            for root in self._filed.get(token, ()):
                if root.needs <= offers and covers(root.clause, node.clause):
                    return root
        return None

    def _covered(self, node: _Node[K]) -> list[_Node[K]]:
        needs, clause = node.needs, node.clause
        posting = self._posted.get(self._rarest(node), ())
        return [root for root in posting if needs <= root.offers and covers(clause, root.clause)]

    def _rarest(self, node: _Node[K]) -> Token:
        return min(node.needed, key=lambda token: len(self._posted.get(token, ())))

    def _root(self, node: _Node[K]) -> None:
        node.filed_under = self._rarest(node)
        self._filed.setdefault(node.filed_under, {})[node] = None
        for token in node.offered:
            self._posted.setdefault(token, {})[node] = None

    def _uproot(self, node: _Node[K]) -> None:
        _take_out(self._filed, node.filed_under, node)
        for token in node.offered:
            _take_out(self._posted, token, node)


class EveryClause(Generic[K]):
    """What stands in for a `Cover` where nothing is to be left out."""

    def __init__(self) -> None:
        self._keys: dict[K, None] = {}

    def __contains__(self, key: K) -> bool:
        return key in self._keys

    def add(self, key: K, clause: Clause) -> Change[K]:  # noqa: ARG002
        """Take in a clause under a key that is not in use."""
        self._keys[key] = None
        return Change(announced=(key,))

    def remove(self, key: K) -> Change[K]:
        """Forget a clause that was added."""
        del self._keys[key]
        return Change(withdrawn=(key,))


@dataclass(slots=True, eq=False)
class _Node(Generic[K]):
    """A clause in the forest; `needed` and `offered` are its tokens in order."""

    key: K
    clause: Clause
    needed: tuple[Token, ...]
    offered: tuple[Token, ...]
    needs: frozenset[Token] = field(init=False)
    offers: frozenset[Token] = field(init=False)
    filed_under: Token = ANY
    above: _Node[K] | None = None
    below: dict[_Node[K], None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.needs, self.offers = frozenset(self.needed), frozenset(self.offered)

    def hang_below(self, root: _Node[K]) -> None:
        self.above = root
        root.below[self] = None


class _Moves(Generic[K]):
    """Collects what one operation announces and withdraws; what does both has not moved."""

    def __init__(self) -> None:
        self._announced: dict[K, None] = {}
        self._withdrawn: dict[K, None] = {}

    def announce(self, key: K) -> None:
        self._announced[key] = None

    def withdraw(self, key: K) -> None:
        if key in self._announced:
            del self._announced[key]
        else:
            self._withdrawn[key] = None

    def change(self) -> Change[K]:
        return Change(tuple(self._announced), tuple(self._withdrawn))


def _tokens(clause: Clause) -> tuple[tuple[Token, ...], tuple[Token, ...]]:
    """What a clause needs, and what it offers."""
    needed: dict[Token, None] = {
        (concept.name, concept.column.path, concept.negated): None for concept in clause.concepts
    }
    offered: dict[Token, None] = {ANY: None}
    for predicate in clause.predicates:
        needed[_need(predicate)] = None
        offered[predicate.column.path] = None
    return tuple(needed) or (ANY,), tuple(offered | needed)


def _need(predicate: Predicate) -> Token:
    path = predicate.column.path
    if not isinstance(predicate, InValues):
        return path
    values = predicate.values
    if values.null or len(values.cuts) != 2:
        return path
    low, high = values.cuts
    return (path, low) if low[:2] == high[:2] else path


def _take_out(lists: dict[Token, dict[_Node[K], None]], token: Token, node: _Node[K]) -> None:
    one = lists[token]
    del one[node]
    if not one:
        del lists[token]
