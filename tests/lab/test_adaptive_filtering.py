"""What is run for Figure 3 of the adaptive-filtering paper, and what is made of it."""

import io
import math
import pickle
from dataclasses import replace

import numpy as np
import pytest

from caddis.errors import OverlayError
from caddis.lab.adaptive_filtering.figures import (
    FIGURES,
    Conditions,
    Experiment,
    Point,
    Run,
    Scale,
    Task,
    draw_topologies,
    figure,
    plan,
    policy_named,
)
from caddis.lab.adaptive_filtering.plots import draw
from caddis.lab.adaptive_filtering.results import (
    Saving,
    cells,
    percent_less,
    read_runs,
    savings,
    write_figures,
    write_header,
    write_runs,
)
from caddis.overlay.topology.round_trips import synthetic_round_trips

SMALL = Scale(
    topologies=2,
    repeats=2,
    subscriptions=(20, 40),
    concepts=(5, 8),
    fixed_subscriptions=40,
    fixed_concepts=8,
)
CONDITIONS = Conditions(events=6, brokers=6, selectivity=(0.3, 0.6))
POLICIES = ("air", "mec", "frontier")


@pytest.fixture(scope="module")
def runs() -> list[Run]:
    experiment = Experiment(CONDITIONS, draw_topologies(CONDITIONS, SMALL.topologies))
    figures = [figure(name, SMALL, POLICIES) for name in FIGURES]
    return [run for task in plan(figures, SMALL) for run in experiment(task)]


def made_up(policy: str, repeat: int, delay: float, subscriptions: int = 20) -> Run:
    nothing = dict.fromkeys(("latency_ms", "latency_p95_ms", "runs", "messages", "bytes"), 0.0)
    means = {f"delay_{mean}_ms": delay for mean in ("notifications", "brokers", "events", "paths")}
    return Run(
        popularity="zipf",
        subscriptions=subscriptions,
        concepts=8,
        topology=0,
        repeat=repeat,
        policy=policy,
        delay_p95_ms=delay,
        cost_ms=2 * delay,
        notifications=1,
        **means,
        **nothing,
    )


def test_a_point_that_figures_share_is_run_once():
    figures = [figure(name, SMALL) for name in FIGURES]
    tasks = plan(figures, SMALL)
    places = [(task.point, task.topology, task.repeat) for task in tasks]
    assert len(places) == len(set(places)) == 5 * 4
    shared = next(task for task in tasks if task.point == Point("zipf", 40, 8))
    assert {"air", "emec", "eager", "frontier", "frontier@50"} <= set(shared.policies)
    assert len(shared.policies) == len(set(shared.policies))


def test_what_is_done_is_not_done_again():
    figures = [figure("3a", SMALL, ("air", "mec"))]
    first, *others = plan(figures, SMALL)
    done = {(first.point, first.topology, first.repeat, "air")}
    left = {(task.point, task.topology, task.repeat): task for task in plan(figures, SMALL, done)}
    assert left[first.point, first.topology, first.repeat].policies == ("mec",)
    assert len(left) == 1 + len(others)
    everything = {(t.point, t.topology, t.repeat, p) for t in left.values() for p in t.policies}
    assert plan(figures, SMALL, done | everything) == []


def test_a_task_has_the_same_result_wherever_it_is_done():
    task = Task(Point("uniform", 30, 6), 1, 0, ("air", "frontier"))
    here = Experiment(CONDITIONS, draw_topologies(CONDITIONS, 2))
    there, sent = pickle.loads(pickle.dumps((here, task)))
    assert there(sent) == here(task)


def test_topologies_do_not_depend_on_how_many_there_are_and_follow_the_matrices():
    assert draw_topologies(CONDITIONS, 1)[0] == draw_topologies(CONDITIONS, 3)[0]
    matrices = [synthetic_round_trips(20, np.random.default_rng(seed)) for seed in range(2)]
    trees = draw_topologies(CONDITIONS, 3, matrices)
    assert len({tree.brokers for tree in trees}) == 3
    assert all(len(tree) == CONDITIONS.brokers for tree in trees)


def test_the_root_s_total_cost_is_its_delay_on_every_path(runs):
    for run in [run for run in runs if run.policy == "air"]:
        assert run.cost_ms == pytest.approx(run.delay_paths_ms)


def test_covering_changes_the_cost_but_not_who_is_notified():
    task = Task(Point("zipf", 100, 40), 0, 0, ("air", "mec"))
    trees = draw_topologies(CONDITIONS, 1)
    plain = Experiment(CONDITIONS, trees)(task)
    covered = Experiment(replace(CONDITIONS, covering=True), trees)(task)
    assert plain[0] == covered[0]
    assert plain[1].notifications == covered[1].notifications
    assert plain[1].cost_ms != covered[1].cost_ms


