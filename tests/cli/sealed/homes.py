"""Homes on offer, what ann asks for, and what she must receive."""

import io
import json
from pathlib import Path
from typing import Any

from rich.console import Console
from typer.testing import Result

from caddis.cli.sealed.matching import SealedMatchSummary
from caddis.cli.shell import Result as Summary

SCHEMA = "city STRING, price INT, tags ARRAY<STRING>"
OFFERS = """\
{"event_id": 1, "city": "Galway", "price": 150, "tags": ["sea"]}
{"event_id": 2, "city": "Cork", "price": 90, "tags": []}
{"event_id": 3, "city": "Galway", "price": null, "tags": ["sea", "new"]}
"""
SUBSCRIPTIONS = """\
subscription_id,where
1,city = 'Galway' AND price < 200
2,"array_contains(tags, 'new') OR city LIKE '%rk'"
3,price IS NULL AND city = 'Cork'
"""
WANTED = {(1, 1), (2, 2), (3, 2)}
"""Pairs of event_id and subscription_id."""

SEAL = ("events", "offers.jsonl", "--as", "pat")
SUBSCRIBE = ("subscriptions", "subscriptions.csv", "--as", "ann")
OPEN = ("open", "sealed.parquet", "--subscriptions", "subscriptions.csv", "--as", "ann")
MATCH = ("match", "sealed.parquet", "--subscriptions", "subscriptions.csv")

REFUSED = {"TamperedEvent": 1, "WrongEpoch": 3}
MATCHED = SealedMatchSummary(
    "66-6", 104, REFUSED, 51, 1, 30, 900, 100, 150, Path("x"), "parquet", 2.0, 3.0
)
"""How a broker ended: 100 of 104 events were admitted, and 50 of 51 subscriptions used."""


def summary_of(result: Result) -> dict[str, Any]:
    """What a verb printed with --json."""
    assert result.exit_code == 0, result.output
    summary: dict[str, Any] = json.loads(result.stdout)
    return summary


def shown(summary: Summary) -> str:
    """What a summary shows in 80 columns."""
    screen = io.StringIO()
    summary.show(Console(file=screen, width=80))
    return screen.getvalue()
