"""What deciding an event costs at least: the yardstick of every policy.

`certificate` is the cheapest proof of one `Instance` whose answers are known, `event_certificates`
asks for all answers about real events and gives the proof of each. `hitting_sets` finds the
cheapest models.
"""

from caddis.ordering.certificate.events import event_certificates
from caddis.ordering.certificate.proofs import Clause, Instance, certificate
