import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caddis.errors import ModelError
from caddis.language import Column, Concept, parse_all
from caddis.models import Catalogue, Model, OnnxTexts, Reading
from tests.models.graphs import spam_graph
from tests.models.readings import PHOTO, TITLE, model

LISTED = Column(("tags",), pa.string(), repeated=True)


def by_guess(reading: Reading) -> float:
    return reading.model.cost


def spam(**options) -> OnnxTexts:
    return OnnxTexts(spam_graph(), {"spam": [1]}, **options)


# -- what it takes


def test_no_two_models_share_a_name():
    with pytest.raises(ModelError, match="two models are called 'loud'"):
        Catalogue([model("loud", "a"), model("loud", "b")])


def test_a_plain_function_is_told_how_to_become_a_model():
    def beach(photo): ...

    with pytest.raises(ModelError, match=r"beach is no model; decorate it with @caddis\.concept"):
        Catalogue([beach])  # type: ignore[list-item]
    with pytest.raises(ModelError, match=r"'beach' is no model$"):
        Catalogue(["beach"])  # type: ignore[list-item]
    with pytest.raises(ModelError, match=r"OnnxTexts is a class; .* OnnxTexts\(\.\.\.\)"):
        Catalogue([OnnxTexts])  # type: ignore[list-item]


def test_a_model_of_ones_own_must_be_complete():
    class Beach(Model):
        def predict(self, values):
            return [[True]] * len(values)

    beach = Beach()
    beach.name, beach.version = "sand", "1"
    with pytest.raises(ModelError, match="the model Beach has no concepts"):
        Catalogue([beach])
    beach.concepts = ("Beach",)
    with pytest.raises(ModelError, match="'sand' must name its concepts in lower case"):
        Catalogue([beach])
    beach.concepts = ("beach",)
    assert Catalogue([beach]).vocabulary.problem("beach", PHOTO) is None


@pytest.mark.parametrize(
    ("cost", "selectivity", "problem"),
    [
        (float("inf"), {}, "'sand' costs inf ms; a cost is positive"),
        (0, {}, "'sand' costs 0 ms; a cost is positive"),
        (1, {"dog": 0.1}, "'sand' has a selectivity for 'dog', but answers beach"),
        (1, {"beach": 1.5}, r"'beach' is true of 1\.5; it is within 0–1"),
        (1, {"Beach": 0.5}, "'sand' must name its concepts in lower case"),
    ],
)
def test_a_model_of_ones_own_must_know_what_it_may_cost(cost, selectivity, problem):
    class Beach(Model):
        name, version, concepts = "sand", "1", ("beach",)

        def predict(self, values):
            return [[True]] * len(values)

    beach = Beach()
    beach.cost, beach.selectivity = cost, selectivity
    with pytest.raises(ModelError, match=problem):
        Catalogue([beach])


def test_the_vocabulary_knows_which_concepts_can_be_asked_of_which_columns():
    known = Catalogue([model("a", reads="title"), model("b", "a", "c"), model("d", reads="photo")])
    assert known.vocabulary.columns == {
        "a": {"title", None},
        "c": {None},
        "d": {"photo"},
    }


EVENTS = pa.schema(
    {
        "Title": pa.string(),
        "price": pa.int32(),
        "tags": pa.list_(pa.string()),
        "shop": pa.struct({"Name": pa.string(), "at": pa.struct({"city": pa.large_string()})}),
    }
)


def test_of_given_events_a_model_of_any_column_is_listed_with_those_that_it_can_read():
    known = Catalogue([spam(), model("b"), model("c", reads="price")]).vocabulary_for(EVENTS)
    assert known.columns == {
        "spam": {"Title", "shop.Name", "shop.at.city"},
        "b": {None},
        "c": {"price"},
    }
    assert parse_all(["spam(price)"], EVENTS, concepts=known).errors[0].problem == (
        "no model reads 'price' for 'spam'; write spam(Title or shop.Name or shop.at.city)"
    )


def test_what_one_model_cannot_read_another_may():
    known = Catalogue([spam(), model("b", "spam"), spam(name="c", reads="Title")])
    assert known.vocabulary_for(EVENTS).problem("spam", LISTED) is None
    only_texts = pa.schema({"title": pa.string()})
    assert known.vocabulary_for(only_texts).columns == {"spam": {None, "Title"}}


def test_a_concept_of_no_column_stays_known():
    known = Catalogue([spam()]).vocabulary_for(pa.schema({"photo": pa.binary()}))
    assert known.columns == {"spam": frozenset()}
    assert known.problem("spam", PHOTO) == "no model reads 'photo' for 'spam'"


