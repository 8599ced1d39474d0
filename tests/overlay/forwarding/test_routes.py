"""The arrays of the publication routing graph, and their kernels against plain twins."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caddis.arrays import Int32s
from caddis.models import NO, UNASKED, UNKNOWN, YES, Marks
from caddis.ordering.kernels.layout import NONE, PlanArrays
from caddis.overlay.forwarding import routes as kernels
from caddis.overlay.forwarding.routes import ALWAYS, PairIndex, Routes, routes_of
from caddis.overlay.forwarding.sharing_kernels import SPARED, URGENT, Shares, share
from tests.ordering.twins import Problem, drawn_problem
from tests.overlay.forwarding import route_twins as twins

seeds = st.integers(0, 2**32 - 1)


@dataclass(frozen=True)
class Case:
    """A publication routing graph whose concepts have other numbers than its demand's."""

    problem: Problem
    targets: Int32s
    numbers: Int32s
    routes: Routes
    index: PairIndex
    plan: PlanArrays

    @classmethod
    def drawn(cls, rng: np.random.Generator) -> Case:
        problem = drawn_problem(rng, most_clauses=14)
        count = int(rng.integers(1, problem.links + 1))
        targets = rng.integers(0, count, problem.links).astype(np.int32)
        demand = problem.demand().led_to(targets, count)
        concepts = len(problem.selectivity)
        numbers = rng.permutation(concepts).astype(np.int32)
        selectivity, answered_by = np.empty(concepts), np.empty(concepts, np.int32)
        selectivity[numbers], answered_by[numbers] = problem.selectivity, problem.answered_by
        chances = np.stack([selectivity, 1 - selectivity], axis=1).ravel()
        plan = PlanArrays(problem.costs, chances, answered_by)
        return cls(problem, targets, numbers, *routes_of(demand, numbers), plan)

    @property
    def links(self) -> int:
        return len(self.routes.slots)

    def renumbered(self, literals: frozenset[int]) -> frozenset[int]:
        return frozenset(2 * int(self.numbers[one >> 1]) + (one & 1) for one in literals)


def drawn_marks(rng: np.random.Generator, case: Case, unasked: float) -> Marks:
    """By model: all of its answers, or none."""
    models = rng.random(len(case.plan.costs)) >= unasked
    marks = rng.choice([YES, NO, UNKNOWN], len(case.numbers), p=[0.5, 0.4, 0.1]).astype(np.uint8)
    return np.where(models[case.plan.answered_by], marks, UNASKED).astype(np.uint8)


def drawn_candidates(rng: np.random.Generator, case: Case) -> Int32s:
    return np.flatnonzero(rng.random(len(case.routes.needs)) < 0.85).astype(np.int32)


def settled(case: Case, candidates: Int32s, known: Marks) -> tuple[Int32s, int, set[int]]:
    pairs, states = candidates.copy(), np.zeros(case.links, np.uint8)
    count = kernels.settle(pairs, len(pairs), case.routes, known, states)
    return pairs, count, twins.numbers_of(states == kernels.REACHED)


@given(seed=seeds)
def test_a_pair_is_a_clause_and_a_link_and_those_of_a_link_lie_together(seed):
    case = Case.drawn(np.random.default_rng(seed))
    expected = [
        (case.renumbered(literals), int(case.targets[link]))
        for literals, links in case.problem.clauses
        for link in links
    ]
    assert Counter(twins.pairs_of(case.routes)) == Counter(expected)
    counts = Counter(target for _, target in expected)
    for link in range(case.links):
        begin, end = case.routes.target_starts[link : link + 2]
        assert set(case.routes.targets[begin:end].tolist()) <= {link}
        assert end - begin == counts[link]
        assert (case.routes.slots[link] == ALWAYS) == (counts[link] < 2)
    several = sorted(slot for slot in case.routes.slots.tolist() if slot != ALWAYS)
    assert several == list(range(len(several)))


@given(seed=seeds)
def test_the_pairs_of_each_clause_are_found(seed):
    case = Case.drawn(np.random.default_rng(seed))
    pairs = twins.pairs_of(case.routes)
    for clause, (literals, links) in enumerate(case.problem.clauses):
        begin, end = case.index.starts[clause : clause + 2]
        found = [pairs[at] for at in case.index.pairs[begin:end].tolist()]
        targets = Counter(int(case.targets[link]) for link in links)
        assert Counter(found) == Counter(
            {(case.renumbered(literals), one): times for one, times in targets.items()}
        )


@given(seed=seeds)
def test_settling_keeps_what_is_open_and_reaches_what_holds(seed):
    rng = np.random.default_rng(seed)
    case = Case.drawn(rng)
    known, candidates = drawn_marks(rng, case, 0.5), drawn_candidates(rng, case)
    kept, count, reached = settled(case, candidates, known)
    still, links = twins.settled(
        twins.pairs_of(case.routes),
        candidates.tolist(),
        twins.known_of(known),
        set(range(case.links)),
    )
    assert kept[:count].tolist() == still
    assert reached == links


