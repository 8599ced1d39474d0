"""What a matcher without a key finds: all that plain matching would, by the definition of sealed
matching and no more; and what it refuses.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from caddis import Matcher
from caddis.errors import (
    EventError,
    InvalidSubscriptions,
    ReplayedEvent,
    SubscriptionTableError,
    TamperedEvent,
    TruncatedEvent,
    UnknownPublisher,
)
from caddis.sealed.clauses.sealing import SubscriptionSealer
from caddis.sealed.clauses.subscriptions import as_text, pack, unpack_all
from caddis.sealed.design import SCHEMES, Scheme
from caddis.sealed.events.gate import Gate
from caddis.sealed.events.sealing import EventSealer
from caddis.sealed.keys.rings import KeyRing
from caddis.sealed.matcher.groups import Sifting
from caddis.sealed.matcher.matcher import SealedMatcher
from caddis.sealed.matcher.search import SealedMatches, joined
from tests.runs import seeds
from tests.sealed.homes import (
    EVENTS,
    SCHEMA,
    WHERES,
    changed,
    homes,
    pairs,
    plainly,
    sealed_events,
    sealed_wheres,
)
from tests.sealed.parties import world
from tests.sealed.plain_matching import plain_pairs
from tests.sealed.sealed_workloads import RandomStreams, subscriptions

SIFTINGS: tuple[Sifting, ...] = ("rarest-bit", "paper", None)


# ------------------------------------------------------------------- what plain matching finds


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("seed", seeds(4, 12))
def test_nothing_is_missed_that_plain_matching_finds(scheme: Scheme, seed: int):
    streams = RandomStreams.of(seed, [scheme], clauses=60, rows=25)
    [batch], table = streams.batches, streams.subscriptions
    sealed = streams.parties.subscription_sealer(scheme).seal(table, on_invalid="skip")
    usable = table.take(sealed.table["subscription_id"])
    plain = Matcher.compile(usable, streams.schema).match(batch)
    events = streams.sealed(batch, scheme, compressed=bool(seed % 2))
    found = pairs(SealedMatcher.compile(sealed.table).match(events))
    assert set(zip(plain.rows.tolist(), plain.links.tolist(), strict=True)) <= found
    for prefilter in SIFTINGS:
        matcher = SealedMatcher.compile(sealed.table, prefilter=prefilter)
        assert pairs(matcher.match(events)) == found
    assert found == plain_pairs(events, sealed.table)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_equalities_and_ranges_are_found_as_in_plain_matching(scheme: Scheme):
    wheres = [where for where in WHERES if "NULL" not in where and "LIKE" not in where]
    matcher = SealedMatcher.compile(homes(scheme).seal(wheres))
    assert pairs(matcher.match(sealed_events(scheme))) == plainly(wheres)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_price_below_2_does_not_find_2_nor_any_other_whole_number_a_neighbour(scheme: Scheme):
    signs = ("<", "<=", ">", ">=")
    wheres = [f"price {sign} {limit}" for sign in signs for limit in (-1, 0, 2, 2**31 - 2)]
    wheres += ["price > 1 AND price < 4", "price > 2 AND price < 3"]
    numbers = pa.array([*range(-3, 6), 2**31 - 3, 2**31 - 2, 2**31 - 1], pa.int32())
    nulls = [pa.nulls(len(numbers), field.type) for field in (SCHEMA.field(0), SCHEMA.field(2))]
    events = pa.record_batch([nulls[0], numbers, nulls[1]], SCHEMA)
    matcher = SealedMatcher.compile(homes(scheme).seal(wheres))
    assert pairs(matcher.match(homes(scheme).publish(events))) == plainly(wheres, events)


def test_a_sample_changes_what_is_inspected_and_nothing_else():
    table, events = sealed_wheres(), sealed_events()
    with_sample = SealedMatcher.compile(table, sample=events).match(events)
    without = SealedMatcher.compile(table, sample=events.slice(0, 0)).match(events)
    assert pairs(with_sample) == pairs(without)
    assert with_sample.report.tests == without.report.tests


def test_more_rows_than_fit_into_one_slice_are_matched_alike(monkeypatch: pytest.MonkeyPatch):
    table, events = sealed_wheres("aspe"), sealed_events("aspe")
    whole = pairs(SealedMatcher.compile(table).match(events))
    monkeypatch.setattr("caddis.sealed.matcher.search.ROWS_AT_A_TIME", 4)
    monkeypatch.setattr("caddis.sealed.matcher.groups.PAIRS_AT_A_TIME", 5)
    for prefilter in SIFTINGS:
        assert pairs(SealedMatcher.compile(table, prefilter=prefilter).match(events)) == whole


LOOSE = [*["city IS NULL"] * 20, *["city IS NOT NULL"] * 20, "price > 15 OR city IS NULL", *WHERES]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_of_thousands_of_clauses_that_nothing_tests_no_slice_has_all_pairs(
    scheme: Scheme, monkeypatch: pytest.MonkeyPatch
):
    many = pa.concat_batches([EVENTS] * 4)
    table, events = homes(scheme).seal(LOOSE), homes(scheme).publish(many)
    events = changed(events, 9, "filter", b"")
    matcher = SealedMatcher.compile(table)
    whole = matcher.match(events)
    monkeypatch.setattr("caddis.sealed.matcher.search.PAIRS_IN_A_SLICE", 64)
    monkeypatch.setattr("caddis.sealed.matcher.search.FIRST_ROWS", 1)
    slices = list(matcher.match_in_slices(events))
    assert max(len(one.rows) for one in slices) <= 2 * 64
    assert sum(one.report.events for one in slices) == many.num_rows
    assert [one.row for some in slices for one in some.refused] == [9]
    some = [one.rows for one in slices if len(one.rows)]
    assert all(low[-1] < high[0] for low, high in pairwise(some))
    expected = {pair for pair in plain_pairs(events, table) if pair[0] != 9}
    again = matcher.match(events)
    for found in (whole, again, joined(slices, many.num_rows)):
        assert pairs(found) == expected
        assert found.report == whole.report
        assert [(one.row, str(one.error)) for one in found.refused] == [
            (one.row, str(one.error)) for one in whole.refused
        ]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_what_is_true_of_every_event_takes_no_products(scheme: Scheme):
    matcher = SealedMatcher.compile(homes(scheme).seal(["city IS NULL", "TRUE"] * 3))
    matches = matcher.match(sealed_events(scheme))
    assert pairs(matches) == {(row, link) for row in range(len(EVENTS)) for link in range(6)}
    assert (matches.report.tests, matches.report.products) == (6 * len(EVENTS), 0)


def test_only_what_is_of_the_same_stream_and_epoch_is_compared():
    streams = [homes(), homes(stream="boats")]
    mixed = pa.concat_batches([one.publish() for one in streams])
    wheres = [one.seal(["TRUE"])["where"][0].as_py() for one in streams]
    table = pa.table({"subscription_id": [0, 1], "where": pa.array(wheres, pa.binary())})
    found = pairs(SealedMatcher.compile(table).match(mixed))
    assert found == {(row, row // len(EVENTS)) for row in range(2 * len(EVENTS))}
    later = mixed.set_column(2, "epoch", pa.array([2] * mixed.num_rows))
    assert pairs(SealedMatcher.compile(table).match(later)) == set()


def test_it_counts_what_was_inspected_tested_and_multiplied():
    table, events = sealed_wheres("aspe"), sealed_events("aspe")
    clauses = sum(len(block) for block in unpack_all(table["where"])[0])
    all_, ours = (
        SealedMatcher.compile(table, prefilter=prefilter).match(events).report
        for prefilter in (None, "rarest-bit")
    )
    assert all_.inspected == all_.tests == clauses * len(EVENTS)
    assert ours.candidates == ours.tests <= ours.inspected < all_.tests
    assert 0 < ours.products < all_.products
    assert (ours.events, ours.searches) == (len(EVENTS), 0)


def test_candidates_are_matches_as_no_model_is_needed():
    matcher, events = SealedMatcher.compile(sealed_wheres()), sealed_events()
    found, matches = matcher.candidates(events), matcher.match(events)
    assert (found.rows.tolist(), found.clauses.tolist()) == (
        matches.rows.tolist(),
        matches.links.tolist(),
    )
    assert matcher.needs is None
    assert matcher.tests_columns


def test_nobody_asked_or_nothing_came():
    nobody = SealedMatcher.compile(sealed_wheres().slice(0, 0))
    assert pairs(nobody.match(sealed_events())) == set()
    nothing = sealed_events().slice(0, 0)
    assert pairs(SealedMatcher.compile(sealed_wheres()).match(nothing)) == set()
    assert len(nobody) == 0 < SealedMatcher.compile(sealed_wheres()).nbytes


# -------------------------------------------------------------------------------- subscriptions


def test_subscriptions_may_be_texts():
    table = sealed_wheres()
    texts = pa.array([as_text(one) for one in table["where"].to_pylist()])
    events = sealed_events()
    as_texts = SealedMatcher.compile(table.set_column(1, "where", texts))
    assert pairs(as_texts.match(events)) == pairs(SealedMatcher.compile(table).match(events))


def test_bad_subscriptions_are_told_and_the_others_match():
    table = sealed_wheres()
    wheres = table["where"].to_pylist()
    wheres[1], wheres[2] = wheres[1][:-3], None
    broken = table.set_column(1, "where", pa.array(wheres, pa.binary()))
    with pytest.raises(InvalidSubscriptions, match="a part of the sealed subscription is cut off"):
        SealedMatcher.compile(broken)
    matcher = SealedMatcher.compile(broken, on_invalid="skip")
    assert [error.subscription_id for error in matcher.invalid] == [1, 2]
    events = sealed_events()
    whole = pairs(SealedMatcher.compile(table).match(events))
    assert pairs(matcher.match(events)) == {pair for pair in whole if pair[1] not in (1, 2)}


def test_filters_of_absurd_sizes_concern_their_subscription_alone():
    table = sealed_wheres()
    (block,) = unpack_all(table["where"])[0]
    large = replace(block, filters=np.zeros((len(block), 2_000), np.uint64))
    wheres = [*table["where"].to_pylist()[:3], *pack(large, len(WHERES))[3:]]
    matcher = SealedMatcher.compile(
        table.set_column(1, "where", pa.array(wheres, pa.binary())), on_invalid="skip"
    )
    assert {error.subscription_id for error in matcher.invalid} == set(
        large.owner[large.owner >= 3].tolist()
    )
    found = pairs(matcher.match(sealed_events()))
    assert {link for _, link in found} <= {0, 1, 2}


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pa.table({"subscription_id": [1], "where": [1]}), "is BINARY or STRING, not BIGINT"),
        (pa.table({"subscription_id": [1]}), "need a column 'where'"),
        (pa.table({"subscription_id": [1, 1], "where": [b"", b""]}), "occurs more than once"),
    ],
)
def test_a_table_that_is_none_is_refused(table: pa.Table, message: str):
    with pytest.raises(SubscriptionTableError, match=message):
        SealedMatcher.compile(table)


def test_plain_subscriptions_are_told_to_be_plain():
    with pytest.raises(InvalidSubscriptions, match="this subscription is not sealed"):
        SealedMatcher.compile(subscriptions(WHERES))


# --------------------------------------------------------------------------------------- events


@pytest.mark.parametrize(
    ("part", "value", "message"),
    [
        ("filter", b"\x00123", "its filter is not well-formed"),
        ("filter", None, "its filter is not well-formed"),
        ("tokens", b"1234567", "its tokens are not whole numbers"),
        ("tokens", None, "its tokens are not whole numbers"),
        ("tokens", np.array([2, 1], "<u8").tobytes(), "its tokens do not ascend"),
        ("point", b"12345678", "its point has more or fewer coordinates"),
        ("point", None, "its point has more or fewer coordinates"),
        ("point", np.nan, "its point is not made of finite numbers"),
        ("point", 0.0, "its point is shorter or longer than any that is sealed"),
        ("point", 1e-9, "its point is shorter or longer"),
        ("point", 1e6, "its point is shorter or longer"),
        ("point", 1e200, "its point is shorter or longer"),
        ("stream", None, "its stream or epoch is missing"),
        ("epoch", None, "its stream or epoch is missing"),
    ],
)
def test_a_row_that_is_badly_made_is_refused_and_the_rest_goes_on(part, value, message):
    events = sealed_events()
    whole = pairs(SealedMatcher.compile(sealed_wheres()).match(events))
    if isinstance(value, float):
        value = np.full(len(events.column("point")[2].as_py()) // 8, value).tobytes()
    broken = changed(events, 2, part, value)
    matches = SealedMatcher.compile(sealed_wheres()).match(broken)
    assert pairs(matches) == {pair for pair in whole if pair[0] != 2}
    (refused,) = matches.refused
    assert (refused.row, refused.event_id, type(refused.error)) == (2, 2, TruncatedEvent)
    assert message in str(refused.error)


def test_a_batch_without_a_column_is_a_clear_error():
    matcher = SealedMatcher.compile(sealed_wheres())
    with pytest.raises(EventError, match="one column 'stream'; these have city, price, tags"):
        matcher.match(EVENTS)
    events = sealed_events()
    wrong = events.set_column(6, "filter", pa.array(range(len(EVENTS))))
    with pytest.raises(EventError, match="the column 'filter' of sealed events cannot be int64"):
        matcher.match(wrong)


def test_large_columns_are_read_like_small_ones():
    events = sealed_events()
    large = pa.RecordBatch.from_arrays(
        [
            one.cast(pa.large_binary()) if pa.types.is_binary(one.type) else one
            for one in events.columns
        ],
        events.schema.names,
    )
    matcher = SealedMatcher.compile(sealed_wheres())
    assert pairs(matcher.match(large)) == pairs(matcher.match(events))


# ----------------------------------------------------------------------------------------- gate


def everything() -> SealedMatcher:
    """A matcher of one who wants everything."""
    return SealedMatcher.compile(homes().seal(["TRUE"]), publishers=homes().directory)


def kinds(matches: SealedMatches) -> list[tuple[int, type]]:
    return [(one.row, type(one.error)) for one in matches.refused]


def test_only_admitted_events_are_matched():
    events = sealed_events()
    payload = events.column("payload")[1].as_py()
    tampered = changed(events, 1, "payload", payload[:-1] + b"?")
    matches = everything().match(tampered, Gate(homes().directory).admit(tampered))
    assert kinds(matches) == [(1, TamperedEvent)]
    assert pairs(matches) == {(row, 0) for row in (0, 2, 3, 4, 5)}


def test_a_subscription_of_made_up_sizes_takes_no_event_from_others():
    (block,) = unpack_all(homes().seal(["city = 'Cork'"])["where"])[0]
    (made_up,) = pack(replace(block, vectors=np.zeros((0, 1)), vector_starts=np.zeros(2, int)), 1)
    events, wheres = homes().publish(), [made_up, homes().seal(["TRUE"])["where"][0].as_py()]
    for some in (wheres, wheres[:1]):
        table = pa.table({"subscription_id": range(len(some)), "where": pa.array(some)})
        matcher = SealedMatcher.compile(table, publishers=homes().directory, on_invalid="skip")
        matches = matcher.match(events, Gate(homes().directory).admit(events))
        assert [error.subscription_id for error in matcher.invalid] == [0]
        assert pairs(matches) == {(row, 1) for row in range(len(EVENTS)) if len(some) > 1}
        assert matches.refused == ()


def test_a_replay_is_refused_but_an_admitted_batch_may_be_matched_again():
    gate, matcher, events = Gate(homes().directory), everything(), homes().publish()
    admission = gate.admit(events)
    for _ in range(2):
        assert pairs(matcher.match(events, admission)) == {(row, 0) for row in range(len(EVENTS))}
    fresh = homes().publish(EVENTS.slice(0, 1))
    mixed = pa.concat_batches([events.slice(4), fresh])
    again = matcher.match(mixed, gate.admit(mixed))
    assert kinds(again) == [(0, ReplayedEvent), (1, ReplayedEvent)]
    assert pairs(again) == {(2, 0)}


def test_refusals_of_the_gate_and_of_the_matcher_are_told_together_by_row():
    events = homes().publish()
    broken = changed(changed(events, 4, "payload", b""), 1, "filter", b"?")
    admission = Gate(homes().directory).admit(broken)
    found = list(everything().match_in_slices(broken, admission))
    assert [row for one in found for row, _ in kinds(one)] == [1, 4]
    assert {pair for one in found for pair in pairs(one)} == {(row, 0) for row in (0, 2, 3, 5)}


def test_a_question_is_answered_by_the_directory_of_its_moment():
    """A revoked publisher is refused, even if its batch was the last that was asked about."""
    made = world()
    made.grant("pat", "publisher")
    made.grant("ann", "subscriber")
    pat, ann = (
        KeyRing.open(made.identities[name], made.authority.issue(name)) for name in ("pat", "ann")
    )
    sealer = SubscriptionSealer(ann.subscriber_keys("homes"), randomness=made.chance)
    gate = Gate(made.authority.directory())
    matcher = SealedMatcher.compile(sealer.seal(subscriptions(["TRUE"])).table)
    offer = pa.record_batch({"event_id": ["e"], "city": ["Cork"], "price": pa.array([1], "int32")})
    events = EventSealer(pat.publisher_keys("homes"), randomness=made.chance).seal(offer)
    assert len(matcher.match(events, gate.admit(events)).rows) == 1
    gate.update(made.authority.revoke("pat", "homes").directory())
    assert kinds(matcher.match(events, gate.admit(events))) == [(0, UnknownPublisher)]
