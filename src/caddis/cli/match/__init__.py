"""TODO."""

from caddis.cli.match.model_summary import ModelSummary, milliseconds_a_run
from caddis.cli.match.models import NONE_GIVEN, load_models, naming_the_option
from caddis.cli.match.order import start_spark

__all__ = [
    "NONE_GIVEN",
    "ModelSummary",
    "load_models",
    "milliseconds_a_run",
    "naming_the_option",
    "start_spark",
]
