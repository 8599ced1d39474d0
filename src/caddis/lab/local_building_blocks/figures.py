"""The figures on local building blocks, and the experiments behind their lines.

The paper's two figures come first, ours stand beside them. Settings are the shape of the tree,
d'(1,2), both, the map that is voted on, or the number of channels: what does not vary along the
experiment's axis.
"""

from __future__ import annotations

from dataclasses import replace

from caddis.lab.figures import Experiment, Figure, Line, Study
from caddis.lab.figures import figures_named as named
from caddis.lab.local_building_blocks.clusterings import (
    FIRST,
    LAST,
    measure_clustering,
    measure_convergence,
    measure_interests,
)
from caddis.lab.local_building_blocks.votes import (
    COMPLETE,
    DRAWN,
    RANDOM,
    Scale,
    Setup,
    measure_choices,
    measure_delays,
    measure_distance,
    measure_filters,
    measure_growth,
    measure_packets,
    measure_second,
    names,
)

EXPERIMENTS = {
    "filters": Experiment(measure_filters, "bits", together=30),
    "distance": Experiment(measure_distance, "distances", together=30),
    "second": Experiment(measure_second, "second", together=60),
    "delays": Experiment(measure_delays, "delayed", "few"),
    "growth": Experiment(measure_growth, "nodes", "few", grows=True),
    "choices": Experiment(measure_choices, "choices", together=30),
    "packets": Experiment(measure_packets, "together", "few", together=5),
    "interests": Experiment(measure_interests, "topics", "once", together=6),
    "clustering": Experiment(measure_clustering, "channels", "few"),
    "convergence": Experiment(measure_convergence, "shares", together=10),
}
"""A task, that is, `together` places, is about a second of work."""
MADE_UP = "Interests are drawn; --interests names a file of real ones instead."
THRESHOLD = "0.8"
LARGE = ("complete 0.1", "random 0.1", "complete 1")
HARD, EASY = "0.01", "0.5"
CLOSE = ("0.1", "1")
SHEETS = {
    "figure-2": ("2a", "2b", "2c"),
    "ways": ("first", "upkeep", "pairs"),
    "votes": ("interests", "interests-upkeep"),
    "delayed": ("delays", "delays-time"),
    "clusters": ("clustering-ratio", "convergence", "waves"),
}
"""Figures that are also drawn side by side."""
MESSAGES, RADIUS, DISTANCE = "messages a node", "mean radius of a node, links", "d'(1,2)"


def study(figures: tuple[Figure, ...], scale: Scale, setup: Setup) -> Study:
    """What runs and draws these figures."""
    made = Study.of(figures, EXPERIMENTS, scale.on_topics(setup.conditions.topics), setup, SHEETS)
    return replace(made, notes=(MADE_UP,)) if setup.conditions.interests == DRAWN else made


def all_figures(scale: Scale, changed: float) -> tuple[Figure, ...]:
    """All figures, in the order in which they are shown; `changed` is as in `Conditions`."""
    return (
        _filters(),
        *_distances(scale),
        *_delays(),
        *_growth(),
        *_baselines(changed),
        *_many(),
        *_interests(changed),
        *_clustering(),
        *_convergence(),
    )


def figures_named(wanted: tuple[str, ...], scale: Scale, changed: float) -> tuple[Figure, ...]:
    """The figures of these names; all of them if no name is given."""
    return named(all_figures(scale, changed), wanted)


def _filters() -> Figure:
    measures = (
        ("Theorem 1, per bit", "bound_per_bit"),
        ("Theorem 1, per element", "bound"),
        ("its premise, per bit", "tail_per_bit"),
        ("measured, per bit", "measured_bits"),
        ("measured, per element", "measured"),
    )
    lines = tuple(Line(label, "filters", THRESHOLD, name) for label, name in measures)
    title = f"false positives due to aggregation, λ = {THRESHOLD}"
    return Figure("1", title, "bits of the filter", "probability", lines, log_x=False, log_y=True)


def _distances(scale: Scale) -> tuple[Figure, ...]:
    shapes = ((f"{shape} binary tree", shape) for shape in (COMPLETE, RANDOM))
    trees = tuple(shapes)
    first = tuple(Line(label, "distance", shape, "voting") for label, shape in trees)
    second = tuple(Line(label, "distance", shape, "voting_radius") for label, shape in trees)
    third = tuple(Line(f"d'(1,2) = {d}", "second", d, "voting") for d in names(scale.fixed))
    return (
        Figure("2a", "messages of a vote", DISTANCE, MESSAGES, first),
        Figure("2b", "communication radius of a vote", DISTANCE, RADIUS, second),
        Figure("2c", "messages against d'(2,3)", "d'(2,3)", MESSAGES, third, log_x=False),
    )


