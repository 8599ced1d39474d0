"""A small marketplace in files, and the command as a user would call it."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from tests.cli.commands import call

OFFERS = [
    {"event_id": 1, "city": "Galway", "price": 150},
    {"event_id": 2, "city": "Cork", "price": 90},
]
SUBSCRIPTIONS = [
    {"subscription_id": "ann", "where": "city = 'Galway' AND price < 200"},
    {"subscription_id": "bo", "where": "price >= 90"},
]


@pytest.fixture
def caddis() -> Callable[..., Result]:
    return call


@pytest.fixture
def market(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with offers.jsonl and subscriptions.jsonl in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "offers.jsonl").write_text("\n".join(map(json.dumps, OFFERS)))
    (tmp_path / "subscriptions.jsonl").write_text("\n".join(map(json.dumps, SUBSCRIPTIONS)))
    return tmp_path
