"""TODO."""

from caddis.ordering.certificate.cheapest import certificate
from caddis.ordering.certificate.events import event_certificates
from caddis.ordering.certificate.instance import Clause, Instance

__all__ = [
    "Clause",
    "Instance",
    "certificate",
    "event_certificates",
]
