"""Figure 3 of the paper, our frontier of delay and cost, and what policies save against `air`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial

from caddis.arrays import Floats
from caddis.errors import CaddisError
from caddis.lab.adaptive_filtering.experiment import (
    SYNTHETIC,
    Conditions,
    OverlayWorker,
    Scale,
    draw_topologies,
    plan,
    policy_named,
    setting_of,
)
from caddis.lab.figures import Figure, Line, Spot, Study, Style, Table, Values, cells, figures_named
from caddis.lab.simulators import MEANS, Mean

BASELINE = "air"
POLICIES = ("air", "ail", "mec", "emec", "frontier")
PATIENCES = (0, 25, 50, 100, 200, 400)
"""Milliseconds at which the policy `frontier` is tried, besides its own patience."""
COMPARED = (*POLICIES[:4], "eager", *(f"frontier@{ms}" for ms in PATIENCES), "frontier")
"""What the figure of the frontier compares: the paper's policies, eager, and every patience."""
SHEETS = {"figure-3": ("3a", "3b", "3c", "3d")}
STYLES = {
    "air": Style("#D55E00", "s"),
    "ail": Style("#E69F00", "^"),
    "mec": Style("#56B4E9", "v"),
    "emec": Style("#0072B2", "o"),
    "eager": Style("#CC79A7", "P"),
    "frontier": Style("#009E73", "D"),
}
OTHER = Style("#000000", "x")
MADE_UP = (
    "Topologies are made up like PlanetLab's; --round-trips names measured round trips instead."
)
MS, COST, ON_NOTIFICATIONS = "ms an event", "cost_ms", "delay_notifications_ms"


def all_figures(
    scale: Scale, policies: Sequence[str] = POLICIES, mean: Mean = "paths"
) -> tuple[Figure, ...]:
    """The paper's four figures for these policies, and the frontier.

    mean: how the delays of figures 3a, 3b and 3d are averaged.
    """
    subscriptions = [(x, scale.fixed_concepts, x) for x in scale.subscriptions]
    concepts = [(x, x, scale.fixed_subscriptions) for x in scale.concepts]
    law = f"Zipf popularity, {scale.fixed_concepts:,} concepts"
    many = f"Zipf popularity, {scale.fixed_subscriptions:,} subscriptions"

    def figure(
        name: str, title: str, axis: str, popularity: str, points: list[tuple[int, int, int]]
    ) -> Figure:
        measure = COST if title.startswith("total cost") else f"delay_{mean}_ms"
        lines = tuple(_line(policy, popularity, measure, points) for policy in policies)
        note = "" if measure == COST else f"mean over {mean}"
        return Figure(name, title, axis, MS, lines, log_x=False, baseline=BASELINE, note=note)

    return (
        figure("3a", f"delay, {law}", "subscriptions", "zipf", subscriptions),
        figure("3b", "delay, uniform popularity", "subscriptions", "uniform", subscriptions),
        figure("3c", f"total cost, {law}", "subscriptions", "zipf", subscriptions),
        figure("3d", f"delay, {many}", "concepts", "zipf", concepts),
        _frontier(f"delay and total cost, {many}", scale),
    )


def study(
    figures: tuple[Figure, ...],
    scale: Scale,
    conditions: Conditions,
    matrices: Sequence[Floats] = (),
) -> Study:
    """What runs and draws these figures.

    matrices: measured round-trip times between sites; without any, topologies are made up.
    """
    topologies = draw_topologies(conditions, scale.topologies, matrices)
    return Study(
        figures,
        conditions,
        partial(plan, figures, scale),
        OverlayWorker(conditions, topologies),
        SHEETS,
        notes=(MADE_UP,) if conditions.trees == SYNTHETIC else (),
        tables=partial(savings_tables, figures),
    )


