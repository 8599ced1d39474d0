"""Who can read and publish what, from epoch to epoch; and that keys reach nobody else."""

import copy
import json
import pickle
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caddis.errors import AccessError, KeyFileError, NotEntitled, SealedError
from caddis.sealed.keys.authority import Authority
from caddis.sealed.keys.directory import Directory, Span, covers, ended, is_open, opened
from caddis.sealed.keys.identities import Identity, PublicIdentity
from caddis.sealed.keys.rings import Bundle, KeyRing, Package, Purpose, wrapped
from caddis.sealed.keys.secrets import ContentKey, MatchingKey
from tests.sealed.parties import Chance, World, design, world


def ring(made: World, name: str) -> KeyRing:
    bundle = Bundle.from_json(json.loads(json.dumps(made.authority.issue(name).as_json())))
    return KeyRing.open(made.identities[name], bundle, made.authority.fingerprint)


@pytest.fixture
def homes() -> World:
    made = world()
    made.grant("pat", "publisher")
    made.grant("ann", "subscriber")
    return made


def test_a_ring_has_the_keys_that_follow_from_the_stream_s_secret(homes):
    secret = homes.authority.streams["homes"].secret
    content = ContentKey.of(secret, "homes", 1)
    keys = ring(homes, "ann").subscriber_keys("homes")
    assert keys.name == "ann"
    assert keys.design == design()
    assert keys.matching == MatchingKey.of(secret, "homes", 1)
    assert keys.content == content
    theirs = ring(homes, "pat").publisher_keys("homes")
    assert theirs.matching == keys.matching
    assert theirs.sealing == content.sealing_key("pat")
    assert theirs.signing is homes.identities["pat"].signing


def test_publishers_get_no_key_that_opens_what_others_sealed(homes):
    content = homes.authority.streams["homes"].material(1, "subscriber", "ann").content
    assert ring(homes, "pat").publisher_keys("homes").sealing.secret != content
    with pytest.raises(NotEntitled, match="'pat' has no keys to read 'homes'"):
        ring(homes, "pat").subscriber_keys("homes")


def test_a_party_may_be_both(homes):
    homes.grant("ann", "publisher")
    both = ring(homes, "ann")
    assert both.publisher_keys("homes").sealing.publisher == "ann"
    assert both.subscriber_keys("homes").content.epoch == 1
    assert both.streams == ("homes",)


def test_a_ring_for_reading_has_the_keys_of_one_stream_and_signs_nothing(homes):
    ann = ring(homes, "ann")
    reader = pickle.loads(pickle.dumps(ann.for_reading("homes")))
    assert reader.subscriber_keys("homes") == ann.subscriber_keys("homes")
    assert (reader.name, reader.streams) == ("ann", ("homes",))
    homes.grant("ann", "publisher")
    both = ring(homes, "ann").for_reading("homes")
    with pytest.raises(NotEntitled, match="'ann' has no keys to publish 'homes'"):
        both.publisher_keys("homes")
    with pytest.raises(NotEntitled, match="'ann' has no keys to read 'boats'"):
        ann.for_reading("boats")


def test_a_revoked_subscriber_has_no_key_of_later_epochs_and_keeps_those_it_had(homes):
    homes.rotate()
    homes.revoke("ann")
    assert homes.authority.streams["homes"].epoch == 3
    homes.rotate()
    left = ring(homes, "ann")
    assert left.epochs("homes") == (1, 2)
    for epoch in (3, 4):
        with pytest.raises(NotEntitled, match=rf"in epoch {epoch}; it has those of epochs 1–2"):
            left.subscriber_keys("homes", epoch)


def test_old_epochs_are_read_by_those_who_were_entitled_then_alone(homes):
    homes.rotate(times=2)
    homes.grant("bo", "subscriber")
    homes.rotate()
    assert ring(homes, "ann").epochs("homes") == (1, 2, 3, 4)
    assert ring(homes, "bo").epochs("homes") == (3, 4)
    with pytest.raises(NotEntitled, match="'bo' has no key to read 'homes' in epoch 2"):
        ring(homes, "bo").subscriber_keys("homes", 2)


def test_a_subscriber_can_be_let_read_what_was_before(homes):
    homes.rotate(times=2)
    homes.grant("bo", "subscriber", since=2)
    assert ring(homes, "bo").epochs("homes") == (2, 3)


def test_who_is_granted_again_does_not_read_what_lay_between(homes):
    homes.revoke("ann")
    homes.rotate()
    homes.grant("ann", "subscriber")
    homes.rotate()
    assert ring(homes, "ann").epochs("homes") == (1, 3, 4)


