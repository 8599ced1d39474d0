"""The normal form against truth tables: three-valued logic over random trees."""

from itertools import product
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caddis.language import tree
from caddis.language.columns import Column
from caddis.language.refusals import ShapeProblem
from caddis.language.tree import (
    MAX_CLAUSES,
    And,
    Atom,
    ClauseTemplate,
    Constant,
    Node,
    Not,
    Or,
    Term,
    Values,
    normalise,
)

Truth = bool | None
Row = dict[str, Truth]
COLUMNS = [Column((name,), pa.bool_()) for name in "abc"]
PHOTO = Column(("photo",), pa.binary())
ROWS: list[Row] = [
    dict(zip(["a", "b", "c", "photo"], values, strict=True))
    for values in product([True, False, None], repeat=4)
]

operands = st.sampled_from([True, False, None])
atoms = st.one_of(
    st.builds(
        lambda column, test, operand: Atom(column, test, (operand,)),
        st.sampled_from(COLUMNS),
        st.sampled_from([tree.Test.EQUAL, tree.Test.LESS, tree.Test.AT_MOST]),
        operands,
    ),
    st.builds(lambda column: Atom(column, tree.Test.NULL), st.sampled_from(COLUMNS)),
    st.builds(lambda column: Atom(column, tree.Test.SAME, (True,)), st.sampled_from(COLUMNS)),
    st.builds(lambda column: Atom(column, tree.Test.IN, (True, None)), st.sampled_from(COLUMNS)),
    st.just(Atom(PHOTO, tree.Test.CONCEPT, concept="beach")),
)
trees: st.SearchStrategy[Node] = st.recursive(
    atoms | st.builds(Constant, operands),
    lambda inner: st.one_of(
        st.builds(Not, inner),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: And(tuple(parts))),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: Or(tuple(parts))),
    ),
    max_leaves=10,
)


def negated(answer: Truth) -> Truth:
    return None if answer is None else not answer


def any_of(answers: list[Truth]) -> Truth:
    return True if True in answers else None if None in answers else False


def atom_truth(atom: Atom, row: Row) -> Truth:
    value = row[atom.column.path[0]]
    if atom.test is tree.Test.NULL:
        return value is None
    if atom.test is tree.Test.CONCEPT:
        return value
    if atom.test is tree.Test.SAME:
        return value is atom.operands[0]
    answers = [compared(atom.test, value, operand) for operand in atom.operands]
    return any_of(answers)


def compared(test: tree.Test, value: Truth, operand: Any) -> Truth:
    if value is None or operand is None:
        return None
    if test is tree.Test.LESS:
        return bool(value < operand)
    return bool(value <= operand) if test is tree.Test.AT_MOST else value is operand


def truth(node: Node, row: Row) -> Truth:
    if isinstance(node, Constant):
        return node.value
    if isinstance(node, Not):
        return negated(truth(node.operand, row))
    if isinstance(node, And):
        return negated(any_of([negated(truth(part, row)) for part in node.operands]))
    if isinstance(node, Or):
        return any_of([truth(part, row) for part in node.operands])
    return atom_truth(node, row)


def part_holds(part: Values | Term, row: Row) -> bool:
    """Whether a term is true or, if it is negated, false."""
    if isinstance(part, Term):
        return atom_truth(part.atom, row) is (not part.negated)
    answers = [part_holds(inner, row) for inner in part.parts]
    return all(answers) if part.joint == "and" else any(answers)


def holds(clauses: tuple[ClauseTemplate, ...], row: Row) -> bool:
    return any(all(part_holds(part, row) for part in clause) for clause in clauses)


@given(trees)
def test_the_clauses_are_true_exactly_where_the_tree_is(root):
    clauses = normalise(root)
    assert [holds(clauses, row) for row in ROWS] == [truth(root, row) is True for row in ROWS]


@given(trees)
def test_the_clauses_of_a_negation_are_true_exactly_where_the_tree_is_false(root):
    clauses = normalise(Not(root))
    assert [holds(clauses, row) for row in ROWS] == [truth(root, row) is False for row in ROWS]


@given(trees)
def test_a_clause_has_one_set_of_values_a_column(root):
    for clause in normalise(root):
        columns = [part.column for part in clause if isinstance(part, Values)]
        assert len(columns) == len(set(columns))


@given(trees)
def test_no_clause_is_listed_twice(root):
    clauses = normalise(root)
    assert len(clauses) == len(set(clauses))


def equals(column: Column) -> Atom:
    return Atom(column, tree.Test.EQUAL, (True,))


@pytest.mark.parametrize(
    ("value", "clauses"), [(True, ((),)), (False, ()), (None, ())], ids=["TRUE", "FALSE", "NULL"]
)
def test_a_constant_is_the_empty_clause_or_none(value, clauses):
    assert normalise(Constant(value)) == clauses
    assert normalise(Not(Constant(value))) == (((),) if value is False else ())


def test_an_or_on_one_column_stays_one_clause():
    assert len(normalise(Or(tuple(equals(COLUMNS[0]) for _ in range(1_000))))) == 1


def test_an_or_across_columns_is_a_clause_for_each():
    assert len(normalise(Or((equals(COLUMNS[0]), equals(COLUMNS[1]))))) == 2


def wide(ands: int, ors: int) -> Node:
    columns = [Column((f"c{i}",), pa.bool_()) for i in range(ands * ors)]
    groups = [Or(tuple(map(equals, columns[i * ors : (i + 1) * ors]))) for i in range(ands)]
    return And(tuple(groups))


def test_as_many_clauses_as_the_limit_are_made():
    assert len(normalise(wide(9, 2))) == MAX_CLAUSES == 512


@pytest.mark.parametrize(
    ("ands", "ors", "count"), [(10, 2, "1,024"), (6, 3, "729"), (40, 2, "1,099,511,627,776")]
)
def test_too_many_clauses_are_counted_and_refused_with_the_limit(ands, ors, count):
    with pytest.raises(ShapeProblem) as problem:
        normalise(wide(ands, ors))
    assert str(problem.value) == (
        f"too many clauses: written without nested OR it has {count}, and the limit is 512; "
        "split it into several subscriptions"
    )
