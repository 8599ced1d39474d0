"""What is run for Figure 3 of the adaptive-filtering paper, and what is made of it."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from caddis.errors import CaddisError, OverlayError
from caddis.lab.adaptive_filtering.experiment import (
    TREES,
    Conditions,
    OverlayWorker,
    Scale,
    draw_topologies,
    plan,
    policy_named,
)
from caddis.lab.adaptive_filtering.figures import (
    SHEETS,
    Saving,
    all_figures,
    chosen_figures,
    percent_less,
    savings,
    savings_tables,
    study,
)
from caddis.lab.figures.figures import Figure, by_measure, cells
from caddis.lab.figures.plots import draw
from caddis.lab.figures.runs import Place, Run, Task, keys, whole
from caddis.lab.simulators.overlay_report import MEANS
from tests.overlay.topology.planetlab import synthetic_round_trips

SMALL = Scale(
    topologies=2,
    repeats=2,
    subscriptions=(20, 40),
    concepts=(5, 8),
    fixed_subscriptions=40,
    fixed_concepts=8,
)
CONDITIONS = Conditions(events=6, brokers=6, selectivity=(0.3, 0.6))
FIGURES = all_figures(SMALL, ("air", "mec", "frontier"))
ON_ONE_TREE = OverlayWorker(CONDITIONS, draw_topologies(CONDITIONS, 1))


@pytest.fixture(scope="module")
def runs() -> list[Run]:
    worker = OverlayWorker(CONDITIONS, draw_topologies(CONDITIONS, SMALL.topologies))
    return [run for task in plan(FIGURES, SMALL) for run in worker(task)]


def task_of(popularity: str, subscriptions: int, concepts: int, *policies: str) -> Task:
    places = (Place(f"{policy} {concepts}", float(subscriptions), 0) for policy in policies)
    return Task(popularity, tuple(places))


def measures(runs: tuple[Run, ...], policy: str) -> dict[str, float]:
    return {run.measure: run.value for run in runs if run.setting.split()[0] == policy}


def delays(policy: str, subscriptions: int, *delays: float) -> list[Run]:
    return [
        Run("zipf", f"{policy} 8", subscriptions, repeat, f"delay_{mean}_ms", 4, delay)
        for repeat, delay in enumerate(delays)
        for mean in MEANS
    ]


def of_policies(*policies: str) -> Figure:
    [figure] = chosen_figures(("3a",), SMALL, policies, "paths")
    return figure


def test_a_point_that_figures_share_is_run_once():
    tasks = plan(all_figures(SMALL), SMALL)
    workloads = [
        (task.experiment, place.x, place.setting.split()[1], place.repeat)
        for task in tasks
        for place in task.places[:1]
    ]
    assert len(workloads) == len(set(workloads)) == 5 * 4
    [shared, *_] = [task for task in tasks if Place("eager 8", 40.0, 0) in task.places]
    settings = [place.setting for place in shared.places]
    assert {"air 8", "emec 8", "frontier 8", "frontier@50 8"} <= set(settings)
    assert len(settings) == len(set(settings))


def test_what_is_done_is_not_done_again(runs):
    assert plan(FIGURES, SMALL, whole(runs)) == []
    assert whole(runs) == keys(plan(FIGURES, SMALL))
    assert keys(plan(FIGURES, SMALL, whole(runs[:-1]))) == {runs[-1].key}


def test_more_trees_and_workloads_add_to_what_is_there():
    more = replace(SMALL, topologies=3, repeats=4)
    assert keys(plan(FIGURES, SMALL)) < keys(plan(FIGURES, more))
    repeats = {repeat for *_, repeat in keys(plan(FIGURES, more))}
    assert repeats == {workload * TREES + tree for tree in range(3) for workload in range(4)}


def test_a_task_has_the_same_result_wherever_it_is_done():
    task = task_of("uniform", 30, 6, "air", "frontier")
    there, sent = pickle.loads(pickle.dumps((ON_ONE_TREE, task)))
    assert there(sent) == ON_ONE_TREE(task)


def test_topologies_do_not_depend_on_how_many_there_are_and_follow_the_matrices():
    assert draw_topologies(CONDITIONS, 1)[0] == draw_topologies(CONDITIONS, 3)[0]
    matrices = [synthetic_round_trips(20, np.random.default_rng(seed)) for seed in range(2)]
    trees = draw_topologies(CONDITIONS, 3, matrices)
    assert len({tree.brokers for tree in trees}) == 3
    assert all(len(tree) == CONDITIONS.brokers for tree in trees)


def test_the_root_s_total_cost_is_its_delay_on_every_path(runs):
    values = by_measure(runs)
    settings = {run.setting for run in runs if run.setting.startswith("air ")}
    assert settings == {"air 5", "air 8"}
    for setting in settings:
        costs, paths = (values["zipf", setting, name] for name in ("cost_ms", "delay_paths_ms"))
        for x, by_repeat in costs.items():
            assert by_repeat == pytest.approx(paths[x])


def test_covering_changes_the_cost_but_not_who_is_notified():
    task = task_of("zipf", 100, 40, "air", "mec")
    covering = replace(ON_ONE_TREE, conditions=replace(CONDITIONS, covering=True))
    plain, covered = ON_ONE_TREE(task), covering(task)
    assert measures(plain, "air") == measures(covered, "air")
    one, other = measures(plain, "mec"), measures(covered, "mec")
    assert one["notifications"] == other["notifications"]
    assert one["cost_ms"] != other["cost_ms"]


def test_links_delay_only_those_who_wait_for_others():
    policies = ("air", "ail", "mec", "emec")
    task = task_of("zipf", 60, 12, *policies)
    instant = replace(ON_ONE_TREE, conditions=replace(CONDITIONS, link_delays=False))
    slow, quick = ON_ONE_TREE(task), instant(task)
    for policy in policies:
        one, other = measures(slow, policy), measures(quick, policy)
        for mean in MEANS:
            assert one[f"delay_{mean}_ms"] == pytest.approx(other[f"delay_{mean}_ms"])
        assert one["latency_ms"] > other["latency_ms"]


def test_savings_range_over_the_axis():
    some = [*delays("air", 20, 100), *delays("mec", 20, 60)]
    some += [*delays("air", 40, 200), *delays("mec", 40, 100)]
    figure, values = of_policies("air", "mec"), by_measure(some)
    assert Saving("mec", "paths", 0.4, 0.5) in savings(figure, values)
    [table] = savings_tables([figure], values)
    assert table.rows == (("mec", *["40–50% less"] * 4),)
    assert percent_less(Saving("mec", "paths", -0.5, -0.5)) == "50% more"


def test_without_a_baseline_nothing_is_saved():
    some = [*delays("air", 20, np.nan), *delays("mec", 20, np.nan, 50)]
    figure, values = of_policies("air", "mec"), by_measure(some)
    [mec] = cells(figure, values)
    assert (mec.line, mec.mean, mec.ratio) == ("mec", 50, None)
    assert savings_tables([figure], values) == ()


def test_figure_3d_goes_through_the_numbers_of_concepts(runs):
    values = by_measure(runs)
    [figure] = chosen_figures(("3d",), SMALL, ("air",), "events")
    [five, eight] = cells(figure, values)
    assert (five.x, eight.x) == (5, 8)
    samples = values["zipf", "air 8", "delay_events_ms"][40]
    assert eight.mean == pytest.approx(np.mean(list(samples.values())))


def test_the_frontier_has_a_point_for_every_policy_and_patience(runs):
    values, frontier = by_measure(runs), FIGURES[-1]
    found = {cell.line: cell for cell in cells(frontier, values)}
    assert len(found) == 12
    air, knob = found["air"], found["frontier@50"]
    assert (air.ratio, air.x_ratio) == (1.0, 1.0)
    costs = values["zipf", "frontier@50 8", "cost_ms"][40]
    assert knob.x == pytest.approx(np.mean(list(costs.values())))
    own = values["zipf", "air 8", "cost_ms"][40]
    ratios = [costs[repeat] / own[repeat] for repeat in costs]
    assert knob.x_ratio == pytest.approx(np.mean(ratios))


def test_every_figure_is_drawn(runs, tmp_path):
    written = draw(FIGURES, by_measure(runs), tmp_path, SHEETS, dpi=40)
    names = ["figure-3a.png", "figure-3b.png", "figure-3c.png", "figure-3d.png"]
    assert [path.name for path in written] == [*names, "frontier.png", "figure-3.png"]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in written)


def test_a_study_says_that_its_trees_are_made_up():
    assert study(FIGURES, SMALL, CONDITIONS).notes
    matrix = synthetic_round_trips(20, np.random.default_rng(0))
    assert study(FIGURES, SMALL, replace(CONDITIONS, trees="a digest"), [matrix]).notes == ()


def test_a_figure_that_is_not_there_is_an_error():
    with pytest.raises(CaddisError, match="there is no figure '3e'; there is: 3a, 3b"):
        chosen_figures(("3e",), SMALL, ("air",), "paths")


@pytest.mark.parametrize("name", ["mec@50", "frontier@soon", "frontier@"])
def test_only_the_frontier_has_patience(name):
    with pytest.raises(OverlayError, match="write a patience as in frontier@50"):
        policy_named(name)