def test_a_revocation_concerns_its_stream_and_role_alone():
    made = world(streams=("homes", "boats"))
    for stream in ("homes", "boats"):
        made.grant("ann", "subscriber", stream)
        made.grant("ann", "publisher", stream)
    made.revoke("ann", "homes", role="subscriber")
    assert {name: stream.epoch for name, stream in made.authority.streams.items()} == {
        "homes": 2,
        "boats": 1,
    }
    directory = made.authority.directory()
    assert directory.may_publish("ann", "homes")
    assert ring(made, "ann").epochs("homes", "publisher") == (1, 2)
    assert ring(made, "ann").epochs("homes", "subscriber") == (1,)
    made.revoke("ann", None)
    assert [stream.epoch for stream in made.authority.streams.values()] == [2, 2]
    assert not made.authority.directory().may_publish("ann", "homes")


def test_revoking_a_publisher_is_seen_at_once_and_rotates_nothing(homes):
    homes.rotate()
    homes.revoke("pat")
    directory = homes.authority.directory()
    assert directory.streams["homes"].epoch == 2
    assert not directory.may_publish("pat", "homes")
    assert directory.grants("pat", "homes") == (Span(1, 2),)


def test_who_is_distrusted_is_revoked_at_once_and_gets_nothing_any_more(homes):
    homes.grant("pat", "subscriber")
    homes.authority = homes.authority.distrust("pat")
    directory = homes.authority.directory()
    assert directory.publishers["pat"].compromised
    assert not directory.may_publish("pat", "homes")
    assert list(directory.streams["homes"].accepted) == [2]
    assert homes.authority.distrust("pat") is homes.authority
    for change in (
        lambda: homes.authority.grant("pat", "homes", "publisher"),
        lambda: homes.authority.issue("pat"),
    ):
        with pytest.raises(AccessError, match="others have the keys of 'pat', too"):
            change()
    homes.rotate()
    assert homes.authority.compromised == {"pat"}


def test_who_was_revoked_before_can_be_distrusted_later(homes):
    homes.revoke("pat")
    before = homes.authority
    homes.authority = before.distrust("pat")
    assert homes.authority.version > before.version
    assert homes.authority.directory().publishers["pat"].compromised


@pytest.mark.parametrize(("overlap", "accepted"), [(0, [4]), (1, [3, 4]), (9, [1, 2, 3, 4])])
def test_as_many_epochs_are_accepted_as_overlap(overlap, accepted):
    authority = Authority.new(Chance()).add_stream(design(), Chance(), overlap=overlap)
    for _ in range(3):
        authority = authority.rotate("homes")
    assert list(authority.directory().streams["homes"].accepted) == accepted


def test_at_once_ends_what_came_before_for_good():
    authority = Authority.new(Chance()).add_stream(design(), Chance(), overlap=5)
    authority = authority.rotate("homes").rotate("homes", at_once=True)
    assert list(authority.directory().streams["homes"].accepted) == [3]
    assert list(authority.rotate("homes").directory().streams["homes"].accepted) == [3, 4]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a: a.grant("zoe", "homes", "publisher"), "'zoe' is not registered; registered are"),
        (lambda a: a.grant("ann", "boats", "publisher"), "no stream 'boats'; streams are: 'homes'"),
        (lambda a: a.grant("ann", "homes", "reader"), "a role is publisher or subscriber"),
        (lambda a: a.grant("bo", "homes", "subscriber", since=2), "is in epoch 1"),
        (lambda a: a.grant("bo", "homes", "subscriber", since=0), "is in epoch 1"),
        (lambda a: a.revoke("bo", "homes"), "'bo' is no publisher or subscriber of 'homes'"),
        (lambda a: a.revoke("ann", "homes", "publisher"), "'ann' is no publisher of 'homes'"),
        (lambda a: a.revoke("bo"), "'bo' is no publisher or subscriber of any stream"),
        (lambda a: a.revoke("zoe"), "'zoe' is not registered"),
        (lambda a: a.rotate("boats"), "there is no stream 'boats'"),
        (lambda a: a.issue("zoe"), "'zoe' is not registered"),
        (lambda a: a.add_stream(design(), Chance()), "'homes' exists already"),
        (
            lambda a: a.add_stream(design("b"), Chance(), overlap=-1),
            "is 0 or more, not -1",
        ),
        (lambda a: a.register(Identity.new("ann", Chance(9)).public), "with other keys"),
        (
            lambda a: a.rotate("homes").grant("bo", "homes", "publisher", since=1),
            "from epoch 2 on, not since epoch 1",
        ),
    ],
)
def test_what_cannot_be_is_said_in_one_sentence(homes, change, message):
    with pytest.raises(AccessError, match=message):
        change(homes.authority)


