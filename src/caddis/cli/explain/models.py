"""The second half of `caddis explain`: which models some events run, and why not fewer.

The events are decided here as Spark would decide them. What that cost is compared with the
clairvoyant's certificate: the least that one pays who knows every answer beforehand.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.markup import escape

from caddis.cli.shell import count, short, show_titled, text_table

if TYPE_CHECKING:
    from caddis.models import Asker, Model, PassedOver
    from caddis.ordering import Answer, EventExplained, Executor, ModelExplanation, Step

SHOWN_ANSWERS = 4


@dataclass(frozen=True, slots=True)
class Yardstick:
    """What was paid for events, and the least that it could have been, in milliseconds."""

    events: int
    left_out: int
    """Events that a model could not answer: nobody knows what would have been the least."""
    paid: float
    least: float

    @property
    def ratio(self) -> float | None:
        """How many times the least was paid, if anything had to be."""
        return self.paid / self.least if self.least else None


@dataclass(frozen=True, slots=True)
class ModelsExplained:
    """How a sample of events was decided, to be shown."""

    found: ModelExplanation
    yardstick: Yardstick

    def as_json(self) -> dict[str, object]:
        """The same for a machine."""
        yardstick = self.yardstick
        return {
            "sample": [asdict(event) for event in self.found.events],
            "models": [asdict(model) for model in self.found.models],
            "concepts": [asdict(concept) for concept in self.found.concepts],
            "passed_over": [
                {
                    "concept": f"{one.concept.name}({one.concept.column.name})",
                    "used": one.used.name,
                    "instead_of": one.instead_of.name,
                }
                for one in self.found.passed_over
            ],
            "certificate": {**asdict(yardstick), "ratio": yardstick.ratio},
        }

    def show(self, console: Console, limit: int) -> None:
        """What each event ran, what each model did, and whether that was much."""
        if not self.found.models:
            console.print("\nNo subscription calls a model.")
            return
        _show_events(self.found.events, console)
        _show_models(self.found, limit, console)
        _show_passed_over(self.found.passed_over, console)
        _show_yardstick(self.yardstick, console)


def explain_sample(
    subscriptions: pa.Table,
    events: pa.RecordBatch,
    keys: pa.Array,
    models: Sequence[Model],
    policy: str | None,
    timezone: str,
) -> ModelsExplained:
    """Decide some events with models, and tell how."""
    from caddis.matching import Matcher
    from caddis.models import AnswerCache, Asker, Catalogue, Statistics
    from caddis.ordering import Executor, explain_models, warm_up

    warm_up()
    catalogue = Catalogue(models)
    catalogue.check(events.schema)
    matcher = Matcher.compile(
        subscriptions,
        events.schema,
        timezone=timezone,
        on_invalid="report",
        concepts=catalogue.vocabulary,
    )
    asker = Asker(cache=AnswerCache(), clock=time.perf_counter)
    executor = Executor(
        [matcher], catalogue, statistics=Statistics(), asker=asker, policy=policy
    )
    found = explain_models(executor, events, keys)
    return ModelsExplained(found, _measured(executor, events, asker, found))


def _measured(
    executor: Executor, events: pa.RecordBatch, asker: Asker, found: ModelExplanation
) -> Yardstick:
    from caddis.ordering.certificate import event_certificates

    costs = np.array([model.milliseconds for model in found.models])
    cost_of = {model.name: model.milliseconds for model in found.models}
    judged = event_certificates(executor, events, asker, costs)
    steps = [step for row in judged.rows.tolist() for step in found.events[row].steps]
    paid = sum(cost_of[step.model] for step in steps)
    return Yardstick(len(judged.rows), judged.left_out, paid, float(judged.milliseconds.sum()))


def _show_events(events: Sequence[EventExplained], console: Console) -> None:
    table = text_table("event", "models", "matches", "what they said", texts=(0, 3))
    asked = [event for event in events if event.named]
    for event in asked:
        said = "\n".join(map(_step_in_words, event.steps)) or "no model was needed in the end"
        ran = f"{len(event.steps)} of {event.named}"
        table.add_row(escape(str(event.event)), ran, f"{event.matches:,}", escape(said))
    if asked:
        show_titled(f"How {count(len(asked), 'event')} were decided", table, console)
    if len(asked) < len(events):
        console.print(f"\n{count(len(events) - len(asked), 'event')} needed no model.")


def _step_in_words(step: Step) -> str:
    """As in 'efficientnet_lite0(photo): dog yes, beach no'."""
    if step.problem:
        return f"{step.model}: unknown, {step.problem}"
    answers = sorted(step.answers, key=lambda answer: ("yes", "unknown", "no").index(answer.said))
    shown = answers if len(answers) <= SHOWN_ANSWERS else answers[: SHOWN_ANSWERS - 1]
    return f"{step.model}: {', '.join([*map(_in_words, shown), *_others(answers[len(shown) :])])}"


def _in_words(answer: Answer) -> str:
    return f"{answer.concept} {answer.said}"


def _others(answers: Sequence[Answer]) -> list[str]:
    """How often each thing was said, of answers that are not listed."""
    said = [answer.said for answer in answers]
    return [f"{said.count(word)} others {word}" for word in dict.fromkeys(said)]


def _show_models(found: ModelExplanation, limit: int, console: Console) -> None:
    table = text_table("model", "ms a run", "runs", "avoided", "cache")
    for model in found.models:
        numbers = (f"{number:,}" for number in (model.runs, model.avoided, model.hits))
        table.add_row(escape(model.name), short(model.milliseconds), *numbers)
    show_titled("What models did", table, console)
    concepts = text_table("concept", "answered by", "true", "of", texts=(0, 1))
    seen = sorted(found.concepts, key=lambda concept: -concept.known)
    for concept in seen[:limit]:
        names = escape(concept.concept), escape(concept.model)
        concepts.add_row(*names, f"{concept.true:,}", f"{concept.known:,}")
    show_titled("How often concepts were true", concepts, console)
    if len(seen) > limit:
        console.print(f"... and {len(seen) - limit:,} more; --limit shows them")


def _show_passed_over(passed_over: Iterable[PassedOver], console: Console) -> None:
    concepts: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for one in passed_over:
        used, other = one.used, one.instead_of
        cheaper = f"{used.name} says that for {short(used.model.cost)} ms"
        dearer = f"{other.name} for {short(other.model.cost)} ms"
        concepts[cheaper, dearer].append(one.concept.name)
    for (cheaper, dearer), names in concepts.items():
        more = f" and {len(names) - 3} others" if len(names) > 3 else ""
        console.print(
            f"\n{escape(', '.join(names[:3]))}{more}: {escape(cheaper)}, as declared, and "
            f"{escape(dearer)}; the cheaper is used."
        )


def _show_yardstick(yardstick: Yardstick, console: Console) -> None:
    left_out = (
        f" {count(yardstick.left_out, 'event')} left out: a model could not answer."
        if yardstick.left_out
        else ""
    )
    if yardstick.ratio is None:
        console.print(f"\nNo model had to run.{left_out}")
        return
    console.print(
        f"\n{short(yardstick.paid)} ms of models for {count(yardstick.events, 'event')}; one who "
        f"knows all answers beforehand pays {short(yardstick.least)} ms to prove them: "
        f"{yardstick.ratio:.2f} times the least.{left_out}"
    )
