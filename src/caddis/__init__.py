"""Match a stream of events against very many standing subscriptions.

    matches = caddis.match(events, subscriptions, models=[...])
    matches = caddis.match_files(spark, "offers/*.parquet", subscriptions)
    matches = caddis.match_sealed(sealed_events, sealed_subscriptions)
    problems = caddis.check(subscriptions, "city STRING, price INT")
    channels = caddis.topics_to_channels(interests, rates, channels=20)

`SubscriptionStore` keeps subscriptions that come and go, and `Report` what a match did. `concept`
makes a model of a Python function; `caddis.models` has others. `Matcher` matches without Spark and
without models. `caddis.sealed` seals events and subscriptions, `caddis.overlay` has the brokers,
`caddis.topics` the voting and clustering behind channels. All are imported when they are first
used, so that the command line answers at once. What runs for long logs under `caddis`.
"""

import logging
import os
import sys

import lazy_loader

__version__ = "0.1.0"

logging.getLogger("caddis").addHandler(logging.NullHandler())

# A session reads it when it starts, which may be before anything of Caddis is used; Spark would
# otherwise start whatever `python3` a worker finds, which may lack Caddis.
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
