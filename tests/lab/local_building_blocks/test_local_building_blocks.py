"""What is run for the paper on local building blocks, and what is made of it."""

import io
import pickle
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure as Canvas

from caddis.cli.lab.local_building_blocks import FIGURES as NAMES
from caddis.errors import CaddisError, TopicError
from caddis.lab.figures.figures import Study, by_measure, cells, write_figures
from caddis.lab.figures.plots import draw, draw_panel
from caddis.lab.figures.runs import Place, Run, Task, keys, whole
from caddis.lab.local_building_blocks.clusterings import FIRST, LAST, Ballot
from caddis.lab.local_building_blocks.figures import (
    EXPERIMENTS,
    SHEETS,
    all_figures,
    figures_named,
    study,
)
from caddis.lab.local_building_blocks.votes import (
    COMPLETE,
    Conditions,
    Scale,
    Setup,
    quiet,
    simulated,
    tree_of,
)
from caddis.lab.simulators.tree import a_round, complete_binary_tree
from caddis.lab.simulators.vote_rounds import Tree, VoteRounds, gaussian_costs
from caddis.lab.workloads.interests import planted
from caddis.topics.clustering.interests import count, vote_costs

SMALL = Scale(
    repeats=2,
    few=1,
    distances=(0.1, 2),
    second=(0, 1),
    fixed=(0.1,),
    nodes=(50, 100),
    choices=(2, 4),
    together=(1, 3),
    bits=(50, 100),
    every=4,
    channels=(2, 5),
    shares=(0.2, 1.0),
    delayed=(0.1,),
)
CONDITIONS = Conditions(nodes=60, changed=0.05, subscribers=80, topics=12, k=3)
SETUP = Setup(CONDITIONS, planted(80, 12, np.random.default_rng(0)))
FIGURES = all_figures(SMALL, 0.05)
STUDY = study(FIGURES, SMALL, SETUP)


@pytest.fixture(scope="module")
def runs() -> list[Run]:
    return [run for task in STUDY.plan(()) for run in STUDY.worker(task)]


def study_of(*names: str) -> Study:
    return study(figures_named(names, SMALL, 0.05), SMALL, SETUP)


def test_what_figures_share_is_run_once():
    tasks = study_of("2a", "2b", "first", "upkeep").plan(())
    everywhere = [place for task in tasks for place in task.places]
    assert len(everywhere) == len(set(everywhere)) == 2 * 4
    assert {task.experiment for task in tasks} == {"distance"}


def test_every_figure_has_lines_and_every_experiment_a_figure():
    assert {line.experiment for figure in FIGURES for line in figure.lines} == set(EXPERIMENTS)
    assert len({figure.name for figure in FIGURES}) == len(FIGURES)


def test_titles_say_how_many_inputs_change():
    titles = [figure.title for figure in FIGURES if figure.name.endswith("upkeep")]
    assert titles == [
        "after 5% of the inputs changed",
        "the same after 5% of the interests changed",
    ]


def test_the_help_names_every_figure():
    assert NAMES.split(", ") == [figure.name for figure in FIGURES]


def test_large_trees_come_first():
    tasks = STUDY.plan(())
    assert [task.places[0].x for task in tasks[:3]] == [100, 100, 100]


def test_what_is_done_is_not_done_again(runs):
    assert STUDY.plan(whole(runs)) == []
    assert whole(runs) == keys(STUDY.plan(()))


def test_a_run_that_lost_a_measure_is_done_again(runs):
    left = STUDY.plan(whole(runs[:-1]))
    assert keys(left) == {runs[-1].key}


def test_a_task_has_the_same_result_wherever_it_is_done():
    task = Task("interests", (Place(LAST, 4.0, 0), Place(LAST, 8.0, 0)))
    there, sent = pickle.loads(pickle.dumps((STUDY.worker, task)))
    assert there(sent) == STUDY.worker(task)


def test_another_seed_draws_others():
    task = Task("distance", (Place("random", 0.1, 0),))
    other = SETUP._replace(conditions=replace(CONDITIONS, seed=2))
    assert study(FIGURES, SMALL, other).worker(task) != STUDY.worker(task)


def test_topics_are_voted_on_once_each():
    [first, last] = study_of("interests").plan(())[:2]
    assert first.places == tuple(Place(FIRST, topic, 0) for topic in (0.0, 4.0, 8.0))
    assert [place.setting for place in last.places] == [LAST] * 3


def test_every_line_has_all_its_places(runs):
    values = by_measure(runs)
    for figure in FIGURES:
        for line in figure.lines:
            if "waves" in line.measure or line.against:
                continue
            found = [cell for cell in cells(figure, values) if cell.line == line.label]
            assert [cell.x for cell in found] == list(
                getattr(SMALL, EXPERIMENTS[line.experiment].axis)
            )
            assert all(
                cell.runs == getattr(SMALL, EXPERIMENTS[line.experiment].often) for cell in found
            )


