"""Small models, set to columns."""

from collections.abc import Callable

import pyarrow as pa

from caddis.language import Column
from caddis.models import FunctionModel, Reading, concept

TITLE = Column(("title",), pa.string())
PHOTO = Column(("photo",), pa.binary())


def model(name: str, *concepts: str, function: Callable[[object], object] = bool, **options):
    """A model of some concepts; all get the answer of the function, unless it gives one each."""

    def answer(value: object) -> object:
        given = function(value)
        several = len(concepts) > 1 and not isinstance(given, dict)
        return dict.fromkeys(concepts, given) if several else given

    answer.__name__ = name
    made: FunctionModel = concept(answers=concepts or [name], **options)(answer)
    return made


def reading(name: str = "loud", *concepts: str, column: Column = TITLE, **options) -> Reading:
    return Reading(model(name, *concepts, **options), column)
