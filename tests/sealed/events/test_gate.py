"""Every kind of wrong event is refused with its own error, and the others go on."""

import struct
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caddis import errors
from caddis.errors import AccessError, ReplayedEvent, TamperedEvent, TruncatedEvent
from caddis.sealed.events.gate import Gate
from caddis.sealed.events.replays import NoMemory, ReplayMemory
from caddis.sealed.events.wire import sealed_rows
from tests.sealed.parties import World, batch, sealed, world


@pytest.fixture
def homes() -> World:
    """Pat publishes; the stream is in its third epoch and accepts the second, too."""
    made = world(("pat", "quin", "ann"))
    made.grant("pat", "publisher")
    made.grant("ann", "subscriber")
    made.rotate(times=2)
    return made


def refusals(gate: Gate, *events):
    return [(one.row, type(one.error)) for one in gate.admit(batch(*events)).refused]


def only_error(gate: Gate, event) -> errors.SealedEventError:
    admission = gate.admit(batch(event))
    assert admission.rows.tolist() == []
    return admission.refused[0].error


def test_genuine_events_of_accepted_epochs_are_admitted(homes):
    pat = homes.identities["pat"]
    events = [sealed(pat, 0, epoch=2), sealed(pat, 1, epoch=3), sealed(pat, 2, epoch=3)]
    admission = Gate(homes.authority.directory()).admit(batch(*events))
    assert admission.rows.tolist() == [0, 1, 2]
    assert admission.rows.dtype == np.int32
    assert admission.refused == ()


def test_each_wrong_event_has_its_own_error_and_the_rest_goes_on(homes):
    pat, quin = homes.identities["pat"], homes.identities["quin"]
    fine = sealed(pat, 1, epoch=3)
    events = [
        replace(sealed(pat, 2, epoch=3), payload=b"short"),
        sealed(quin, 3, epoch=3),
        sealed(pat, 4, epoch=1),
        replace(sealed(pat, 5, epoch=3), payload=b"q" * 40),
        fine,
        fine,
        sealed(pat, 6, epoch=3),
    ]
    admission = Gate(homes.authority.directory()).admit(batch(*events))
    assert admission.rows.tolist() == [4, 6]
    assert [(one.row, one.event_id, type(one.error)) for one in admission.refused] == [
        (0, "e2", TruncatedEvent),
        (1, "e3", errors.UnknownPublisher),
        (2, "e4", errors.WrongEpoch),
        (3, "e5", TamperedEvent),
        (5, "e1", ReplayedEvent),
    ]


STREET = world(("pat",))
STREET.grant("pat", "publisher")
POINT = len(sealed(world(("pat",)).identities["pat"]).point)
TRUNCATED = [
    ("filter", b"", "its filter is empty"),
    ("tokens", b"123", "its tokens have 3 bytes"),
    ("point", b"123", "its point is not made of finite numbers"),
    ("point", bytes(POINT - 8), f"its point has {POINT - 8} bytes; those of 'homes' have {POINT}"),
    ("point", bytes(POINT + 8), f"its point has {POINT + 8} bytes; those of 'homes' have {POINT}"),
    ("point", struct.pack("<d", float("nan")) + bytes(POINT - 8), "finite"),
    ("point", struct.pack("<d", float("-inf")) + bytes(POINT - 8), "finite"),
    ("payload", bytes(27), "its payload has 27 bytes; it has 28 at least"),
    ("signature", bytes(63), "its signature has 63 bytes, not 64"),
    ("signature", bytes(65), "its signature has 65 bytes, not 64"),
    ("number", -1, "its number is -1"),
    ("run", -1, "its run is -1"),
    ("epoch", -3, "its epoch is -3"),
]


@pytest.mark.parametrize(("part", "value", "message"), TRUNCATED)
def test_a_part_that_is_too_short_or_too_long_is_refused(homes, part, value, message):
    gate = Gate(homes.authority.directory())
    event = {**sealed(homes.identities["pat"], 4, epoch=3).row(), part: value}
    error = only_error(gate, event)
    assert isinstance(error, TruncatedEvent)
    assert str(error).startswith("event 'e4' of 'pat': ")
    assert message in str(error)