def test_a_design_whose_columns_are_not_there_is_no_stream(homes):
    with pytest.raises(SealedError, match="no string column is named price"):
        homes.authority.add_stream(replace(design("b"), ordered_texts=("price",)), Chance())
    with pytest.raises(SealedError, match="no column of these events can be tested"):
        replace(design("b"), schema=pa.schema([("photo", pa.binary())]))


def test_what_is_so_already_changes_nothing(homes):
    authority = homes.authority
    assert authority.register(homes.identities["ann"].public) is authority
    assert authority.grant("ann", "homes", "subscriber") is authority


def test_every_change_gives_a_greater_version(homes):
    versions = [homes.authority.directory().version]
    for change in (homes.rotate, lambda: homes.revoke("pat"), lambda: homes.revoke("ann")):
        change()
        versions.append(homes.authority.directory().version)
    assert versions == sorted(set(versions))


def test_a_bundle_for_one_is_not_opened_by_another(homes):
    homes.grant("bo", "subscriber")
    bundle = homes.authority.issue("ann")
    with pytest.raises(AccessError, match="for 'ann', not for 'bo'"):
        KeyRing.open(homes.identities["bo"], bundle)
    pretender = replace(homes.identities["bo"], name="ann")
    with pytest.raises(AccessError, match="does not open with the keys of 'ann'"):
        KeyRing.open(pretender, bundle)
    renamed = replace(
        bundle,
        recipient="bo",
        packages=tuple(
            replace(one, purpose=replace(one.purpose, recipient="bo")) for one in bundle.packages
        ),
    )
    with pytest.raises(AccessError, match="does not open"):
        KeyRing.open(homes.identities["bo"], renamed)


@pytest.mark.parametrize("field", ["stream", "epoch", "role"])
def test_a_package_does_not_pass_for_another(homes, field):
    bundle = homes.authority.issue("ann")
    other: dict[str, Any] = {"stream": "boats", "epoch": 2, "role": "publisher"}
    (package,) = bundle.packages
    purpose = replace(package.purpose, **{field: other[field]})
    forged = replace(bundle, packages=(replace(package, purpose=purpose),))
    with pytest.raises(AccessError, match="does not open"):
        KeyRing.open(homes.identities["ann"], forged)


@pytest.mark.parametrize(
    "material", [b"", b"[[", b"[" * 99_999, b"{}", b'{"design": {}}', b"\xff", b"other design"]
)
def test_what_a_stranger_signed_and_wrapped_is_refused_if_it_is_no_key(homes, material):
    if material == b"other design":
        material = homes.authority.streams["homes"].material(1, "subscriber", "ann").as_bytes()
    ann, stranger = homes.identities["ann"], Authority.new(Chance(8))
    purpose = Purpose("boats", 1, "subscriber", "ann")
    package = Package(purpose, wrapped(material, ann.public.receiving, purpose))
    bundle = Bundle.signed("ann", 1, (package,), stranger.signing)
    with pytest.raises(SealedError):
        KeyRing.open(ann, bundle)


