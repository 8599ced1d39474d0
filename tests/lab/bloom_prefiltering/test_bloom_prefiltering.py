"""What is run for the paper on Bloom prefiltering, and what is made of it."""

import io
import pickle
from dataclasses import replace

import numpy as np
import pytest

from caddis.arrays import Words
from caddis.bloom import false_positive_rate
from caddis.cli.lab.bloom_prefiltering import FIGURES as NAMES
from caddis.errors import CaddisError
from caddis.lab.bloom_prefiltering.counts import best_compressed, counted_rate, wire_bytes
from caddis.lab.bloom_prefiltering.figures import (
    EXPERIMENTS,
    SHEETS,
    all_figures,
    figures_named,
    study,
)
from caddis.lab.bloom_prefiltering.times import SealedStream, batch_of
from caddis.lab.bloom_prefiltering.workload import (
    STREAM,
    Conditions,
    Draw,
    HashedWords,
    Scale,
    Setup,
    clause_elements,
    clause_table,
    event_elements,
    per_event,
    size_of,
    sparse_size,
)
from caddis.lab.figures.figures import Values, by_measure, write_figures
from caddis.lab.figures.plots import draw
from caddis.lab.figures.runs import Place, Run, Task, keys, whole
from caddis.lab.workloads import zipf_event_codes, zipf_predicates, zipf_subscriptions
from caddis.lab.workloads.zipf import Predicates
from caddis.sealed.clauses.clauses import MOST_CLAUSES
from caddis.sealed.clauses.subscriptions import unpack_all
from caddis.sealed.keys.secrets import KeyedHashing
from caddis.sealed.prefilter.prefilter import included
from caddis.sealed.prefilter.wire import decode

SMALL = Scale(
    repeats=1,
    few=1,
    subscriptions=(100, 300),
    aspe=(50,),
    tokens=(50,),
    equalities=(0, 0.7, 1),
    rates=(0.1, 0.001),
    bits=(128, 512),
    wire=(32, 64),
    batches=(1, 100),
)
CONDITIONS = Conditions(subscriptions=300, events=40)
SETUP = Setup(CONDITIONS, seconds=0.0, batch=100)
FIGURES = all_figures(CONDITIONS)
STUDY = study(FIGURES, SMALL, SETUP)
WORDS = HashedWords.of(KeyedHashing(b"of nobody" * 4))


@pytest.fixture(scope="module")
def runs() -> list[Run]:
    return [run for task in STUDY.plan(()) for run in STUDY.worker(task)]


@pytest.fixture(scope="module")
def values(runs: list[Run]) -> Values:
    return by_measure(runs)


def rows(filters: Words) -> list[tuple[int, ...]]:
    return sorted(map(tuple, filters.tolist()))


@pytest.mark.parametrize("equality", [0.0, 0.7])
def test_filters_from_codes_are_those_that_sealing_makes(equality):
    stream = SealedStream.of("tokens", np.random.default_rng(1).bytes)
    words = HashedWords.of(stream.ring.subscriber_keys(STREAM).matching.hashing())
    texts = zipf_subscriptions(200, seed=3, shapes=None, equality=equality)
    [block], problems = unpack_all(stream.subscriptions(texts)["where"])
    assert not problems
    drawn = zipf_predicates(200, seed=3, shapes=None, equality=equality)
    made, table = clause_elements(drawn, words).filters(*size_of(True)), clause_table(drawn)
    for subscription in range(200):
        mine = made[table.owner == subscription]
        assert rows(mine) == rows(block.filters[block.owner == subscription])


def test_the_filters_of_events_are_those_that_sealing_makes():
    stream = SealedStream.of("aspe", np.random.default_rng(1).bytes)
    words = HashedWords.of(stream.ring.publisher_keys(STREAM).matching.hashing())
    bits, hashes = size_of(True)
    sealed, _ = decode(stream.events(batch_of(50, seed=4)).column("filter"), bits)
    made = event_elements(zipf_event_codes(50, seed=4), words)
    assert made.filters(bits, hashes).tolist() == sealed.tolist()


def test_in_lists_become_clauses_and_too_many_are_left_to_the_subscriber():
    members = np.full((4, 5), -1)
    members[:3, :5] = np.arange(15).reshape(3, 5)
    column, low = np.array([3, 1, 2, 9]), np.array([0, 5, 10, 42])
    three = Predicates(np.array([0, 4]), column, np.array([1, 1, 1, 0]), low, low, members)
    table = clause_table(three)
    assert len(table.owner) == 25 <= MOST_CLAUSES < 125
    assert (table.code[:, 3] == 42).all()
    assert sum((table.code[:, place] < 0).all() for place in range(3)) == 1
    assert len(set(map(tuple, table.code.tolist()))) == 25


def test_clauses_without_an_equality_pass_everything_unless_columns_are_told():
    drawn = zipf_predicates(300, seed=5, equality=0.0)
    telling = clause_elements(drawn, WORDS)
    blind = telling.without_presence()
    assert len(blind) == len(telling)
    assert (np.diff(blind.starts) == 0).any()
    assert (np.diff(telling.starts) > 0).all()


