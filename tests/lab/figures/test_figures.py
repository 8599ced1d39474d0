"""Lines, cells and plots: what runs become, whichever paper they are of."""

import io
import math

import numpy as np
import pytest
from matplotlib.figure import Figure as Canvas

from caddis.errors import CaddisError
from caddis.lab.figures.figures import Cell, Figure, Line, Spot, by_measure, cells
from caddis.lab.figures.plots import distinct, draw_panel, in_one
from caddis.lab.figures.runs import Run, read_runs, whole, write_header, write_runs


def made_up(x: float, repeat: int, measure: str, value: float, of: int = 1) -> Run:
    return Run("distance", "complete", x, repeat, measure, of, value)


def test_a_line_is_the_mean_of_its_runs_and_what_is_there_twice_counts_once():
    line = Line("voting", "distance", "complete", "voting")
    one = Figure("2a", "", "", "", (line,))
    some = [made_up(0.1, 0, "voting", 4), made_up(0.1, 1, "voting", 8)]
    expected = [Cell("voting", 0.1, 6.0, 2.0, 2)]
    assert cells(one, by_measure(some)) == expected
    assert cells(one, by_measure([*some, *some])) == expected


def test_what_has_no_value_counts_nowhere():
    line = Line("voting", "distance", "complete", "voting")
    some = [made_up(0.1, 0, "voting", math.nan), made_up(0.5, 0, "voting", math.nan)]
    some.append(made_up(0.1, 1, "voting", 3))
    found = cells(Figure("2a", "", "", "", (line,)), by_measure(some))
    assert found == [Cell("voting", 0.1, 3.0, 0.0, 1)]


def test_a_cloud_stands_where_its_votes_were_hard():
    line = Line("votes", "distance", "complete", "voting", "distance")
    some = [made_up(7, 0, "voting", 4), made_up(7, 0, "distance", 0.3)]
    some += [made_up(8, 0, "voting", 9), made_up(8, 0, "distance", 0.1)]
    found = cells(Figure("f", "", "", "", (line,)), by_measure(some))
    assert [(cell.x, cell.mean) for cell in found] == [(0.1, 9), (0.3, 4)]


def test_lines_that_coincide_are_drawn_as_one():
    lines = tuple(Line(f"k = {k}", "distance", "complete", f"of {k}") for k in (5, 10, 20))
    some = [made_up(x, 0, f"of {k}", 1 + (k == 10)) for x in (0.1, 0.2) for k in (5, 10, 20)]
    found = distinct(Figure("", "", "", "", lines), by_measure(some))
    assert [in_one([line.label for line in same]) for same, _ in found] == ["k = 5, 20", "k = 10"]


def test_lines_without_points_and_clouds_are_not_taken_for_one():
    lines = tuple(Line(f"k = {k}", "distance", "complete", "none") for k in (5, 10))
    assert len(distinct(Figure("", "", "", "", lines), {})) == 2


def test_a_mean_of_a_single_run_is_hollow():
    some = [
        made_up(0.1, 0, "voting", 4),
        made_up(0.1, 1, "voting", 8),
        made_up(0.5, 0, "voting", 3),
    ]
    line, panel = Line("voting", "distance", "complete", "voting"), Canvas().subplots()
    draw_panel(panel, Figure("2a", "", "", "", (line,)), by_measure(some))
    hollow = [one for one in panel.lines if one.get_markerfacecolor() == "white"]
    assert [np.asarray(one.get_xdata()).tolist() for one in hollow] == [[0.5]]


def test_a_ratio_is_that_of_the_same_runs():
    line = Line("search", "distance", "complete", "search", over="kmeans")
    some = [made_up(5, repeat, "search", value) for repeat, value in enumerate((1, 9, 4))]
    some += [made_up(5, repeat, "kmeans", value) for repeat, value in enumerate((2, 6, 0))]
    [cell] = cells(Figure("f", "", "", "", (line,)), by_measure(some))
    assert (cell.mean, cell.runs) == (1.0, 2), "what is divided by 0 has no value"


def test_a_line_goes_through_its_spots():
    spots = (Spot(5, "a", 0.1), Spot(7, "b", 0.1), Spot(9, "c", 0.1))
    line = Line("voting", "distance", "", "voting", spots=spots)
    some = [Run("distance", name, 0.1, 0, "voting", 1, x) for name, x in (("b", 3), ("a", 2))]
    found = cells(Figure("f", "", "", "", (line,)), by_measure(some))
    assert [(cell.x, cell.mean) for cell in found] == [(5, 2), (7, 3)]


def test_ratios_to_a_baseline_are_of_paired_runs():
    lines = tuple(Line(name, "distance", name, "delay") for name in ("air", "mec"))
    some = [
        Run("distance", name, 1, repeat, "delay", 1, value)
        for name, values in (("air", (100, 300)), ("mec", (50, 240, 9)))
        for repeat, value in enumerate(values)
    ]
    air, mec = cells(Figure("f", "", "", "", lines, baseline="air"), by_measure(some))
    assert (air.ratio, air.runs) == (1.0, 2)
    assert (mec.ratio, mec.ratio_low, mec.ratio_high) == pytest.approx((0.65, 0.5, 0.8))
    assert mec.runs == 3


def test_runs_survive_a_file_even_if_its_last_line_is_cut_short():
    runs = [made_up(1e6, 0, "voting", 1 / 3, 2), made_up(1e6, 0, "radius", math.nan, 2)]
    file = io.StringIO()
    write_header(file)
    write_runs(file, runs)
    again = read_runs(io.StringIO(file.getvalue()), "runs.csv")
    assert [run.key for run in again] == [run.key for run in runs]
    assert whole(again) == whole(runs)
    assert again[0].value == pytest.approx(1 / 3, rel=1e-5)
    assert read_runs(io.StringIO(file.getvalue()[:-3]), "runs.csv") == again[:1]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a,b\n1,2\n", "does not name the columns"),
        ("experiment,setting,x,repeat,measure,of,value\nzipf,many\n", "line 2: not a run"),
    ],
)
def test_a_file_that_is_not_of_runs_is_refused(text, complaint):
    with pytest.raises(CaddisError, match=complaint):
        read_runs(io.StringIO(text), "runs.csv")
