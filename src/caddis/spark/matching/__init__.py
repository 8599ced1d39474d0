"""TODO."""

from caddis.spark.matching.match import MatchResult, match
from caddis.spark.matching.model_folder import ModelFolder
from caddis.spark.matching.model_reader import OnError
from caddis.spark.matching.model_reports import ModelReport, ModelUse
from caddis.spark.matching.sealed_folder import SealedFolder
from caddis.spark.matching.sealed_ledger import Ledger
from caddis.spark.matching.sealed_matching import sealed_columns
from caddis.spark.matching.sealed_reports import OTHER_STREAMS, SealedReport
from caddis.spark.matching.worker import KeyCheck, joined

__all__ = [
    "OTHER_STREAMS",
    "KeyCheck",
    "Ledger",
    "MatchResult",
    "ModelFolder",
    "ModelReport",
    "ModelUse",
    "OnError",
    "SealedFolder",
    "SealedReport",
    "joined",
    "match",
    "sealed_columns",
]
