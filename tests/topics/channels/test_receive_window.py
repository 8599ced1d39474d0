"""A receiver's window: each event once, in order, or reported as lost."""

from hypothesis import given
from hypothesis import strategies as st

from caddis.topics.channels.messages import Event, Gap, Lost
from caddis.topics.channels.source import ReceiveWindow

CAPACITY = 6
NUMBERS = st.integers(1, 16)
STEPS = st.lists(
    st.tuples(st.sampled_from(["take", "take", "take", "reach", "give_up", "start"]), NUMBERS)
)


class Twin:
    """The same, with sets of all numbers that there ever were."""

    def __init__(self) -> None:
        self.after: int | None = None
        self.held: set[int] = set()
        self.settled: list[int] = []
        self.given: list[int | Lost] = []
        self.known = 0

    @property
    def mark(self) -> int:
        assert self.after is not None
        return self.after + len(self.settled)

    def step(self, what: str, number: int) -> None:
        if what == "start" and self.after is None:
            self.after = number
            self.held = {one for one in self.held if number < one <= number + CAPACITY}
            self.known = max(self.known, number)
        elif what in ("take", "reach"):
            self.known = max(self.known, number)
            near = (
                len(self.held) < CAPACITY if self.after is None else number <= self.mark + CAPACITY
            )
            if what == "take" and near and (self.after is None or number > self.mark):
                self.held.add(number)
        elif what == "give_up" and self.after is not None:
            while self.mark + 1 < number:
                self.settle_one()
            self.known = max(self.known, self.mark)
        while self.after is not None and self.mark + 1 in self.held:
            self.settle_one()

    def settle_one(self) -> None:
        number = self.mark + 1
        came = number in self.held
        self.held.discard(number)
        self.settled.append(number)
        if came:
            self.given.append(number)
        elif self.given and isinstance(self.given[-1], Lost) and self.given[-1].last == number - 1:
            self.given[-1] = self.given[-1]._replace(last=number)
        else:
            self.given.append(Lost("ann", "tea", number, number))

    def missing(self, upto: int) -> set[int]:
        return set() if self.after is None else set(range(self.mark + 1, upto + 1)) - self.held


def numbers_in(gaps: list[Gap]) -> list[int]:
    return [number for gap in gaps for number in range(gap.first, gap.last + 1)]


def joined(outcome: list[Event | Lost]) -> list[int | Lost]:
    """Numbers of events, and losses with neighbours joined: as the twin tells them."""
    reported: list[int | Lost] = []
    for one in outcome:
        if isinstance(one, Event):
            assert one.body == f"body {one.number}"
            reported.append(one.number)
        elif reported and isinstance(reported[-1], Lost) and reported[-1].last == one.first - 1:
            reported[-1] = reported[-1]._replace(last=one.last)
        else:
            reported.append(one)
    return reported


@given(STEPS)
def test_a_window_does_what_its_twin_does(steps):
    window, twin = ReceiveWindow("ann", "tea", CAPACITY), Twin()
    outcome: list[Event | Lost] = []
    for what, number in steps:
        if what == "take" and not window.knows(number):
            outcome += window.take(number, f"body {number}")
        elif what == "reach":
            window.reach(number)
        elif what == "give_up":
            outcome += window.give_up(number)
        elif what == "start" and window.mark is None:
            outcome += window.start(number)
        twin.step(what, number)
        assert joined(outcome) == twin.given
        assert numbers_in(window.gaps(window.highest)) == sorted(twin.missing(twin.known))
        assert window.complete == (twin.after is not None and twin.mark >= twin.known)
        assert len(window._held) <= CAPACITY


def test_no_more_is_held_before_the_acknowledgement_than_after_it():
    window = ReceiveWindow("ann", "tea", CAPACITY)
    for number in range(20, 40):
        assert window.take(number, f"body {number}") == []
    assert len(window._held) == CAPACITY
    assert window.start(16) == []
    assert sorted(window._held) == [20, 21, 22]
    for number in range(30, 16, -1):
        window.take(number, f"body {number}")
        assert len(window._held) <= CAPACITY
    assert window.mark == 22
    assert numbers_in(window.gaps(window.highest)) == list(range(23, 40))


@given(st.permutations(range(1, 9)), st.integers(0, 8), st.integers(0, 8))
def test_in_whatever_order_events_come_they_leave_in_theirs(order, after, start_at):
    window = ReceiveWindow("ann", "tea", capacity=20)
    outcome = []
    for place, number in enumerate(order):
        if place == start_at:
            outcome += window.start(after)
        if not window.knows(number):
            outcome += window.take(number, f"body {number}")
    if start_at == 8:
        outcome += window.start(after)
    assert joined(outcome) == list(range(after + 1, 9))


@given(STEPS, st.integers(1, 20), st.integers(1, 5))
def test_a_question_holds_no_more_than_it_may_and_the_first_first(steps, upto, most):
    window = ReceiveWindow("ann", "tea", CAPACITY)
    window.start(0)
    for what, number in steps:
        if what == "take" and not window.knows(number):
            window.take(number, "")
    assert numbers_in(window.gaps(upto, most)) == numbers_in(window.gaps(upto))[:most]
