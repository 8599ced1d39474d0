"""`caddis keys show` and what all verbs print for a machine."""

import json

import pytest


def test_a_file_of_another_authority_is_not_shown_where_one_is_named(homes, caddis):
    homes("issue")
    homes("directory")
    mine = json.loads(homes("show", "--json"))["fingerprint"]
    for file in ("ann.keys.json", "directory.json"):
        assert mine in homes("show", file, "--trust", mine)
        result = caddis("keys", "show", file, "--trust", mine[::-1])
        assert f"is signed by {mine}, not by {mine[::-1]}" in result.stderr
    result = caddis("keys", "show", "ann.public.json", "--trust", mine)
    assert "signs bundles and directories, but no public identity" in result.stderr


@pytest.mark.parametrize("verb", [["show"], ["show", "ann.public.json"], ["directory"], ["issue"]])
def test_json_is_one_object(homes, verb):
    assert isinstance(json.loads(homes(*verb, "--json")), dict)
