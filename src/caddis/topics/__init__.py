"""Topics into channels: voting, majority filters, clustering; nodes without I/O."""

from caddis.topics.links import CLOCK, Links, Packet, Wake
from caddis.topics.voting import Voter, Votes

__all__ = ["CLOCK", "Links", "Packet", "Voter", "Votes", "Wake"]
