"""Covering: when one clause asks for everything that another asks for, and so spares it.

A clause covers another if it is true whenever the other is: whoever asks a neighbour for the
covering one gets what the covered one wants as well. The tests are sound, not complete: `covers`
and `implies` say True, and `overlap` says False, only if that is sure, judging by the atoms alone.
`covers` is transitive, which the forest of `Cover` relies on.

`Cover` keeps the clauses as a forest. Its roots are asked for; every other clause hangs below one
that covers it. If clauses cover each other, the first one is the root. When a root leaves, what
hung directly below it is placed again, the broader clauses first; the trees below stay as they are.

Roots are found by *tokens*. What an atom needs is a token: a concept its name and column, an
equality its column and value, another predicate its column. A clause offers the tokens that it
needs and the columns that it tests, so it can be covered only by a clause whose needs are all among
its offers. A root is filed under its rarest need, where clauses look for one that covers them, and
posted under everything that it offers, where clauses look for those that they cover. Adding costs
one short list for each offer and one posting; removing what covers n others costs as much as adding
these n.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from caddis.language import (
    ALL_KNOWN,
    Clause,
    Concept,
    Contains,
    InValues,
    MatchesText,
    Predicate,
    ValueSet,
)

Atom = Predicate | Concept


def implies(one: Atom, other: Atom) -> bool:
    """Whether `other` is surely true for every event for which `one` is.

    >>> from caddis.language.columns import Column
    >>> age = Column(("age",), None)
    >>> implies(InValues(age, ValueSet.points(7)), InValues(age, ValueSet.points(7, 8)))
    True
    """
    if isinstance(one, Concept) or isinstance(other, Concept):
        return _is_same_answer(one, other)
    if one.column != other.column:
        return False
    if isinstance(other, InValues):
        return is_subset(_values(one), other.values)
    if isinstance(one, Contains) and isinstance(other, Contains):
        return _contains_implies(one, other)
    return one == other


def covers(general: Clause, special: Clause) -> bool:
    """Whether `general` is surely true for every event for which `special` is.

    >>> beach, crowded = Concept("beach", None), Concept("crowded", None)
    >>> covers(Clause((), (beach,)), Clause((), (crowded, beach)))
    True
    """
    return all(
        any(implies(theirs, concept) for theirs in special.concepts) for concept in general.concepts
    ) and all(
        any(implies(theirs, predicate) for theirs in special.predicates)
        for predicate in general.predicates
    )


def overlap(one: Clause, other: Clause) -> bool:
    """Whether an event may satisfy both; False only if surely none does.

    >>> beach, no_beach = Concept("beach", None), Concept("beach", None, negated=True)
    >>> overlap(Clause((), (beach,)), Clause((), (no_beach,)))
    False
    """
    return not any(
        _exclude(mine, theirs) for mine in one.concepts for theirs in other.concepts
    ) and not any(_exclude(mine, theirs) for mine in one.predicates for theirs in other.predicates)


def is_subset(some: ValueSet, others: ValueSet) -> bool:
    """Whether all values of the first set, including null, are in the second.

    >>> is_subset(ValueSet.points(1, 3), ValueSet.points(1, 2, 3)), is_subset(ALL_KNOWN, ~ALL_KNOWN)
    (True, False)
    """
    if some.null and not others.null:
        return False
    for low, high in zip(some.cuts[::2], some.cuts[1::2], strict=True):
        # Cuts alternate between the begin and the end of an interval: at an even place `low` lies
        # outside all of them.
        end = bisect_right(others.cuts, low)
        if end % 2 == 0 or others.cuts[end] < high:
            return False
    return True


def _is_same_answer(one: Atom, other: Atom) -> bool:
    return (
        isinstance(one, Concept)
        and isinstance(other, Concept)
        and one.name == other.name
        and one.negated == other.negated
        and one.column == other.column
    )


def _values(predicate: Predicate) -> ValueSet:
    """The values for which a predicate may be true; a pattern needs any value but null."""
    return predicate.values if isinstance(predicate, InValues) else ALL_KNOWN


def _contains_implies(one: Contains, other: Contains) -> bool:
    """Containing one of few implies one of more; containing none of more implies none of few."""
    if one.negated != other.negated:
        return False
    fewer, more = (other, one) if one.negated else (one, other)
    return is_subset(fewer.elements, more.elements)


def _exclude(one: Atom, other: Atom) -> bool:
    """Whether the two are surely never true for the same event."""
    if isinstance(one, Concept) or isinstance(other, Concept):
        return _are_contrary(one, other)
    if one.column != other.column:
        return False
    return (_values(one) & _values(other)).is_nothing or _are_contrary(one, other)


def _are_contrary(one: Atom, other: Atom) -> bool:
    """Whether one is the negation of something that the other implies."""
    if isinstance(one, InValues) or isinstance(other, InValues) or one.negated == other.negated:
        return False
    yes, no = (other, one) if one.negated else (one, other)
    if isinstance(yes, Concept) and isinstance(no, Concept):
        return yes.name == no.name and yes.column == no.column
    if isinstance(yes, MatchesText) and isinstance(no, MatchesText):
        return yes.pattern == no.pattern
    if isinstance(yes, Contains) and isinstance(no, Contains):
        return is_subset(yes.elements, no.elements)
    return False


K = TypeVar("K", bound=Hashable)
Token = tuple[object, ...]

ANY: Token = ()
"""The token that a clause without atoms needs, and that every clause offers."""


@dataclass(frozen=True, slots=True)
class Change(Generic[K]):
    """The keys of clauses that must be asked for from now on, and of those that no longer must."""

    announced: tuple[K, ...] = ()
    withdrawn: tuple[K, ...] = ()


class Cover(Generic[K]):
    """The forest of clauses, each under a key of its own.

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
        """Hang a node below a root that covers it, or make it a root above those that it covers."""
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
    """A stand-in for `Cover` where no clause is left out."""

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
    """Collects what one operation announces and withdraws; a key that is both has not moved."""

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
    """The token of a predicate: column and value of an equality, otherwise the column."""
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