def chosen_figures(
    names: Sequence[str], scale: Scale, policies: Sequence[str], mean: Mean
) -> tuple[Figure, ...]:
    """The figures of these names, for these policies, all of which must be known."""
    if not names or not policies:
        raise CaddisError("name at least one figure and one policy")
    for policy in policies:
        policy_named(policy)
    return figures_named(all_figures(scale, policies, mean), names)


def _line(policy: str, popularity: str, measure: str, points: list[tuple[int, int, int]]) -> Line:
    """A policy's line; points are (x on the axis, concepts, subscriptions)."""
    spots = tuple(Spot(x, setting_of(policy, many), subs) for x, many, subs in points)
    return Line(policy, popularity, "", measure, spots=spots, style=_style(policy))


def _frontier(title: str, scale: Scale) -> Figure:
    """Delay against cost: a point a policy, and a curve through the patiences of `frontier`."""
    lines = []
    for policy in COMPARED:
        spot = Spot(0.0, setting_of(policy, scale.fixed_concepts), scale.fixed_subscriptions)
        base, _, patience = policy.partition("@")
        knob = base == "frontier"
        lines.append(
            Line(
                policy,
                "zipf",
                "",
                ON_NOTIFICATIONS,
                against=COST,
                spots=(spot,),
                pooled=True,
                style=_style(policy),
                curve="frontier, by patience" if knob else "",
                note=f"{patience} ms" if patience else "its default" * knob,
            )
        )
    return Figure(
        "frontier",
        title,
        "total cost (ms an event)",
        "delay (ms an event)",
        tuple(lines),
        log_y=True,
        baseline=BASELINE,
        note="mean over notifications",
    )


def _style(policy: str) -> Style:
    return STYLES.get(policy.partition("@")[0], OTHER)


@dataclass(frozen=True, slots=True)
class Saving:
    """How much less a policy's delay is than the baseline's, as shares of it.

    least, most: over the axis of the figure.
    """

    policy: str
    mean: Mean
    least: float
    most: float


def savings(figure: Figure, values: Values) -> list[Saving]:
    """What each policy saves, by every mean: from the x where it is least to where it is most."""
    found: dict[tuple[str, Mean], list[float]] = {}
    for mean in MEANS:
        for cell in cells(figure.of_measure(f"delay_{mean}_ms"), values):
            if cell.ratio is not None and cell.line != BASELINE:
                found.setdefault((cell.line, mean), []).append(1 - cell.ratio)
    return [Saving(*key, min(shares), max(shares)) for key, shares in found.items()]


def savings_tables(figures: Sequence[Figure], values: Values) -> tuple[Table, ...]:
    """What policies save in the first figure of delays, which is the one of the paper's claim."""
    delays = [figure for figure in figures if figure.name in ("3a", "3b", "3d")]
    saved = savings(delays[0], values) if delays else []
    if not saved:
        return ()
    texts = {(saving.policy, saving.mean): percent_less(saving) for saving in saved}
    policies = dict.fromkeys(saving.policy for saving in saved)
    rows = [(policy, *(texts.get((policy, mean), "–") for mean in MEANS)) for policy in policies]
    title = f"Delay, compared with {BASELINE} (figure {delays[0].name})"
    records = tuple(map(asdict, saved))
    return (Table("less_delay_than_air", title, ("mean over", *MEANS), tuple(rows), records),)


def percent_less(saving: Saving) -> str:
    """A saving as a person reads it.

    >>> percent_less(Saving("mec", "paths", 0.412, 0.467))
    '41–47% less'
    >>> percent_less(Saving("ail", "paths", -0.2, 0.1))
    '20% more to 10% less'
    """
    least, most = round(100 * saving.least), round(100 * saving.most)
    if least >= 0:
        return f"{_range(least, most)}% less"
    if most <= 0:
        return f"{_range(-most, -least)}% more"
    return f"{-least}% more to {most}% less"


def _range(low: int, high: int) -> str:
    return f"{low}" if low == high else f"{low}–{high}"
