"""Random WHERE texts over cheap predicates and concepts, with what each means of an event.

A picture is a text of digits and dashes: character i is what a model sees of concept i, '1' for
yes, '0' for no, '-' for what it cannot tell.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from caddis.matching import Matcher
from caddis.models import AnswerCache, Asker, Catalogue, FunctionModel, Statistics, concept
from caddis.ordering import Executor
from tests.oracle.plain import all_of, any_of, negated

Truth = bool | None
Event = dict[str, str | int | None]

CONCEPTS = 8
SCHEMA = pa.schema([("event_id", pa.int64()), ("city", pa.string()), ("photo", pa.string())])
CITIES = ("Cork", "Galway", "Sligo")


def seen(number: int) -> Callable[[str], Truth]:
    return lambda photo: {"1": True, "0": False, "-": None}[photo[number]]


def models(costs: list[float] | None = None) -> list[FunctionModel]:
    """Models of one, two and three concepts, in which every concept is answered by one."""
    groups = ((0,), (1, 2), (3,), (4, 5, 6), (7,))
    return [
        concept(
            reads="photo",
            answers=[f"c{number}" for number in group],
            cost=costs[at] if costs else 10.0,
            version=str(group),
        )(named(f"m{at}", group))
        for at, group in enumerate(groups)
    ]


def named(name: str, group: tuple[int, ...]) -> Callable[[str], object]:
    def model(photo: str) -> object:
        answers = [seen(number)(photo) for number in group]
        return answers[0] if len(answers) == 1 else answers

    model.__name__ = name
    return model


@dataclass(frozen=True)
class Where:
    """A text, and what it means."""

    text: str
    truth: Callable[[Event], Truth]


def drawn_where(rng: np.random.Generator, depth: int = 2) -> Where:
    """A random clause: atoms below AND, OR and NOT."""
    if depth == 0 or rng.random() < 0.25:
        return drawn_atom(rng)
    parts = [drawn_where(rng, depth - 1) for _ in range(int(rng.integers(2, 4)))]
    joint, together = (" AND ", all_of) if rng.random() < 0.5 else (" OR ", any_of)
    text = joint.join(f"({part.text})" for part in parts)
    if rng.random() < 0.25:
        return Where(
            f"NOT ({text})", lambda event: negated(together([one.truth(event) for one in parts]))
        )
    return Where(text, lambda event: together([one.truth(event) for one in parts]))


def drawn_atom(rng: np.random.Generator) -> Where:
    if rng.random() < 0.3:
        city = CITIES[int(rng.integers(len(CITIES)))]
        return Where(
            f"city = '{city}'",
            lambda event: None if event["city"] is None else event["city"] == city,
        )
    number = int(rng.integers(CONCEPTS))
    return Where(f"c{number}(photo)", lambda event: of_photo(event, number))


def of_photo(event: Event, number: int) -> Truth:
    return None if event["photo"] is None else seen(number)(str(event["photo"]))


def drawn_events(
    rng: np.random.Generator, count: int, unknown: float = 0.1
) -> tuple[list[Event], pa.RecordBatch]:
    chances = [(1 - unknown) / 2, (1 - unknown) / 2, unknown]
    events: list[Event] = []
    for key in range(count):
        photo = "".join(rng.choice(["0", "1", "-"], CONCEPTS, p=chances))
        city = CITIES[int(rng.integers(len(CITIES)))]
        events.append(
            {
                "event_id": key,
                "city": None if rng.random() < 0.1 else city,
                "photo": None if rng.random() < 0.1 else photo,
            }
        )
    return events, pa.RecordBatch.from_pylist(events, SCHEMA)


def matcher_of(wheres: list[Where], catalogue: Catalogue) -> Matcher:
    texts = [where.text for where in wheres]
    table = pa.table({"subscription_id": np.arange(len(wheres)), "where": texts})
    return Matcher.compile(table, SCHEMA, concepts=catalogue.vocabulary)


def executor_of(
    wheres: list[Where], policy: str = "foresight", cache: AnswerCache | None = None
) -> Executor:
    catalogue = Catalogue(models())
    return Executor(
        [matcher_of(wheres, catalogue)],
        catalogue,
        statistics=Statistics(),
        asker=Asker(cache=cache, clock=time.perf_counter),
        policy=policy,
    )


def expected(wheres: list[Where], events: list[Event]) -> set[tuple[int, int]]:
    """Every subscription evaluated on every event, every concept asked."""
    return {
        (row, link)
        for row, event in enumerate(events)
        for link, where in enumerate(wheres)
        if where.truth(event) is True
    }
