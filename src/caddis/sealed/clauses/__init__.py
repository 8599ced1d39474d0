"""TODO."""

from caddis.sealed.clauses.clauses import MOST_CLAUSES, sealable
from caddis.sealed.clauses.sealing import ClauseSealing
from caddis.sealed.clauses.subscriptions import (
    ClauseBlock,
    as_text,
    from_text,
    join,
    pack,
    unpack_all,
)

__all__ = [
    "MOST_CLAUSES",
    "ClauseBlock",
    "ClauseSealing",
    "as_text",
    "from_text",
    "join",
    "pack",
    "sealable",
    "unpack_all",
]
