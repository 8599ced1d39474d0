"""Match a stream of events against very many standing subscriptions.

    matches = caddis.match(events, subscriptions, models=[...])
    matches = caddis.match(sealed_events, sealed_subscriptions, sealed=True)
    channels = caddis.topics_to_channels(interests, rates, channels=20)

`concept` makes a model of a Python function; `caddis.models` has others. `Matcher` is the same
without Spark and without models. `caddis.sealed` seals events and subscriptions. All are
imported when they are first used, so that the command line answers at once.
"""

import os
import sys

import lazy_loader

__version__ = "0.1.0"

# A session reads it when it starts, which may be before anything of Caddis is used; Spark would
# otherwise start whatever `python3` a worker finds, which may lack Caddis.
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