def _delays() -> tuple[Figure, ...]:
    ways = (("random delays, real nodes", "delays"), ("rounds", "rounds"))
    made = []
    for suffix, title, unit in (
        ("", "messages if they take random times", MESSAGES),
        ("-time", "when the last node is quiet", "rounds, or mean delays"),
    ):
        measure = suffix.replace("-", "_")
        lines = (Line(label, "delays", COMPLETE, f"{name}{measure}") for label, name in ways)
        made.append(Figure(f"delays{suffix}", title, DISTANCE, unit, tuple(lines)))
    return tuple(made)


def _growth() -> tuple[Figure, ...]:
    made = []
    for name, title, unit, measure in (
        ("growth", "messages as trees grow", MESSAGES, "voting"),
        ("growth-radius", "radius as trees grow", RADIUS, "voting_radius"),
    ):
        lines = []
        for setting in LARGE:
            shape, distance = setting.split()
            lines.append(Line(f"{shape} tree, d'(1,2) = {distance}", "growth", setting, measure))
        made.append(Figure(name, title, "nodes", unit, tuple(lines)))
    return tuple(made)


def _baselines(changed: float) -> tuple[Figure, ...]:
    ways = (("voting", "voting"), ("pairwise", "pairs"), ("aggregation", "aggregation"))
    first = tuple(Line(label, "distance", COMPLETE, name) for label, name in ways)
    again = tuple(Line(label, "distance", COMPLETE, f"{name}_again") for label, name in ways)
    close = tuple(
        Line(f"{label}, d'(1,2) = {distance}", "second", distance, name)
        for distance in CLOSE
        for label, name in ways[:2]
    )
    race = "voting and pairwise against d'(2,3)"
    upkeep = f"after {100 * changed:g}% of the inputs changed"
    return (
        Figure("first", "a first vote, by three ways", DISTANCE, MESSAGES, first),
        Figure("pairs", race, "d'(2,3)", MESSAGES, close, log_x=False),
        Figure("upkeep", upkeep, DISTANCE, MESSAGES, again, log_y=True),
    )


def _many() -> tuple[Figure, ...]:
    ways = (("voting", "voting_numbers"), ("pairwise", "pairs_numbers"))
    numbers = tuple(
        Line(f"{label}, d'(1,2) = {distance}", "choices", distance, name)
        for label, name in ways
        for distance in CLOSE
    )
    shared = tuple(
        Line(f"{name}, d'(1,2) = {distance}", "packets", distance, name)
        for name in ("messages", "packets")
        for distance in (HARD, EASY)
    )
    many, side = "what is sent for k choices", "votes side by side share packets"
    return (
        Figure("choices", many, "choices", "numbers a node", numbers, log_y=True),
        Figure("packets", side, "votes", "sent a node", shared, log_y=True),
    )


def _interests(changed: float) -> tuple[Figure, ...]:
    def lines(measure: str) -> tuple[Line, ...]:
        clouds = [
            Line(f"voting, {setting}", "interests", setting, f"voting{measure}", "distance")
            for setting in (FIRST, LAST)
        ]
        plain = Line("aggregation", "interests", LAST, f"aggregation{measure}", "distance")
        model = Line("voting, Gaussian model", "distance", COMPLETE, f"voting{measure}")
        return *clouds, plain, model

    real = "votes on topics' channels"
    again = f"the same after {100 * changed:g}% of the interests changed"
    return (
        Figure("interests", real, DISTANCE, MESSAGES, lines(""), log_y=True),
        Figure("interests-upkeep", again, DISTANCE, MESSAGES, lines("_again"), log_y=True),
    )


def _clustering() -> tuple[Figure, ...]:
    ways = (
        ("random", "random"),
        ("agglomerative", "agglomerative"),
        ("centralised K-Means", "kmeans"),
        ("distributed K-Means (leader)", "votes"),
        ("K-Means, merged and split", "search"),
    )
    lines = tuple(Line(label, "clustering", "", name) for label, name in ways)
    near = tuple(
        Line(label, "clustering", "", name, over="kmeans")
        for label, name in ways
        if name not in ("random", "kmeans")
    )
    title, unit = "what a map costs", "unwanted traffic a subscriber"
    ratio, share = "maps against centralised K-Means", "cost ÷ that of K-Means"
    return (
        Figure("clustering", title, "channels", unit, lines, log_y=True),
        Figure("clustering-ratio", ratio, "channels", share, near, level=1.0),
    )


def _convergence() -> tuple[Figure, ...]:
    ways = (("as they come", "adopted"), ("if they pay", "scheduled"))
    made = []
    for suffix, title, unit, most in (
        ("", "20 of 100 topics change", "share of runs that come to rest", 1.0),
        ("_waves", "how soon they rest", "waves of votes", None),
    ):
        lines = tuple(
            Line(f"{label}, k = {k}", "convergence", k, f"{name}{suffix}")
            for label, name in ways
            for k in ("5", "10", "20")
        )
        name = "convergence" if not suffix else "waves"
        axis = "share of topics that vote at once"
        made.append(Figure(name, title, axis, unit, lines, log_x=False, most=most))
    return tuple(made)