@pytest.mark.parametrize("part", sorted(sealed(world(("pat",)).identities["pat"]).row()))
def test_a_part_that_is_null_is_refused(homes, part):
    gate = Gate(homes.authority.directory())
    fine = sealed(homes.identities["pat"], 5, epoch=3)
    event = {**sealed(homes.identities["pat"], 4, epoch=3).row(), part: None}
    admission = gate.admit(batch(fine, event))
    assert admission.rows.tolist() == [0]
    (refused,) = admission.refused
    assert refused.event_id == (None if part == "event_id" else "e4")
    assert isinstance(refused.error, TruncatedEvent)
    assert f"its {part} is missing" in str(refused.error)


def test_bytes_that_are_no_text_concern_their_row_alone(homes):
    rows = batch(*(sealed(homes.identities["pat"], number, epoch=3) for number in range(2)))
    texts = pa.array([b"pa\xff", b"pat"], pa.binary())
    hostile = pa.Array.from_buffers(pa.string(), 2, texts.buffers())
    place = rows.schema.names.index("publisher")
    admission = Gate(homes.authority.directory()).admit(
        rows.set_column(place, "publisher", hostile)
    )
    assert admission.rows.tolist() == [1]
    assert str(admission.refused[0].error) == "event 'e0': its publisher is no UTF-8 text"


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        (
            {"publisher": "zoe"},
            errors.UnknownPublisher,
            "of 'zoe': this publisher is not",
        ),
        (
            {"publisher": "ann"},
            errors.UnknownPublisher,
            "'ann': this publisher is not registered",
        ),
        ({"stream": "boats"}, errors.UnknownPublisher, "there is no stream 'boats'"),
        ({"epoch": 1}, errors.WrongEpoch, "epoch 1 of 'homes' is over; accepted now: 2–3"),
        ({"epoch": 4}, errors.WrongEpoch, "epoch 4 of 'homes' has not begun; accepted now: 2–3"),
        ({"epoch": 2**62}, errors.WrongEpoch, "has not begun"),
    ],
)
def test_strangers_and_other_times_are_refused(homes, changed, error, message):
    event = sealed(homes.identities["pat"], epoch=3).with_header(**changed)
    refused = only_error(Gate(homes.authority.directory()), event)
    assert type(refused) is error
    assert message in str(refused)


@pytest.mark.parametrize(
    "changed", [{"event_id": "e9"}, {"number": 9}, {"run": 9}, {"epoch": 2}], ids=str
)
def test_a_changed_header_is_noticed(homes, changed):
    event = sealed(homes.identities["pat"], epoch=3).with_header(**changed)
    assert isinstance(only_error(Gate(homes.authority.directory()), event), TamperedEvent)


@pytest.mark.parametrize("part", ["filter", "tokens", "point", "payload", "signature"])
def test_a_changed_part_is_noticed(homes, part):
    event = sealed(homes.identities["pat"], epoch=3)
    was = getattr(event, part)
    changed = {**event.row(), part: was[:-1] + bytes([was[-1] ^ 1]) if was else bytes(8)}
    assert isinstance(only_error(Gate(homes.authority.directory()), changed), TamperedEvent)


def test_a_publisher_cannot_sign_for_another(homes):
    homes.grant("quin", "publisher")
    event = sealed(homes.identities["pat"], epoch=3).signed_by(homes.identities["quin"])
    assert isinstance(only_error(Gate(homes.authority.directory()), event), TamperedEvent)


def test_a_number_is_new_in_another_run_epoch_or_stream(homes):
    homes.authority = homes.authority.add_stream(
        replace(homes.authority.streams["homes"].design, stream="boats"), homes.chance
    )
    homes.grant("pat", "publisher", "boats")
    pat = homes.identities["pat"]
    gate = Gate(homes.authority.directory())
    events = [
        sealed(pat, epoch=3),
        sealed(pat, epoch=3, run=8),
        sealed(pat, epoch=2),
        sealed(pat, stream="boats"),
    ]
    assert refusals(gate, *events) == []
    assert refusals(gate, *events) == [(row, ReplayedEvent) for row in range(4)]


def test_a_refused_event_does_not_use_up_its_number(homes):
    gate = Gate(homes.authority.directory())
    genuine = sealed(homes.identities["pat"], epoch=3)
    assert isinstance(only_error(gate, replace(genuine, payload=b"q" * 40)), TamperedEvent)
    assert refusals(gate, genuine) == []


