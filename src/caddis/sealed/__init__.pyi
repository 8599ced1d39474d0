from .clauses import as_text, from_text, join
from .design import MOST_HASHES, SCHEMES, WORD, Outline, Scheme, StreamDesign, filter_size
from .events import Admission, Gate, NoMemory, Refusal, ReplayMemory, sealed_schema
from .keys import Authority, Bundle, Directory, Identity, KeyRing, PublicIdentity
from .matcher import SealedMatcher, SealedMatches, sealed_clauses_of
from .opening import Inbox, Opened, Opener, Received, StreamEvents, check_authority
from .sealing import EventSealer, SealedSubscriptions, SubscriptionSealer

__all__ = [
    "MOST_HASHES",
    "SCHEMES",
    "WORD",
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
    "StreamDesign",
    "StreamEvents",
    "SubscriptionSealer",
    "as_text",
    "check_authority",
    "filter_size",
    "from_text",
    "join",
    "sealed_clauses_of",
    "sealed_schema",
]
