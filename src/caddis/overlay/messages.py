"""What passes between brokers, and between a broker and those who are at it.

A link is where a message comes from or goes to. Control messages build the routing tables; they
are kept in order on each link. Names are unique together with the broker that they are at: the
`home` of a subscription or a publisher, which its broker fills in.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Neighbour:
    """The link to another broker."""

    name: str


@dataclass(frozen=True, slots=True)
class Subscriber:
    """The link to one who subscribes at this broker: one for each subscription."""

    subscription_id: str


@dataclass(frozen=True, slots=True)
class Publisher:
    """The link from one who publishes at this broker."""

    name: str


Link = Neighbour | Subscriber | Publisher


@dataclass(frozen=True, slots=True)
class Advertise:
    """A publisher says which events it will publish."""

    publisher: str
    where: str = "TRUE"
    home: str = ""


@dataclass(frozen=True, slots=True)
class Unadvertise:
    """A publisher will publish no more."""

    publisher: str
    home: str = ""


@dataclass(frozen=True, slots=True)
class Subscribe:
    """Someone wants events; it takes the place of what was subscribed under the same id before.

    clauses: which clauses of the WHERE text matter on this link, the others being covered there;
        None for all.
    """

    subscription_id: str
    where: str
    clauses: tuple[int, ...] | None = None
    home: str = ""


@dataclass(frozen=True, slots=True)
class Unsubscribe:
    """Someone no longer wants events, or others on the link ask for them anyway."""

    subscription_id: str
    home: str = ""


@dataclass(frozen=True, slots=True)
class Join:
    """A neighbour is there from now on: it knows nothing yet."""


@dataclass(frozen=True, slots=True)
class Leave:
    """A neighbour is gone, and with it all that it said."""


Control = Advertise | Unadvertise | Subscribe | Unsubscribe | Join | Leave
