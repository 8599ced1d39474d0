"""What somebody between publishers and broker may try: forged copies of sealed events."""

from __future__ import annotations

import pyarrow as pa

ATTACKS = {
    "TamperedEvent": "a copy whose payload was changed",
    "UnknownPublisher": "a copy under another name",
    "TruncatedEvent": "a copy that was cut short",
    "ReplayedEvent": "the same event once more",
}
"""By the error that each is refused with."""

STRANGER = "mallory"


def with_attacks(sealed: pa.Table) -> pa.Table:
    """The sealed events, and behind them the attacks on the first of them."""
    [victim] = sealed.slice(0, 1).to_pylist()
    payload = bytes([*victim["payload"][:-1], victim["payload"][-1] ^ 1])
    attacks = [
        {**victim, "payload": payload},
        {**victim, "publisher": STRANGER},
        {**victim, "signature": victim["signature"][:10]},
        victim,
    ]
    return pa.concat_tables([sealed, pa.Table.from_pylist(attacks, sealed.schema)])