def test_links_delay_only_those_who_wait_for_others():
    task = Task(Point("zipf", 60, 12), 0, 0, ("air", "ail", "mec", "emec"))
    trees = draw_topologies(CONDITIONS, 1)
    slow = Experiment(CONDITIONS, trees)(task)
    quick = Experiment(replace(CONDITIONS, link_delays=False), trees)(task)
    for with_links, without in zip(slow, quick, strict=True):
        for mean in ("notifications", "brokers", "events", "paths"):
            name = f"delay_{mean}_ms"
            assert getattr(with_links, name) == pytest.approx(getattr(without, name))
        assert with_links.latency_ms > without.latency_ms


def test_runs_survive_a_file_even_if_its_last_line_is_cut_short(runs):
    file = io.StringIO()
    write_header(file)
    write_runs(file, runs)
    whole = read_runs(io.StringIO(file.getvalue()), "runs.csv")
    assert [run.key for run in whole] == [run.key for run in runs]
    assert [run.cost_ms for run in whole] == pytest.approx([r.cost_ms for r in runs], rel=1e-5)
    cut = read_runs(io.StringIO(file.getvalue()[:-3]), "runs.csv")
    assert cut == whole[:-1]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [("a,b\n1,2\n", "does not name the columns"), (None, "line 2: not a run")],
)
def test_a_file_that_is_not_of_runs_is_refused(text, complaint):
    if text is None:
        file = io.StringIO()
        write_header(file)
        text = file.getvalue() + "zipf,many\n"
    with pytest.raises(OverlayError, match=complaint):
        read_runs(io.StringIO(text), "runs.csv")


def test_ratios_are_of_paired_runs():
    one = replace(figure("3a", SMALL, ("air", "mec")), points=(Point("zipf", 20, 8),))
    some = [made_up("air", 0, 100), made_up("air", 1, 300)]
    some += [made_up("mec", 0, 50), made_up("mec", 1, 240)]
    air, mec = cells(one, some, "paths")
    assert (air.ratio, air.runs) == (1.0, 2)
    assert mec.mean == pytest.approx(145)
    assert mec.error == pytest.approx(95)
    assert (mec.ratio, mec.ratio_low, mec.ratio_high) == pytest.approx((0.65, 0.5, 0.8))
    costs = cells(one, some, "paths", "cost")
    assert [cell.mean for cell in costs] == pytest.approx([400, 290])


def test_a_run_without_notifications_counts_nowhere():
    one = replace(figure("3a", SMALL, ("air", "mec")), points=(Point("zipf", 20, 8),))
    some = [made_up("air", 0, math.nan), made_up("mec", 0, math.nan), made_up("mec", 1, 50)]
    air, mec = cells(one, some, "notifications")
    assert math.isnan(air.mean)
    assert mec.mean == 50
    assert math.isnan(mec.ratio)
    assert savings(one, some) == []


def test_savings_range_over_the_axis():
    one = figure("3a", SMALL, ("air", "mec"))
    some = [made_up("air", 0, 100), made_up("mec", 0, 60)]
    some += [made_up("air", 0, 200, 40), made_up("mec", 0, 100, 40)]
    assert Saving("mec", "paths", 0.4, 0.5) in savings(one, some)
    assert percent_less(Saving("mec", "paths", 0.4, 0.5)) == "40–50% less"
    assert percent_less(Saving("mec", "paths", -0.5, -0.5)) == "50% more"


def test_every_figure_is_drawn_and_told(runs, tmp_path):
    figures = [figure(name, SMALL, POLICIES) for name in FIGURES]
    written = draw(figures, runs, "paths", tmp_path)
    names = ["figure-3a.png", "figure-3b.png", "figure-3c.png", "figure-3d.png"]
    assert [path.name for path in written] == [*names, "frontier.png", "figure-3.png"]
    for path in written:
        content = path.read_bytes()
        assert content.startswith(b"\x89PNG")
        assert len(content) > 10_000
    file = io.StringIO()
    write_figures(file, figures, runs)
    header, *lines = file.getvalue().splitlines()
    assert header.startswith("figure,x,popularity,")
    of_3a = [line for line in lines if line.startswith("3a,")]
    assert len(of_3a) == 2 * 4 * len(POLICIES)
    assert [line.replace("3a", "3c", 1) for line in of_3a] == [
        line for line in lines if line.startswith("3c,")
    ]


@pytest.mark.parametrize("name", ["3e", ""])
def test_a_figure_that_is_not_there_is_an_error(name):
    with pytest.raises(OverlayError, match="there is: 3a, 3b"):
        figure(name, SMALL)


@pytest.mark.parametrize("name", ["mec@50", "frontier@soon", "frontier@"])
def test_only_the_frontier_has_patience(name):
    with pytest.raises(OverlayError, match="patience is told as in frontier@50"):
        policy_named(name)
