"""How brokers divide the models of an event among them, and when they pass the event on.

    air        the publisher's broker decides every subscription, then forwards: All In Root
    ail        every broker forwards at once and decides its own subscribers: All In Leaves
    mec        a broker decides its links, then forwards; a satisfied link asks nothing more
    emec       like mec, but a model's price counts what leaves with a satisfied link
    eager      like emec, but a link is served as soon as it is satisfied
    frontier   like eager, and every model of an event has one broker in charge: see `sharing`

The first four are those of the adaptive-filtering paper (sections IV-A2 and V). The policy never
changes who is notified, only when and at what cost. This is the one registry of them and the one
place for both defaults: `FORWARDINGS` for brokers that decide one event at a time,
`BATCH_FORWARDINGS` for those that decide micro-batches.
"""

from __future__ import annotations

from dataclasses import dataclass

from caddis.errors import OverlayError
from caddis.names import Registry


@dataclass(frozen=True, slots=True)
class Sharing:
    """How brokers share the models of an event.

    keep: a broker that forwards keeps this share of the models that it and the receiver both need.
    patience_ms: after waiting this long for others, a broker runs a model that another broker is
        in charge of. Less patience notifies sooner and runs more models twice.
    linger_ms: answers that satisfy nothing wait this long for others to travel with.
    """

    keep: float = 0.3
    patience_ms: float = 1000.0
    linger_ms: float = 50.0


@dataclass(frozen=True, slots=True)
class Forwarding:
    """One policy.

    apart: every subscription is decided by itself, not only every link.
    floods: a neighbour is served at once if anyone behind it may want the event.
    extended: a model's price counts what leaves with a satisfied link.
    early: a link is served as soon as it is satisfied.
    covers: neighbours are spared clauses that others cover. This cannot be where a broker decides
        for others or has to know what they need.
    sharing: how models are shared out; None if every broker runs what it needs.
    """

    name: str
    apart: bool = False
    floods: bool = False
    extended: bool = False
    early: bool = False
    covers: bool = True
    sharing: Sharing | None = None

    @property
    def in_batches(self) -> bool:
        """Whether micro-batches can be routed by it: a batch leaves only when it is decided."""
        return not self.early


class _BatchForwardings(Registry[Forwarding]):
    """The policies for micro-batches.

    >>> BATCH_FORWARDINGS.named("frontier")
    Traceback (most recent call last):
    caddis.errors.OverlayError: micro-batches have no policy 'frontier', as messages ... mec, emec
    """

    def named(self, name: str | None) -> Forwarding:
        if name in FORWARDINGS and name not in self:
            raise OverlayError(
                f"micro-batches have no policy {name!r}, as messages would have to pass while an "
                f"event is being decided. There are: {', '.join(self)}"
            )
        return super().named(name)


FORWARDINGS = Registry(
    "overlay policy",
    [
        Forwarding("air", apart=True, covers=False),
        Forwarding("ail", floods=True),
        Forwarding("mec"),
        Forwarding("emec", extended=True),
        Forwarding("eager", extended=True, early=True),
        Forwarding("frontier", extended=True, early=True, covers=False, sharing=Sharing()),
    ],
    default="frontier",
    error=OverlayError,
)
BATCH_FORWARDINGS = _BatchForwardings(
    FORWARDINGS.kind,
    [forwarding for forwarding in FORWARDINGS.values() if forwarding.in_batches],
    default="emec",
    error=OverlayError,
)
