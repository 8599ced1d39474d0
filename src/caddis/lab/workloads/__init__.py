"""Events, subscriptions and interests to measure and to show with, drawn from seeds.

    zipf           the synthetic workload of the benchmarks, packed and as text
    marketplace    the readable one of the demo: offers, and what people wait for
    photo_stream   the demo's picture stream, with the models that look at it
    instances      the ordering problem and the overlay workload of the adaptive-filtering paper
    interests      who wants which topics, drawn by several models or read from a file

The same seed gives the same bytes.
"""

from caddis.lab.workloads.instances import (
    EVERYTHING,
    Popularity,
    Range,
    Workload,
    draw_workload,
    paper_workload,
    spread_costs,
)
from caddis.lab.workloads.interests import (
    MODELS,
    from_json,
    owners_of,
    planted,
    redrawn,
    zipf_interests,
)
from caddis.lab.workloads.marketplace import (
    MARKETPLACE_SCHEMA,
    marketplace_events,
    marketplace_subscriptions,
)
from caddis.lab.workloads.photo_stream import (
    NAMED,
    WHEEL_PHOTOS,
    Shot,
    frame_of,
    photo_events,
    photo_models,
    photo_subscriptions,
    shots,
)
from caddis.lab.workloads.zipf import (
    ATTRIBUTES,
    CATEGORICAL,
    EQUALITY,
    FRACTIONAL,
    MOST_PREDICATES,
    SHAPES,
    SYLLABLES,
    WHOLE,
    WORDS,
    ZIPF_SCHEMA,
    Ints,
    Operator,
    Predicates,
    zipf_event_codes,
    zipf_events,
    zipf_predicates,
    zipf_subscriptions,
)
