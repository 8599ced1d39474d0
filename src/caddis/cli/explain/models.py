"""How a sample of events is decided with models, and why not with fewer.

The events are decided here as Spark would decide them. What that cost is compared with the
clairvoyant's certificate: the least that somebody pays who knows every answer beforehand.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.markup import escape

from caddis.cli.shell import count, local_executor, short, show_titled, text_table

if TYPE_CHECKING:
    from caddis.cli.explain.command import ExplainInputs
    from caddis.models import Asker, PassedOver
    from caddis.ordering import Answer, EventExplained, Executor, ModelExplanation, Step

SHOWN_ANSWERS = 4


@dataclass(frozen=True, slots=True)
class CostComparison:
    """What was paid for events, and the least that could have been, in milliseconds.

    events: how many were compared.
    left_out: how many were not, because a model gave no answer and so nobody knows the least.
    """

    events: int
    left_out: int
    paid: float
    least: float

    @property
    def ratio(self) -> float | None:
        """How many times the least was paid, if anything had to be."""
        return self.paid / self.least if self.least else None


@dataclass(frozen=True, slots=True)
class SampleSummary:
    """How a sample of events was decided, and what that cost."""

    explanation: ModelExplanation
    costs: CostComparison

    def as_json(self) -> dict[str, object]:
        """The values that --json prints."""
        return {
            "sample": [asdict(event) for event in self.explanation.events],
            "models": [asdict(model) for model in self.explanation.models],
            "concepts": [asdict(concept) for concept in self.explanation.concepts],
            "passed_over": [
                {
                    "concept": f"{one.concept.name}({one.concept.column.name})",
                    "used": one.used.name,
                    "instead_of": one.instead_of.name,
                }
                for one in self.explanation.passed_over
            ],
            "certificate": {**asdict(self.costs), "ratio": self.costs.ratio},
        }

    def show(self, console: Console, limit: int) -> None:
        """Print what each event ran, what each model did, and what it cost."""
        if not self.explanation.models:
            console.print("\nNo subscription calls a model.")
            return
        _show_events(self.explanation.events, console)
        _show_models(self.explanation, console)
        _show_concepts(self.explanation, limit, console)
        _show_passed_over(self.explanation.passed_over, console)
        _show_costs(self.costs, console)


def explain_sample(
    inputs: ExplainInputs, events: pa.RecordBatch, keys: pa.Array, policy: str | None
) -> SampleSummary:
    """Decide some events with models, and say how.

    keys: what to call the events.
    policy: how models are ordered; None for the default.
    """
    from caddis.compiling import prepare
    from caddis.matching import NEEDED as MATCHING
    from caddis.ordering import explain_models, needed

    prepare(MATCHING, needed(policy))
    executor, asker = local_executor(
        inputs.subscriptions,
        events.schema,
        inputs.models,
        policy=policy,
        timezone=inputs.timezone,
    )
    explanation = explain_models(executor, events, keys)
    return SampleSummary(explanation, _compared(executor, events, asker, explanation))


def _compared(
    executor: Executor, events: pa.RecordBatch, asker: Asker, explanation: ModelExplanation
) -> CostComparison:
    from caddis.ordering.certificate import event_certificates

    costs = np.array([model.milliseconds for model in explanation.models])
    cost_of = {model.name: model.milliseconds for model in explanation.models}
    certificates = event_certificates(executor, events, asker, costs)
    rows = certificates.rows.tolist()
    paid = sum(cost_of[step.model] for row in rows for step in explanation.events[row].steps)
    least = float(certificates.milliseconds.sum())
    return CostComparison(len(rows), certificates.left_out, paid, least)


def _show_events(events: Sequence[EventExplained], console: Console) -> None:
    table = text_table("event", "models", "matches", "what they answered", texts=(0, 3))
    asked = [event for event in events if event.named]
    for event in asked:
        answers = "\n".join(map(_step_in_words, event.steps)) or "no model was needed in the end"
        ran = f"{len(event.steps)} of {event.named}"
        table.add_row(escape(str(event.event)), ran, f"{event.matches:,}", escape(answers))
    if asked:
        show_titled(f"How {count(len(asked), 'event')} were decided", table, console)
    if len(asked) < len(events):
        console.print(f"\n{count(len(events) - len(asked), 'event')} needed no model.")


def _step_in_words(step: Step) -> str:
    """Such as 'efficientnet_lite0(photo): dog yes, beach no'."""
    if step.problem:
        return f"{step.model}: unknown, {step.problem}"
    answers = sorted(step.answers, key=lambda answer: ("yes", "unknown", "no").index(answer.answer))
    shown = answers if len(answers) <= SHOWN_ANSWERS else answers[: SHOWN_ANSWERS - 1]
    return f"{step.model}: {', '.join([*map(_in_words, shown), *_others(answers[len(shown) :])])}"


def _in_words(answer: Answer) -> str:
    return f"{answer.concept} {answer.answer}"


def _others(answers: Sequence[Answer]) -> list[str]:
    """How many of the answers that are not listed were yes, unknown or no."""
    words = [answer.answer for answer in answers]
    return [f"{words.count(word)} others {word}" for word in dict.fromkeys(words)]


def _show_models(explanation: ModelExplanation, console: Console) -> None:
    table = text_table("model", "ms a run", "runs", "avoided", "cache")
    for model in explanation.models:
        numbers = (f"{number:,}" for number in (model.runs, model.avoided, model.hits))
        table.add_row(escape(model.name), short(model.milliseconds), *numbers)
    show_titled("What models did", table, console)


def _show_concepts(explanation: ModelExplanation, limit: int, console: Console) -> None:
    table = text_table("concept", "answered by", "true", "of", texts=(0, 1))
    concepts = sorted(explanation.concepts, key=lambda concept: -concept.known)
    for concept in concepts[:limit]:
        names = escape(concept.concept), escape(concept.model)
        table.add_row(*names, f"{concept.true:,}", f"{concept.known:,}")
    show_titled("How often concepts were true", table, console)
    if len(concepts) > limit:
        console.print(f"... and {len(concepts) - limit:,} more; --limit shows them")


def _show_passed_over(passed_over: Iterable[PassedOver], console: Console) -> None:
    concepts: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for one in passed_over:
        used, other = one.used, one.instead_of
        cheaper = f"{used.name} answers for {short(used.model.cost)} ms"
        dearer = f"{other.name} for {short(other.model.cost)} ms"
        concepts[cheaper, dearer].append(one.concept.name)
    for (cheaper, dearer), names in concepts.items():
        more = f" and {len(names) - 3} others" if len(names) > 3 else ""
        console.print(
            f"\n{escape(', '.join(names[:3]))}{more}: {escape(cheaper)}, as declared, and "
            f"{escape(dearer)}; the cheaper one is used."
        )


def _show_costs(costs: CostComparison, console: Console) -> None:
    left_out = (
        f" {count(costs.left_out, 'event')} left out: a model gave no answer."
        if costs.left_out
        else ""
    )
    if costs.ratio is None:
        console.print(f"\nNo model had to run.{left_out}")
        return
    console.print(
        f"\nModels ran for {short(costs.paid)} ms on {count(costs.events, 'event')}. Somebody who "
        f"knows all answers beforehand pays {short(costs.least)} ms to prove them, so this was "
        f"{costs.ratio:.2f} times the least.{left_out}"
    )
