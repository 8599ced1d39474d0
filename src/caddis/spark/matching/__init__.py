"""Plain matching on Spark: `match` on the driver, one Arrow operator in the workers.

    match ─▶ a store of compiled subscriptions, a folder of models
               │ only names are shipped
    worker ─▶ MatchOperator ─▶ the reader of an Opening: plain, with models, or `spark.sealed`'s own
               │ when a task ends
    Report ◀─ ReportFolder: what models did, what was refused

`check` lists the subscriptions that cannot be used.
"""

from caddis.spark.matching.checking import check
from caddis.spark.matching.from_files import match_files
from caddis.spark.matching.match import follows, match, matches_of
from caddis.spark.matching.model_folder import ModelFolder
from caddis.spark.matching.model_reader import OnError
from caddis.spark.matching.reporting import (
    KEPT,
    RefusedEvent,
    ReportFolder,
    results_of,
    task_reports,
)
from caddis.spark.matching.reports import (
    EVENTS,
    INSPECTED,
    OTHER_STREAMS,
    PRODUCTS,
    TESTS,
    ModelUse,
    Report,
)
from caddis.spark.matching.shipping import (
    Subscriptions,
    place_of,
    store_address,
    where_to_report,
)
from caddis.spark.matching.worker import KeyCheck, MatchOperator, joined
