"""An overlay file is read as it is meant, or refused with the line and what would be right."""

import inspect
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caddis.errors import OverlayError
from caddis.overlay import file as overlay_file
from caddis.overlay.file import BrokerEntry, OverlayFile, parse_overlay_file

HEAD = 'schema: "event_id BIGINT"\nbrokers:\n'


PATH = Path("/west/overlay.yaml")


def parsed(text: str) -> OverlayFile:
    return parse_overlay_file(text, PATH)


def refusal(text: str) -> str:
    """The error that a person reads, without the file's name."""
    with pytest.raises(OverlayError) as caught:
        parsed(text)
    message = str(caught.value)
    assert message.startswith(str(PATH))
    return message.removeprefix(str(PATH)).lstrip(",: ")


def example() -> str:
    """The one in the module's docstring."""
    documented = inspect.getdoc(overlay_file)
    assert documented is not None
    lines = [line for line in documented.splitlines() if line.startswith("    ")]
    return inspect.cleandoc("\n" + "\n".join(lines))


def test_the_documented_example_is_read_as_it_says():
    found = parsed(example())
    assert found == OverlayFile(
        path=PATH,
        schema="event_id BIGINT, city STRING, photo STRING",
        models=("my_models.py",),
        policy="emec",
        root="galway",
        brokers=(
            BrokerEntry("galway"),
            BrokerEntry(
                "cork",
                joins="galway",
                delay_ms=12.0,
                subscriptions=PATH.parent / "subs/cork.csv",
                publishes=PATH.parent / "events/cork",
                advertises="city = 'Cork'",
            ),
        ),
    )
    assert list(found.topology.links()) == [("galway", "cork", 12.0)]


def test_what_is_optional_may_be_left_out():
    found = parsed(HEAD + "  galway:\n")
    assert (found.models, found.policy, found.root) == ((), None, "galway")
    assert len(found.topology) == 1


def test_the_root_need_not_be_the_broker_that_joins_no_other():
    brokers = "  a: {joins: b, delay_ms: 1.5}\n  b:\n  c: {joins: b}\n"
    as_written = parsed(HEAD + brokers).topology
    assert as_written.path("c") == ("a", "b", "c")
    turned = parsed("root: c\n" + HEAD + brokers)
    assert list(turned.topology.links()) == [("c", "b", 0.0), ("b", "a", 1.5)]


def test_a_name_is_what_is_written_whatever_yaml_makes_of_it():
    found = parsed(HEAD + "  no:\n  12: {joins: no}\n")
    assert found.topology.path("12") == ("no", "12")


def test_an_absolute_path_stays_as_it_is():
    found = parsed(HEAD + "  a: {publishes: /data/a}\n")
    assert found.brokers[0].publishes == Path("/data/a")


@given(st.lists(st.integers(0, 10), max_size=10), st.data())
def test_any_tree_in_any_order_is_read(picks, data):
    links = [(f"b{child}", f"b{pick % child}") for child, pick in enumerate(picks, start=1)]
    lines = ["  b0:\n", *(f"  {child}: {{joins: {parent}}}\n" for child, parent in links)]
    text = HEAD + "".join(data.draw(st.permutations(lines)))
    tree = parsed(text).topology
    found = {frozenset((one, other)) for one, other, _ in tree.links()}
    assert found == {frozenset(link) for link in links}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("# nothing\n", "the file is empty"),
        ("galway", "line 1: the overlay file must be a mapping, not 'galway'"),
        ("- a\n- b\n", "line 1: the overlay file must be a mapping, not a list"),
        ("schema: a BIGINT\n", "line 1: 'brokers' is missing"),
        ("brokers: {a: }\n", "line 1: 'schema' is missing"),
        ("schema: [a]\nbrokers: {a: }\n", "line 1: 'schema' of the overlay file must be a text"),
        (
            "schema: a\nbrokers: {a: }\nmodels: m.py\n",
            "line 3: 'models' of the overlay file must be a list, not 'm.py'",
        ),
        (
            "schema: a\nbrokers: {a: }\nmodels: [m.py, {}]\n",
            "line 3: item 2 of 'models' of the overlay file must be a text, not nothing",
        ),
        (
            "schema: a\nbroker: {}\n",
            "line 2: unknown key 'broker' in the overlay file; did you mean 'brokers'?",
        ),
        (
            "schema: a\nbrokers: {a: }\nroot: b\n",
            "line 3: 'root' of the overlay file names no broker: 'b'; there are: a",
        ),
        ("schema: a\nbrokers:\n", "line 2: there are no brokers"),
        ("schema: a\nschema: b\n", "line 2: 'schema' stands twice in the overlay file; first"),
    ],
)
def test_a_file_that_describes_no_overlay_is_refused(text, message):
    assert refusal(text).startswith(message)


