from .clauses.subscriptions import as_text, from_text, join
from .design import Outline, Scheme, TopicDesign
from .events.gate import Admission, Gate, Refusal
from .events.replays import NoMemory, ReplayMemory
from .events.wire import sealed_schema
from .keys.authority import Authority
from .keys.rings import Bundle
from .keys.directory import Directory
from .keys.identities import Identity, PublicIdentity
from .keys.rings import KeyRing
from .matcher.blocks import sealed_clauses_of
from .matcher.matcher import SealedMatcher, SealedMatches
from .opening import Inbox, Opened, Opener, Received, TopicEvents
from .sealing import EventSealer, SealedSubscriptions, SubscriptionSealer

__all__ = [
    "Admission",
    "Authority",
    "Bundle",
    "Directory",
    "EventSealer",
    "Gate",
    "Identity",
    "Inbox",
    "KeyRing",
    "NoMemory",
    "Opened",
    "Opener",
    "Outline",
    "PublicIdentity",
    "Received",
    "Refusal",
    "ReplayMemory",
    "Scheme",
    "SealedMatcher",
    "SealedMatches",
    "SealedSubscriptions",
    "SubscriptionSealer",
    "TopicDesign",
    "TopicEvents",
    "as_text",
    "from_text",
    "join",
    "sealed_clauses_of",
    "sealed_schema",
]