def test_measures_are_what_they_are_known_to_be(runs):
    values = by_measure(runs)
    first = values["distance", "complete", "aggregation"]
    assert {value for of in first.values() for value in of.values()} == {2 * 59 / 60}
    bound = values["filters", "0.8", "bound_per_bit"]
    case = replace(CONDITIONS, nodes=1000)
    [big, *_] = study(FIGURES, SMALL, Setup(case, SETUP.interests)).worker(
        Task("filters", (Place("0.8", 50, 0),))
    )
    assert big.value == pytest.approx(0.0256, abs=1e-4)
    assert bound[100][0] < bound[50][0] < 1
    assert set(values["convergence", "5", "scheduled"][0.2].values()) == {1.0}
    costs = [values["clustering", "", name][5][0] for name in ("search", "random")]
    assert 0 < costs[0] < costs[1]


def test_inputs_change_only_after_the_first_vote(runs):
    """The upkeep of one way must not be the first vote of the next."""
    values = by_measure(runs)
    for name in ("voting", "pairs", "aggregation"):
        again = values["distance", "random", f"{name}_again"]
        assert all(sum(of.values()) > 0 for of in again.values())


@pytest.mark.parametrize("topic", [0, 5])
def test_what_all_subscribers_put_in_adds_up(topic):
    channels = np.random.default_rng(1).integers(0, 3, 12).astype(np.int32)
    tallies = count(SETUP.interests, channels, 3)
    whole_costs = vote_costs(tallies, channels, SETUP.interests.rates)
    ballot = Ballot.on(SETUP.interests, channels, 3)
    assert ballot.costs(topic).sum(axis=0).tolist() == whole_costs[topic].tolist()


def test_the_votes_of_topics_are_on_the_map_that_they_name(runs):
    values = by_measure(runs)
    assert values["interests", FIRST, "voting"] != values["interests", LAST, "voting"]


def test_a_vote_with_a_wrong_outcome_is_told():
    tree = Tree.of(complete_binary_tree(3))
    vote = VoteRounds(tree, [[0, 5], [0, 5], [0, 5]])
    with pytest.raises(TopicError, match="not 1 everywhere"):
        quiet(vote, np.array([[5, 0]]))


def test_real_nodes_cast_the_votes_of_the_engine(runs):
    values = by_measure(runs)
    drawn = values["distance", COMPLETE, "voting"][0.1]
    assert values["delays", COMPLETE, "rounds"][0.1][0] == drawn[0]
    assert values["delays", COMPLETE, "delays"][0.1][0] != drawn[0]


def test_without_random_delays_real_nodes_say_what_the_engine_says():
    rng = np.random.default_rng(3)
    tree, costs = tree_of(COMPLETE, 60, rng), gaussian_costs(60, (0.1, 1.0), rng)
    engine, real = quiet(VoteRounds(tree, costs), costs), simulated(tree, costs, rng, a_round)
    assert real.messages.tolist() == engine.node_messages.tolist()
    assert real.now == engine.rounds


def test_there_is_no_other_figure():
    with pytest.raises(CaddisError, match="there is no figure '3a'; there is: 1, 2a"):
        figures_named(("2a", "3a"), SMALL, 0.05)


def test_figures_are_drawn(runs, tmp_path):
    some = figures_named(("1", "2a", "2b", "interests"), SMALL, 0.05)
    written = draw(some, by_measure(runs), tmp_path, SHEETS, dpi=40)
    assert [path.name for path in written] == [
        "figure-1.png",
        "figure-2a.png",
        "figure-2b.png",
        "interests.png",
        "figure-2.png",
    ]
    assert all(path.stat().st_size > 1000 for path in written)


def test_shares_are_drawn_up_to_one(runs):
    [figure] = figures_named(("convergence",), SMALL, 0.05)
    panel = Canvas().subplots()
    draw_panel(panel, figure, by_measure(runs))
    assert panel.get_ylim() == (0, 1.05)


def test_clusterings_are_drawn_around_k_means(runs):
    [figure] = figures_named(("clustering-ratio",), SMALL, 0.05)
    panel = Canvas().subplots()
    draw_panel(panel, figure, by_measure(runs))
    low, high = panel.get_ylim()
    assert 0 < low < 1 < high


def test_every_figure_is_told(runs):
    file = io.StringIO()
    write_figures(file, FIGURES, by_measure(runs))
    lines = file.getvalue().splitlines()
    assert lines[0] == "figure,line,x,mean,error,runs,ratio,ratio_low,ratio_high,x_ratio"
    assert {line.partition(",")[0] for line in lines[1:]} == {figure.name for figure in FIGURES}