@pytest.mark.parametrize(
    ("brokers", "message"),
    [
        (
            "  a:\n  b: {joins: a}\n  a: {}\n",
            "line 5: 'a' stands twice in 'brokers' of the overlay file; first in line 3",
        ),
        (
            "  a:\n  b:\n    join: a\n",
            "line 5: unknown key 'join' in broker 'b'; did you mean 'joins'?",
        ),
        (
            "  a: {zzz: 1}\n",
            "line 3: unknown key 'zzz' in broker 'a'; there are: joins, delay_ms, subscriptions, ",
        ),
        (
            "  galway:\n  cork:\n    joins: galwya\n",
            "line 5: 'joins' of broker 'cork' names no broker: 'galwya'; did you mean 'galway'?",
        ),
        ("  a:\n  b: {joins: b}\n", "line 4: the links run in a circle: 'b' joins 'b'"),
        (
            "  a:\n  b: {joins: c}\n  c: {joins: d}\n  d: {joins: c}\n",
            "line 5: the links run in a circle: 'c' joins 'd' joins 'c'",
        ),
        ("  a:\n  b: {joins: a}\n  c: {}\n", "line 5: broker 'c' joins no other, and neither does"),
        ("  a: galway\n", "line 3: broker 'a' must be a mapping, not 'galway'"),
        ("  a: {joins: [b]}\n", "line 3: 'joins' of broker 'a' must be a text, not a list"),
        ("  a: {publishes: }\n", "line 3: 'publishes' of broker 'a' must be a text, not nothing"),
        ("  a: {advertises: ''}\n", "line 3: 'advertises' of broker 'a' must be a text, not"),
        (
            "  a:\n  b: {joins: a, delay_ms: long}\n",
            "line 4: 'delay_ms' of broker 'b' must be a number, not 'long'",
        ),
        (
            "  a:\n  b: {joins: a, delay_ms: .inf}\n",
            "line 4: 'delay_ms' of broker 'b' must be a number, not '.inf'",
        ),
        (
            "  a:\n  b: {joins: a, delay_ms: 1.0e+400}\n",
            "line 4: 'delay_ms' of broker 'b' must be a number, not '1.0e+400'",
        ),
        (
            "  a:\n  b: {joins: a, delay_ms: 0x10}\n",
            "line 4: 'delay_ms' of broker 'b' must be a number, not '0x10'",
        ),
        (
            "  a:\n  b: {joins: a, delay_ms: -2}\n",
            "line 4: 'delay_ms' of broker 'b' must be 0 or more, not -2",
        ),
        ("  a: {delay_ms: 2}\n", "line 3: 'delay_ms' of broker 'a' belongs to a link; say which"),
        ("  a/b: {}\n", "line 3: a broker cannot be named 'a/b'; a name has letters, digits"),
        ("  ..: {}\n", "line 3: a broker cannot be named '..'"),
        ("  ~: {}\n", "line 3: a key of 'brokers' of the overlay file must be a text, not nothing"),
        ("  ? [a]\n  : {}\n", "line 3: a key of 'brokers' of the overlay file must be a text, not"),
        ("  a: {\n", "line 4: not YAML: while parsing a flow node: "),
        ("  a: @b\n", "line 3: not YAML: while scanning for the next token: "),
        ("  a: \x07\n", "not YAML: "),
    ],
)
def test_brokers_that_cannot_be_are_refused_with_their_line(brokers, message):
    assert refusal(HEAD + brokers).startswith(message)


def test_a_file_makes_nothing_run():
    text = HEAD + "  a: {publishes: !!python/object/apply:os.getcwd 'events'}\n"
    assert parsed(text).brokers[0].publishes == PATH.parent / "events"
