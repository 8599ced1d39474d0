"""A saved SealedMatcher is loaded as it was, or refused with a reason; no secret is saved."""

import json
from pathlib import Path

import pyarrow as pa
import pytest

from caddis import Matcher
from caddis.errors import IndexFolderError, SealedError
from caddis.sealed.design import SCHEMES, Scheme
from caddis.sealed.matcher.groups import Sifting
from caddis.sealed.matcher.matcher import SealedMatcher
from tests.sealed.homes import SCHEMA, homes, pairs, sealed_events, sealed_wheres
from tests.sealed.sealed_workloads import subscriptions


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_loaded_matcher_matches_as_it_did(scheme: Scheme, tmp_path: Path):
    matcher, events = SealedMatcher.compile(sealed_wheres(scheme)), sealed_events(scheme)
    matcher.save(tmp_path / "saved")
    loaded = SealedMatcher.load(tmp_path / "saved")
    assert pairs(loaded.match(events)) == pairs(matcher.match(events)) != set()
    assert loaded.match(events).report == matcher.match(events).report
    assert loaded.subscription_ids.equals(matcher.subscription_ids)
    assert (len(loaded), loaded.nbytes) == (len(matcher), matcher.nbytes)


def test_a_matcher_of_nobody_is_saved_too(tmp_path: Path):
    SealedMatcher.compile(sealed_wheres().slice(0, 0)).save(tmp_path)
    assert pairs(SealedMatcher.load(tmp_path).match(sealed_events())) == set()


def test_there_is_no_secret_in_a_saved_matcher(tmp_path: Path):
    SealedMatcher.compile(sealed_wheres()).save(tmp_path)
    ann, pat = homes().parties.ann.subscriber_keys("homes"), homes().parties.pat
    secrets = [ann.matching.secret, ann.matching.transform_secret, ann.content.secret]
    secrets.append(pat.publisher_keys("homes").sealing.secret)
    saved = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert not [secret for secret in secrets if secret in saved]
    assert b"Galway" not in saved


@pytest.mark.parametrize("prefilter", ["paper", None])
def test_only_our_own_prefilter_is_saved(prefilter: Sifting, tmp_path: Path):
    matcher = SealedMatcher.compile(sealed_wheres(), prefilter=prefilter)
    with pytest.raises(SealedError, match="rarest-bit"):
        matcher.save(tmp_path)


def test_what_is_no_sealed_matcher_is_refused(tmp_path: Path):
    with pytest.raises(IndexFolderError, match="holds no matcher"):
        SealedMatcher.load(tmp_path)
    plain = Matcher.compile(subscriptions(["price = 1"]), SCHEMA)
    plain.save(tmp_path / "plain")
    with pytest.raises(IndexFolderError, match="has format 2, this version reads sealed 1"):
        SealedMatcher.load(tmp_path / "plain")
    SealedMatcher.compile(sealed_wheres()).save(tmp_path / "sealed")
    with pytest.raises(IndexFolderError, match="has format sealed 1, this version reads 2"):
        Matcher.load(tmp_path / "sealed")


@pytest.mark.parametrize("damage", ["group0_vectors.npy", "ids.arrow", "group0_sieve_keys.npy"])
def test_a_damaged_folder_is_refused(damage: str, tmp_path: Path):
    SealedMatcher.compile(sealed_wheres()).save(tmp_path)
    (tmp_path / damage).write_bytes(b"x")
    with pytest.raises(IndexFolderError, match=r"is damaged: .*; compile it again"):
        SealedMatcher.load(tmp_path)


def test_a_group_that_lacks_a_number_is_damage(tmp_path: Path):
    SealedMatcher.compile(sealed_wheres()).save(tmp_path)
    numbers = json.loads((tmp_path / "format.json").read_text())
    del numbers["groups"][0]["bits"]
    (tmp_path / "format.json").write_text(json.dumps(numbers))
    with pytest.raises(IndexFolderError, match="is damaged"):
        SealedMatcher.load(tmp_path)


def test_ids_come_back_in_their_type(tmp_path: Path):
    table = sealed_wheres().set_column(0, "subscription_id", pa.array([f"s{n}" for n in range(9)]))
    SealedMatcher.compile(table).save(tmp_path)
    assert SealedMatcher.load(tmp_path).subscription_ids.type == pa.string()
