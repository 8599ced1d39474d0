import json

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from caddis.models import Tally

counts = st.integers(0, 10**9)
arrays = st.one_of(st.just([]), st.lists(st.integers(0, 10**9), min_size=3, max_size=3)).map(
    lambda some: np.array(some, np.int64)
)
tallies = st.builds(
    Tally, counts, counts, counts, counts, counts, counts.map(float), yes=arrays, known=arrays
)


def test_what_is_saved_is_never_less_than_nothing():
    assert (Tally(needed=5, runs=2).saved, Tally(needed=2, runs=5).saved) == (3, 0)


@given(tallies, tallies, tallies)
def test_tallies_add_up_in_any_order(one, two, three):
    assert (one + (two + three)).to_json() == ((three + one) + two).to_json()
    assert (Tally() + one).to_json() == one.to_json() == (one + Tally()).to_json()
    assert (one + two).needed == one.needed + two.needed


@given(tallies)
def test_a_tally_passes_through_json(tally):
    again = Tally.from_json(json.loads(json.dumps(tally.to_json())))
    assert again.to_json() == tally.to_json()
    assert again.yes.dtype == np.int64


def test_adding_leaves_what_was_added_as_it_was():
    kept = one = Tally(runs=1, yes=np.array([1]), known=np.array([2]))
    one += Tally(runs=1, yes=np.array([1]), known=np.array([2]))
    assert (kept.runs, kept.yes.tolist(), one.runs, one.yes.tolist()) == (1, [1], 2, [2])