def test_a_gate_without_memory_admits_again(homes):
    gate = Gate(homes.authority.directory(), memory=NoMemory())
    event = sealed(homes.identities["pat"], epoch=3)
    assert refusals(gate, event, event) == []
    assert refusals(gate, event) == []


def test_a_gate_can_go_on_with_the_memory_of_another(homes):
    memory = ReplayMemory()
    event = sealed(homes.identities["pat"], epoch=3)
    assert refusals(Gate(homes.authority.directory(), memory=memory), event) == []
    gate = Gate(homes.authority.directory(), memory=memory)
    assert refusals(gate, event) == [(0, ReplayedEvent)]


def test_a_publisher_with_more_runs_than_are_remembered_is_refused(homes):
    gate = Gate(homes.authority.directory(), memory=ReplayMemory(most_runs=1))
    pat = homes.identities["pat"]
    assert refusals(gate, sealed(pat, epoch=3)) == []
    assert "rotate 'homes'" in str(only_error(gate, sealed(pat, epoch=3, run=8)))
    assert refusals(gate, sealed(pat, 1, epoch=3)) == []


def test_a_revoked_publisher_is_refused_at_once_even_in_epochs_it_had(homes):
    gate = Gate(homes.authority.directory())
    pat = homes.identities["pat"]
    assert refusals(gate, sealed(pat, 0, epoch=3)) == []
    homes.revoke("pat")
    gate.update(homes.authority.directory())
    error = only_error(gate, sealed(pat, 1, epoch=3))
    assert isinstance(error, errors.UnknownPublisher)
    assert "may not publish in 'homes'; it could in epochs 1–3" in str(error)


@pytest.mark.parametrize("past", [False, True])
def test_nothing_that_a_distrusted_publisher_signed_is_believed_even_by_readers(homes, past):
    """A thief signs as of an epoch in which the publisher was entitled."""
    pat = homes.identities["pat"]
    homes.revoke("pat")
    gate = Gate(homes.authority.directory(), past=past)
    assert len(gate.admit(batch(sealed(pat, 0, epoch=3))).rows) == past
    homes.authority = homes.authority.distrust("pat")
    gate.update(homes.authority.directory())
    error = only_error(gate, sealed(pat, 1, epoch=3))
    assert isinstance(error, errors.UnknownPublisher)
    assert "nothing that was signed with them is believed" in str(error)


def test_a_new_publisher_is_not_accepted_in_the_epoch_before_it_came(homes):
    homes.grant("quin", "publisher")
    gate = Gate(homes.authority.directory())
    quin = homes.identities["quin"]
    assert refusals(gate, sealed(quin, epoch=3), sealed(quin, epoch=2)) == [
        (1, errors.UnknownPublisher)
    ]


def test_a_rotation_ends_the_epoch_before_the_last(homes):
    gate = Gate(homes.authority.directory())
    pat = homes.identities["pat"]
    assert refusals(gate, sealed(pat, 0, epoch=2), sealed(pat, 1, epoch=3)) == []
    homes.rotate()
    gate.update(homes.authority.directory())
    events = [sealed(pat, 2, epoch=2), sealed(pat, 1, epoch=3), sealed(pat, 2, epoch=4)]
    assert refusals(gate, *events) == [(0, errors.WrongEpoch), (1, ReplayedEvent)]


def test_memory_goes_with_its_epoch(homes):
    memory = ReplayMemory()
    gate = Gate(homes.authority.directory(), memory=memory)
    pat = homes.identities["pat"]
    gate.admit(batch(sealed(pat, 0, epoch=2), sealed(pat, 0, epoch=3)))
    assert memory.intervals == 2
    homes.rotate(times=2)
    gate.update(homes.authority.directory())
    assert memory.intervals == 0


def test_a_gate_takes_no_older_directory_nor_another_authority_s(homes):
    old = homes.authority.directory()
    homes.rotate()
    gate = Gate(homes.authority.directory())
    with pytest.raises(AccessError, match="older than the one in use"):
        gate.update(old)
    gate.update(homes.authority.directory())
    with pytest.raises(AccessError, match="another authority"):
        gate.update(world(("zoe",)).authority.new(homes.chance).directory())


