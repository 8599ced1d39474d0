"""Patterns are searched in the distinct values only, and each answer is remembered."""

import numpy as np
import pyarrow as pa
import pytest

from caddis.language import Column, MatchesText, TextPattern
from caddis.matching.index.encoding import BatchTexts

CITY = Column(("city",), pa.string())
TEXTS = ["Galway", None, "Cork", "Galway", "", "GALWAY"]
WAY = MatchesText(CITY, TextPattern("way"))
NO_WAY = MatchesText(CITY, TextPattern("way"), negated=True)
ANY_WAY = MatchesText(CITY, TextPattern("way", fold=True))


def batch_of(form: pa.DataType) -> pa.RecordBatch:
    return pa.record_batch({"city": pa.array(TEXTS, pa.string()).cast(form)})


FORMS = pytest.mark.parametrize(
    "form",
    [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())],
    ids=str,
)


@FORMS
def test_a_pattern_is_true_of_the_rows_in_which_it_is_found(form):
    assert BatchTexts(batch_of(form)).all_rows(WAY).tolist() == [0, 3]


@FORMS
def test_its_negation_is_true_of_the_other_rows_but_not_of_null(form):
    assert BatchTexts(batch_of(form)).all_rows(NO_WAY).tolist() == [2, 4, 5]


@FORMS
def test_a_folded_pattern_is_searched_in_the_lower_case(form):
    assert BatchTexts(batch_of(form)).all_rows(ANY_WAY).tolist() == [0, 3, 5]


@FORMS
def test_a_slice_is_searched_like_a_copy(form):
    assert BatchTexts(batch_of(form).slice(2, 3)).all_rows(WAY).tolist() == [1]


def test_rows_are_answered_in_the_order_in_which_they_are_asked():
    texts = BatchTexts(batch_of(pa.string()))
    assert texts.holds(WAY, np.array([3, 2, 0, 1], np.int32)).tolist() == [True, False, True, False]


def test_every_distinct_value_is_searched_once():
    texts = BatchTexts(batch_of(pa.string()))
    texts.holds(WAY, np.array([0, 3, 0], np.int32))
    assert texts.searches == 1
    texts.all_rows(WAY)
    assert texts.searches == len(set(TEXTS))
    texts.all_rows(WAY)
    assert texts.searches == len(set(TEXTS))


def test_a_null_in_a_dictionary_is_null():
    dictionary = pa.DictionaryArray.from_arrays(pa.array([0, 1, None]), pa.array(["way", None]))
    texts = BatchTexts(pa.record_batch({"city": dictionary}))
    assert texts.all_rows(WAY).tolist() == [0]
    assert texts.all_rows(NO_WAY).tolist() == []


def test_a_column_that_the_batch_lacks_satisfies_neither():
    texts = BatchTexts(pa.record_batch({"other": [1, 2]}))
    assert texts.all_rows(WAY).tolist() == []
    assert texts.all_rows(NO_WAY).tolist() == []


def test_texts_in_a_struct_are_searched():
    column = Column(("seller", "city"), pa.string())
    sellers = pa.array([{"city": "Galway"}, None, {"city": None}, {"city": "Cork"}])
    texts = BatchTexts(pa.record_batch({"seller": sellers}))
    assert texts.all_rows(MatchesText(column, TextPattern("way"))).tolist() == [0]


def test_patterns_know_only_ascii_classes():
    texts = BatchTexts(pa.record_batch({"city": ["é", "e"]}))
    assert texts.all_rows(MatchesText(CITY, TextPattern(r"\w"))).tolist() == [1]


def test_an_empty_batch_has_no_rows():
    assert BatchTexts(batch_of(pa.string()).slice(0, 0)).all_rows(WAY).tolist() == []
