"""`caddis explain`: how subscriptions are indexed, and which models some events run.

command   the options, and how the subscriptions are indexed
models    how a sample of events is decided with models, and what that costs
"""

from caddis.cli.explain.command import app