def test_columns_that_only_their_case_tells_apart_are_left_out():
    twins = pa.schema([("a", pa.string()), ("A", pa.string()), ("b", pa.string())])
    twins = twins.append(pa.field("price", pa.int32()))
    assert Catalogue([spam()]).vocabulary_for(twins).columns == {"spam": {"b"}}


# -- what it checks


def test_a_model_reads_a_column_that_events_have_whatever_its_case():
    schema = pa.schema({"Title": pa.string(), "shop": pa.struct({"Name": pa.string()})})
    Catalogue([spam(reads="title"), model("a", reads="SHOP.name"), model("b")]).check(schema)
    with pytest.raises(ModelError, match=r"'a' reads 'titel': .*did you mean 'Title'\?"):
        Catalogue([model("a", reads="titel")]).check(schema)


def test_a_model_reads_a_column_of_a_type_that_it_can_read():
    catalogue = Catalogue([spam(reads="title")])
    for type_ in (pa.binary(), pa.list_(pa.string())):
        with pytest.raises(ModelError, match="reads texts"):
            catalogue.check(pa.schema({"title": type_}))


# -- who answers what


def test_a_concept_goes_to_the_cheapest_model_that_answers_it():
    dear, cheap = model("dear", "a", "b", cost=9.0), model("cheap", "b", "c", cost=1.0)
    concepts = [Concept(name, TITLE) for name in "abc"]
    found = Catalogue([dear, cheap]).assign(concepts, by_guess)
    assert [reading.name for reading in found.readings] == ["dear(title)", "cheap(title)"]
    assert found.answered_by.tolist() == [0, 1, 1]
    assert found.answer_at.tolist() == [0, 0, 1]
    [passed] = found.passed_over
    assert (passed.concept, passed.used.model, passed.instead_of.model) == (
        concepts[1],
        cheap,
        dear,
    )


def test_of_equally_cheap_models_the_first_given_answers():
    first, second = model("first", "a"), model("second", "a")
    for given_, used in (([first, second], first), ([second, first], second)):
        assert Catalogue(given_).assign([Concept("a", TITLE)], by_guess).readings[0].model is used


def test_a_model_of_any_column_is_a_reading_of_each():
    found = Catalogue([model("a")]).assign([Concept("a", TITLE), Concept("a", PHOTO)], by_guess)
    assert [reading.name for reading in found.readings] == ["a(title)", "a(photo)"]
    assert found.answered_by.tolist() == [0, 1]


def test_only_models_that_can_read_the_column_are_thought_of():
    able = model("able", "spam", cost=50.0)
    titles = model("titles", "spam", reads="title", cost=1.0)
    catalogue = Catalogue([spam(cost=2.0), titles, able])
    used = [
        catalogue.assign([Concept("spam", column)], by_guess).readings[0].model.name
        for column in (PHOTO, LISTED, TITLE)
    ]
    assert used == ["able", "able", "titles"]


@pytest.mark.parametrize(
    ("concept", "problem"),
    [
        (Concept("spann", TITLE), r"spann\(title\): unknown concept 'spann'; did you mean 'spam'"),
        (Concept("loud", PHOTO), r"loud\(photo\): no model reads 'photo' for 'loud'"),
        (Concept("spam", PHOTO), r"spam\(photo\): the model .* reads texts"),
    ],
)
def test_a_concept_that_no_model_answers_is_named_with_its_column(concept, problem):
    with pytest.raises(ModelError, match=problem):
        Catalogue([spam(), model("loud", reads="title")]).assign([concept], by_guess)


def test_nothing_asked_is_nothing_assigned():
    found = Catalogue([model("a")]).assign([], by_guess)
    assert (found.readings, len(found.answered_by), found.passed_over) == ((), 0, ())


@given(
    st.lists(
        st.tuples(st.sets(st.sampled_from("abcd"), min_size=1), st.sampled_from([1.0, 2.0, 3.0])),
        min_size=1,
        max_size=5,
    )
)
def test_every_concept_is_answered_once_and_no_cheaper_model_is_passed_over(sorts):
    models = [model(f"m{at}", *sorted(some), cost=cost) for at, (some, cost) in enumerate(sorts)]
    asked = sorted({name for some, _ in sorts for name in some})
    found = Catalogue(models).assign([Concept(name, TITLE) for name in asked], by_guess)
    assert set(found.answered_by.tolist()) == set(range(len(found.readings)))
    for name, by, at in zip(asked, found.answered_by, found.answer_at, strict=True):
        used = found.readings[by].model
        assert used.concepts[at] == name
        rivals = [one for one in models if name in one.concepts]
        assert used is min(rivals, key=lambda one: one.cost)
        passed = [over for over in found.passed_over if over.concept.name == name]
        assert len(passed) == len(rivals) - 1