def test_prefilters_leave_fewer_tests_and_never_lose_a_match(values):
    for x in (100, 300):
        tests = {
            name: values["tests", "", name][x][0] for name in ("none", "paper", "ours", "matches")
        }
        assert tests["none"] > tests["paper"] > tests["ours"] >= tests["matches"]
        assert tests["paper"] >= values["tests", "", "default"][x][0]


def test_with_equalities_alone_presence_tells_nothing_more(values):
    assert values["equalities", "", "default"][1][0] == 0
    assert values["equalities", "", "none"][1][0] == CONDITIONS.subscriptions
    assert values["equalities", "", "default"][0][0] > values["equalities", "", "default"][0.7][0]


def test_larger_filters_let_less_pass(values):
    found = values["targets", "", "ours"]
    assert found[0.1][0] > found[0.001][0]
    assert values["targets", "", "ours_bits"][0.1][0] < size_of(True, 0.001)[0]


def test_the_formula_tells_how_often_filters_err(values):
    for setting in ("best", "2"):
        for x in (128, 512):
            counted, formula = (values["bits", setting, name][x][0] for name in ("rate", "formula"))
            assert counted == pytest.approx(formula, rel=0.25)


def test_rates_are_counted_of_words_that_an_event_does_not_have():
    elements = event_elements(zipf_event_codes(30, seed=1), WORDS)
    bits, hashes = 256, 3
    filters = elements.filters(bits, hashes)
    alone = replace(elements, which=np.arange(40_000), starts=np.arange(40_001))
    asked = alone.filters(bits, hashes)
    seeming = sum(int(included(asked, event).sum()) for event in filters)
    held = int((elements.which < 40_000).sum())
    tested = 30 * 40_000 - held
    assert counted_rate(elements, bits, hashes) == pytest.approx((seeming - held) / tested)


def test_a_compressed_filter_of_the_same_size_errs_less():
    elements = event_elements(zipf_event_codes(40, seed=2), WORDS)
    bits, hashes = best_compressed(elements, 512, 8, allowed=65)
    assert bits > 512
    assert wire_bytes(elements, bits, hashes, compressed=True) <= 65
    assert false_positive_rate(35, bits, hashes) < false_positive_rate(35, 512, 10)


def test_sparse_filters_err_as_rarely_with_fewer_hashes():
    bits, hashes = sparse_size(2)
    assert hashes == 2
    assert bits > size_of(False)[0]
    assert false_positive_rate(20, bits, hashes) <= 0.001


def test_whoever_is_timed_finds_the_same_as_the_plain_matcher(values):
    for scheme in ("aspe", "tokens"):
        ours, none = (values[scheme, "", f"{name}_tests"][50][0] for name in ("ours", "none"))
        assert ours < none
        assert values[scheme, "", "found"][50][0] <= ours


def test_a_clock_takes_the_best_of_its_passes():
    counts: list[int] = []
    assert per_event(counts.append, 1000, 0.0) > 0
    assert counts == [4, 4, 4, 4]
    per_event(counts.append, 10, 60.0)
    assert counts[-3:] == [10, 10, 10]


def test_every_figure_has_lines_and_every_experiment_a_figure():
    assert {line.experiment for figure in FIGURES for line in figure.lines} == set(EXPERIMENTS)
    assert NAMES.split(", ") == [figure.name for figure in FIGURES]


def test_what_is_done_is_not_done_again(runs):
    assert STUDY.plan(whole(runs)) == []
    assert whole(runs) == keys(STUDY.plan(()))
    assert keys(STUDY.plan(whole(runs[:-1]))) == {runs[-1].key}


def test_what_is_counted_has_the_same_result_wherever_it_is_done():
    task = Task("equalities", (Place("", 0.7, 0),))
    there, sent = pickle.loads(pickle.dumps((STUDY.worker, task)))
    assert there(sent) == STUDY.worker(task)
    other = SETUP._replace(conditions=replace(CONDITIONS, seed=2))
    assert study(FIGURES, SMALL, other).worker(task) != STUDY.worker(task)


def test_what_has_a_clock_is_done_alone_and_the_reader_is_warned():
    timed = {task.experiment for task in STUDY.plan(()) if STUDY.timed(task)}
    assert timed == {"aspe", "tokens", "times", "batches"}
    assert STUDY.notes
    assert study(figures_named(("tests",), CONDITIONS), SMALL, SETUP).notes == ()


def test_no_two_repeats_draw_alike():
    draws = [Draw(seed, repeat) for seed in (1, 2) for repeat in (0, 1)]
    seeds = [seed for draw in draws for seed in (draw.subscriptions_seed, draw.events_seed)]
    assert len(set(seeds)) == len(seeds)
    assert len({draw.key().secret for draw in draws}) == len(draws)


def test_there_is_no_other_figure():
    with pytest.raises(CaddisError, match="there is no figure '2a'; there is: tests"):
        figures_named(("tests", "2a"), CONDITIONS)


def test_figures_are_drawn_and_written(values, tmp_path):
    some = figures_named(("rates", "same-size"), CONDITIONS)
    paths = draw(some, values, tmp_path, SHEETS, dpi=40)
    assert [path.name for path in paths] == ["rates.png", "same-size.png", "sizes.png"]
    file = io.StringIO()
    write_figures(file, FIGURES, values)
    written = {line.partition(",")[0] for line in file.getvalue().splitlines()[1:]}
    assert written == {figure.name for figure in FIGURES}
