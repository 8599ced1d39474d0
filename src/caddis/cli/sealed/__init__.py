"""The noun `sealed`: a broker matches events and subscriptions that it cannot read.

    publisher   sealed events          plain events         -> sealed events
    subscriber  sealed subscriptions   plain subscriptions  -> sealed subscriptions
    broker      sealed match           both, and no key     -> event_id, subscription_id
    subscriber  sealed open            what the broker found -> plain events

`command` spells the verbs and their options; `sealing`, `matching` and `opening` do their work on
files, and `demo` plays all parties at once.
"""

from caddis.cli.sealed.command import app