def test_a_gate_takes_no_other_directory_of_the_same_version(homes):
    """That happens if the authority's file was replaced by an older copy."""
    gate = Gate(homes.authority.rotate("homes").directory())
    other = homes.authority.grant("quin", "homes", "publisher").directory()
    assert other.version == gate.publishers.version
    with pytest.raises(AccessError, match="two histories"):
        gate.update(other)
    assert not gate.publishers.may_publish("quin", "homes")


def test_a_checked_event_counts_as_seen_when_it_is_remembered(homes):
    gate = Gate(homes.authority.directory())
    [event] = sealed_rows(batch(sealed(homes.identities["pat"], epoch=3)))
    assert gate.checked(event) is gate.checked(event) is event
    gate.remember(gate.checked(event))
    with pytest.raises(ReplayedEvent):
        gate.checked(event)


def test_ids_may_be_whole_numbers(homes):
    pat = homes.identities["pat"]
    gate = Gate(homes.authority.directory())
    events = [sealed(pat, 0, epoch=3, event_id=-5), sealed(pat, 1, epoch=1, event_id=6)]
    admission = gate.admit(batch(*events))
    assert [one.event_id for one in admission.refused] == [6]


def test_large_types_and_further_columns_do_no_harm(homes):
    rows = batch(sealed(homes.identities["pat"], epoch=3))
    large = pa.table(rows).cast(
        pa.schema(
            [
                field.with_type(
                    {pa.string(): pa.large_string(), pa.binary(): pa.large_binary()}.get(
                        field.type, field.type
                    )
                )
                for field in rows.schema
            ]
        )
    )
    more = large.append_column("more", pa.array([1])).to_batches()[0]
    assert Gate(homes.authority.directory()).admit(more).refused == ()


@pytest.mark.parametrize(
    ("spoilt", "message"),
    [
        (lambda rows: rows.drop_columns(["payload"]), "have one column 'payload'"),
        (lambda rows: rows.append_column("stream", rows["stream"]), "have one column 'stream'"),
        (
            lambda rows: rows.set_column(2, "epoch", pa.array([1.0])),
            "'epoch' of sealed events cannot be double",
        ),
    ],
)
def test_what_is_no_batch_of_sealed_events_is_an_error(homes, spoilt, message):
    rows = pa.table(batch(sealed(homes.identities["pat"], epoch=3)))
    with pytest.raises(errors.EventError, match=message):
        Gate(homes.authority.directory()).admit(spoilt(rows).to_batches()[0])


def test_an_empty_batch_is_admitted(homes):
    rows = batch(sealed(homes.identities["pat"], epoch=3)).slice(0, 0)
    assert Gate(homes.authority.directory()).admit(rows).rows.tolist() == []


def test_a_message_does_not_grow_with_what_a_stranger_sends(homes):
    event = sealed(homes.identities["pat"], epoch=3, event_id="x\n" * 10_000)
    error = only_error(Gate(homes.authority.directory()), event.with_header(publisher="y" * 10**6))
    assert len(str(error)) < 400
    assert "\n" not in str(error)


HOSTILE = {
    "event_id": st.none() | st.text(max_size=4),
    **dict.fromkeys(
        ("stream", "publisher"), st.none() | st.sampled_from(["homes", "pat", "", "x"])
    ),
    **dict.fromkeys(("epoch", "run", "number"), st.none() | st.integers(-(2**63), 2**63 - 1)),
    **dict.fromkeys(
        ("filter", "tokens", "point", "payload", "signature"),
        st.none() | st.binary(max_size=80) | st.sampled_from([bytes(64), bytes(POINT)]),
    ),
}


@given(st.lists(st.fixed_dictionaries(HOSTILE), min_size=1, max_size=5), st.data())
def test_whatever_strangers_send_is_refused_row_by_row(rows, data):
    """Between two genuine events, which are admitted; each row may be partly genuine, too."""
    made = STREET
    first, last = (sealed(made.identities["pat"], number) for number in (1, 2))
    genuine = first.row()
    for row in rows:
        kept = data.draw(st.sets(st.sampled_from(sorted(genuine))))
        row.update({name: genuine[name] for name in kept if len(kept) < len(genuine)})
    admission = Gate(made.authority.directory()).admit(batch(first, *rows, last))
    strangers = [row for row, one in enumerate(rows, 1) if one != genuine]
    assert {one.row for one in admission.refused} >= set(strangers)
    assert {0, len(rows) + 1} <= set(admission.rows.tolist())
