"""How brokers divide the models of an event among them, and when they pass it on.

    air        the publisher's broker decides every subscription, then forwards: All In Root
    ail        every broker forwards at once and decides its own subscribers: All In Leaves
    mec        a broker decides its links, then forwards; a satisfied link asks nothing more
    emec       the same, with what goes along with a satisfied link in the price of a model
    eager      emec, but a link is served as soon as it is satisfied
    frontier   eager, and every model of an event has one broker in charge of it: see `sharing`

The first four are those of the adaptive-filtering paper (sections IV-A2 and V). Who is notified
never depends on the policy, only when and at what cost.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from caddis.errors import OverlayError

DEFAULT = "frontier"


@dataclass(frozen=True, slots=True)
class Sharing:
    """How brokers share the models of an event.

    keep: of the models that both need, the share that a broker keeps when it forwards.
    patience_ms: a broker that waits for others so long runs a model that another is in charge of.
        The less patience, the sooner everyone is notified and the more often a model runs twice.
    linger_ms: answers that satisfy nothing wait so long for others to travel with.
    """

    keep: float = 0.3
    patience_ms: float = 1000.0
    linger_ms: float = 50.0


@dataclass(frozen=True, slots=True)
class Forwarding:
    """One way to divide the work.

    apart: every subscription is decided, not only every link.
    floods: neighbours are served at once, wherever someone may want the event.
    extended: a model's price counts what leaves with a satisfied link.
    early: a link is served as soon as it is satisfied.
    covers: neighbours are spared the clauses that others cover; not where a broker decides for
        others, or has to know what they need.
    """

    name: str
    apart: bool = False
    floods: bool = False
    extended: bool = False
    early: bool = False
    covers: bool = True
    sharing: Sharing | None = None


_ALL = (
    Forwarding("air", apart=True, covers=False),
    Forwarding("ail", floods=True),
    Forwarding("mec"),
    Forwarding("emec", extended=True),
    Forwarding("eager", extended=True, early=True),
    Forwarding("frontier", extended=True, early=True, covers=False, sharing=Sharing()),
)
FORWARDINGS: dict[str, Forwarding] = {one.name: one for one in _ALL}


def forwarding_named(name: str) -> Forwarding:
    """The policy of a name.

    >>> forwarding_named("emec").extended
    True
    """
    if name in FORWARDINGS:
        return FORWARDINGS[name]
    near = difflib.get_close_matches(name, FORWARDINGS, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise OverlayError(f"there is no policy {name!r}; {hint}There is: {', '.join(FORWARDINGS)}")