def leaves(plain: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all texts and numbers in JSON."""
    if isinstance(plain, dict):
        return [leaf for key, one in plain.items() for leaf in leaves(one, (*path, key))]
    if isinstance(plain, list):
        return [leaf for place, one in enumerate(plain) for leaf in leaves(one, (*path, place))]
    return [path]


def tampered(plain: Any, path: tuple[Any, ...]) -> Any:
    changed = copy.deepcopy(plain)
    inner = changed
    for key in path[:-1]:
        inner = inner[key]
    was = inner[path[-1]]
    inner[path[-1]] = 1 if was is None else was + 1 if isinstance(was, int) else "A" + was[1:]
    if inner[path[-1]] == was:
        inner[path[-1]] = "B" + was[1:]
    return changed


@pytest.mark.parametrize("made", ["issue", "directory"])
def test_nothing_in_a_bundle_or_directory_can_be_changed(homes, made):
    authority = homes.authority
    signed = authority.issue("ann") if made == "issue" else authority.directory()
    plain = signed.as_json()
    assert type(signed).from_json(json.loads(json.dumps(plain))) == signed
    paths = leaves(plain)
    assert len(paths) > 8
    for path in paths:
        with pytest.raises(KeyFileError):
            type(signed).from_json(tampered(plain, path))


def test_a_directory_that_was_made_up_in_memory_does_not_verify(homes):
    directory = homes.authority.directory()
    directory.verify(homes.authority.fingerprint)
    with pytest.raises(KeyFileError, match="does not fit"):
        replace(directory, version=99).verify()


def test_another_authority_is_not_believed_where_one_is_pinned(homes):
    other = Authority.new(Chance(5)).register(homes.identities["ann"].public)
    other = other.add_stream(design(), Chance(6)).grant("ann", "homes", "subscriber")
    for made in (Directory, Bundle):
        plain = (other.directory() if made is Directory else other.issue("ann")).as_json()
        with pytest.raises(
            KeyFileError, match=rf"signed by .*, not by {homes.authority.fingerprint}"
        ):
            made.from_json(plain, homes.authority.fingerprint)
    with pytest.raises(KeyFileError, match="not by"):
        KeyRing.open(homes.identities["ann"], other.issue("ann"), homes.authority.fingerprint)


def test_a_fingerprint_may_be_written_in_any_way_but_not_cut_short(homes):
    plain = homes.authority.directory().as_json()
    mark = homes.authority.fingerprint
    for written in (mark, mark.upper(), mark.replace("-", ""), mark.replace("-", " ")):
        assert Directory.from_json(plain, written).fingerprint == mark
    for written in ("", mark[:4], mark[:-1], mark + "0", mark.replace(mark[0], "g", 1)):
        with pytest.raises(KeyFileError, match="is no fingerprint: it has 24 digits"):
            Directory.from_json(plain, written)


@pytest.mark.parametrize("depth", [200, 900, 990, 5000])
def test_a_deep_document_is_refused_as_others_are(homes, depth):
    deep: Any = 1
    for _ in range(depth):
        deep = [deep]
    plain = homes.authority.directory().as_json()
    with pytest.raises(KeyFileError, match="does not fit"):
        Directory.from_json({**plain, "content": {"a": deep}})


def test_what_a_file_says_that_it_is_is_not_repeated():
    with pytest.raises(KeyFileError, match=r"this is no directory$"):
        Directory.from_json({"caddis": "a secret in the wrong place"})


def test_a_directory_names_neither_subscribers_nor_columns(homes):
    text = json.dumps(homes.authority.directory().as_json())
    assert "ann" not in text
    assert not any(column in text for column in ("city", "price"))


def test_public_identities_come_back_and_damage_is_noticed(homes):
    public = homes.identities["ann"].public
    plain = public.as_json()
    assert PublicIdentity.from_json(json.loads(json.dumps(plain))) == public
    for path in leaves(plain):
        with pytest.raises(KeyFileError):
            PublicIdentity.from_json(tampered(plain, path))


@pytest.mark.parametrize(
    "name", ["", " ann", "a/b", "-ann", ".ann", "a\nb", "x" * 201, "ß" * 101, "a\ud800"]
)
def test_a_party_s_name_can_be_shown_and_be_a_file_s_name(name):
    with pytest.raises(KeyFileError, match="is no name of a party"):
        Identity.new(name, Chance())


@pytest.mark.parametrize(
    "plain", [None, 7, [], {}, {"caddis": 1}, {"caddis": "bundle"}, {"caddis": "directory"}]
)
@pytest.mark.parametrize("made", [Directory, Bundle, Identity, PublicIdentity])
def test_what_is_no_document_is_refused(plain, made):
    with pytest.raises(KeyFileError):
        made.from_json(plain)


CHANGES = st.lists(st.sampled_from(["grant", "revoke", "rotate"]), max_size=12)


@given(CHANGES)
def test_spans_say_what_a_set_of_epochs_says(changes):
    """Against a plain set: in each epoch that ends while somebody is granted it was entitled."""
    spans: tuple[Span, ...] = ()
    entitled, granted, now = set[int](), False, 1
    for change in changes:
        if change == "grant":
            spans, granted = opened(spans, now), True
        elif change == "revoke" and granted:
            spans, granted, now = ended(spans, now), False, now + 1
        else:
            now += 1
        if granted:
            entitled.add(now)
        assert is_open(spans) == granted
        assert {epoch for epoch in range(now + 1) if covers(spans, epoch)} == entitled
    listed = [epoch for span in spans for epoch in span.epochs(now)]
    assert listed == sorted(entitled)
