"""A binding remembers what each combination of literals came to."""

import pyarrow as pa

from caddis.language import Concept, ValueSet, Vocabulary, tree
from caddis.language.binding import ALWAYS, INVALID, NEVER, Binding, renumbered, slots_of
from caddis.language.columns import Column
from caddis.language.parsing import PredicateCollector
from caddis.language.shapes import CONCEPT
from caddis.language.tree import Atom, Slot, Term, Values

PRICE = Column(("price",), pa.int32())


def less(slot: int, negated: bool = False) -> Term:
    return Term(Atom(PRICE, tree.Test.LESS, (Slot(slot, "i"),)), negated)


def bound(part: Values | Term) -> tuple[Binding, PredicateCollector]:
    predicates = PredicateCollector()
    return Binding(part, predicates, "UTC"), predicates


def test_the_same_literals_give_the_same_predicate():
    binding, predicates = bound(Values(PRICE, "and", (less(0),)))
    assert [binding[("5",)], binding[("6",)], binding[("5",)]] == [0, 1, 0]
    assert len(predicates) == 2


def test_a_set_without_values_is_never_true_and_is_not_listed():
    part = Values(PRICE, "and", (less(0), less(1, negated=True)))
    binding, predicates = bound(part)
    assert binding[("5", "5")] == NEVER
    assert len(predicates) == 0


def test_a_set_of_all_values_and_null_is_always_true_and_is_not_listed():
    null = Term(Atom(PRICE, tree.Test.NULL), negated=False)
    known = Term(Atom(PRICE, tree.Test.NULL), negated=True)
    binding, predicates = bound(Values(PRICE, "or", (null, known)))
    assert binding[()] == ALWAYS
    assert len(predicates) == 0


def test_a_literal_that_does_not_fit_is_remembered_with_its_place():
    part = Values(
        PRICE, "and", (less(0), Term(Atom(PRICE, tree.Test.LESS, (Slot(1, "s"),)), False))
    )
    binding, _ = bound(part)
    assert binding[("5", "'x'")] == INVALID
    problem = binding.problems["5", "'x'"]
    assert problem.slot == 1
    assert problem.problem == "type mismatch: the column is INT, the literal STRING"


def test_joint_parts_are_intersected_or_united():
    for joint, expected in (("and", ValueSet.points()), ("or", ~ValueSet.points(5, 6, 7, 8))):
        binding, predicates = bound(Values(PRICE, joint, (less(0), less(1, negated=True))))
        number = binding["5", "9"]
        if joint == "and":
            assert number == NEVER
        else:
            found = predicates.table()[number]
            assert not isinstance(found, Concept)
            assert found.column == PRICE
            assert all((key in found.values) == (key in expected) for key in range(12))  # type: ignore[union-attr]


def test_a_concepts_name_is_bound_in_lower_case_and_listed_once():
    part = Term(Atom(PRICE, tree.Test.CONCEPT, (Slot(0, CONCEPT),)), negated=True)
    binding, predicates = bound(part)
    assert [binding[("Beach",)], binding[("beach",)], binding[("crowded",)]] == [0, 0, 1]
    assert list(predicates.table()) == [
        Concept("beach", PRICE, True),
        Concept("crowded", PRICE, True),
    ]


def test_a_concept_that_no_model_answers_of_the_column_does_not_fit():
    part = Term(Atom(PRICE, tree.Test.CONCEPT, (Slot(0, CONCEPT),)), negated=False)
    known = Vocabulary.of([("beach", "photo"), ("cheap", "price")])
    binding = Binding(part, PredicateCollector(), "UTC", known)
    assert [binding[("cheap",)], binding[("beach",)]] == [0, INVALID]
    assert binding.problems[("beach",)].problem == known.problem("beach", PRICE)


def test_slots_are_listed_in_order_and_renumbered():
    part = Values(PRICE, "and", (less(4), Values(PRICE, "or", (less(2), less(7)))))
    assert slots_of(part) == [4, 2, 7]
    assert slots_of(renumbered(part, {4: 0, 2: 1, 7: 2})) == [0, 1, 2]


def test_parts_that_differ_only_in_where_their_literals_stand_become_equal():
    assert renumbered(less(3), {3: 0}) == renumbered(less(8), {8: 0})