@pytest.mark.parametrize("extended", [False, True])
@given(seed=seeds)
def test_gains_are_the_edges_that_answers_are_expected_to_cover(extended, seed):
    rng = np.random.default_rng(seed)
    case = Case.drawn(rng)
    known = drawn_marks(rng, case, 0.8)
    pairs, count, _ = settled(case, drawn_candidates(rng, case), known)
    kernel = kernels.extended_gains if extended else kernels.unit_gains
    found = kernel(pairs, count, case.routes, known, case.plan)
    expected = twins.gains(
        twins.pairs_of(case.routes),
        pairs[:count].tolist(),
        twins.known_of(known),
        twins.Prices.of(case.plan),
        extended,
    )
    assert {m: gain for m, gain in enumerate(found.tolist()) if gain} == pytest.approx(expected)
    chosen = kernels.next_model(pairs, count, case.routes, known, case.plan, extended)
    if not expected:
        assert chosen == NONE
        return
    prices = {model: case.plan.costs[model] / gain for model, gain in expected.items()}
    assert prices[chosen] == pytest.approx(min(prices.values()))


@given(seed=seeds)
def test_flooding_reaches_the_first_links_where_something_may_still_hold(seed):
    rng = np.random.default_rng(seed)
    case = Case.drawn(rng)
    known, candidates = drawn_marks(rng, case, 0.5), drawn_candidates(rng, case)
    among = int(rng.integers(case.links + 1))
    states = np.zeros(case.links, np.uint8)
    kernels.reach_candidates(candidates, case.routes, known, states, among)
    pairs = twins.pairs_of(case.routes)
    assert twins.numbers_of(states == kernels.REACHED) == {
        pairs[i][1]
        for i in candidates.tolist()
        if pairs[i][1] < among and twins.left_of(pairs[i][0], twins.known_of(known)) is not None
    }


# -- sharing


def drawn_shares(
    rng: np.random.Generator, case: Case, candidates: Int32s, neighbours: int
) -> tuple[Shares, twins.PlainShares]:
    """A visit that has just begun."""
    models = len(case.plan.costs)
    begins = case.routes.target_starts[: neighbours + 1]
    starts = np.searchsorted(candidates, begins).astype(np.int32)
    charge = rng.random(models) < 0.7
    arrays = Shares(
        candidates[: starts[-1]].copy(),
        starts,
        np.diff(starts),
        np.zeros(neighbours, bool),
        np.zeros((neighbours, models), np.int32),
        np.zeros((neighbours, models), bool),
        charge,
    )
    rest = {n: candidates[starts[n] : starts[n + 1]].tolist() for n in range(neighbours)}
    return arrays, twins.PlainShares(rest, twins.numbers_of(charge))


@given(seed=seeds)
def test_models_are_shared_out_as_the_plain_twin_does(seed):
    """Answer by answer, until everything is known."""
    rng = np.random.default_rng(seed)
    case = Case.drawn(rng)
    pairs, prices = twins.pairs_of(case.routes), twins.Prices.of(case.plan)
    candidates = drawn_candidates(rng, case)
    neighbours = int(rng.integers(case.links + 1))
    arrays, plain = drawn_shares(rng, case, candidates, neighbours)
    keep, has_source = float(rng.choice([0, 0.3, 1])), bool(rng.random() < 0.5)
    states, known = np.zeros(case.links, np.uint8), np.full(len(case.numbers), UNASKED, np.uint8)
    open_pairs, count = candidates.copy(), len(candidates)
    truth = drawn_marks(rng, case, 0)
    for model in [NONE, *rng.permutation(len(case.plan.costs)).tolist()]:
        learnt = np.flatnonzero(case.plan.answered_by == model).astype(np.int32)
        before = twins.known_of(known)
        known[learnt] = truth[learnt]
        waiting_links = twins.numbers_of(states == kernels.WAITING)
        numbers = open_pairs[:count].tolist()
        running = int(rng.integers(-1, len(case.plan.costs)))
        twin = twins.shared(
            pairs,
            numbers,
            before,
            {int(c): int(truth[c]) for c in learnt},
            waiting_links,
            prices,
            plain,
            running,
            keep,
            neighbours if has_source else None,
        )
        count, chosen, reached, moves, urgency, wants = share(
            open_pairs,
            count,
            case.routes,
            known,
            states,
            case.plan,
            arrays,
            learnt,
            running,
            keep,
            has_source,
        )
        assert open_pairs[:count].tolist() == twin.open
        assert twins.numbers_of(states == kernels.REACHED) == twin.reached
        assert reached == bool(twin.reached)
        assert dict(moves.tolist()) == twin.gives
        assert twins.numbers_of(arrays.charge) == plain.charge
        assert twins.numbers_of(arrays.heirs) == plain.heirs
        assert twins.numbers_of(urgency == URGENT) == twin.urgent
        assert {(h, int(learnt[i])) for h, i in np.argwhere(wants).tolist()} == twin.wants
        assert twins.numbers_of(urgency != SPARED) == {heir for heir, _ in twin.wants}
        for heir in plain.heirs:
            still = twins.models_needed(pairs, plain.rest[heir], twins.known_of(known), prices)
            assert arrays.waiting[heir].tolist() == [still[m] for m in range(len(prices.costs))]
        assert (chosen == NONE) == (not twin.prices)
        if twin.prices:
            assert twin.prices[chosen] == pytest.approx(min(twin.prices.values()))
        states[states == kernels.REACHED] = kernels.SERVED
        if plain.heirs and rng.random() < 0.5:
            heir, refused = (
                int(rng.choice(sorted(plain.heirs))),
                int(rng.integers(len(prices.costs))),
            )
            arrays.refused[heir, refused] = True
            plain.refused.add((heir, refused))
            arrays.charge[refused] = True
            plain.charge.add(refused)
