"""What went wrong in Spark, in one sentence for the person who can fix it.

Spark wraps a failure in layers of Java and Python traces. An error that Caddis raised in a worker
is found inside and raised again as what it was; a file that cannot be read is named; anything else
keeps Spark's own first sentence. The full error stays in `__cause__`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from urllib.parse import unquote

from py4j.protocol import Py4JError, Py4JNetworkError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException

from caddis import errors
from caddis.errors import CaddisError, EnvironmentProblem, EventError

SPARK_ERRORS = (PySparkException, Py4JError, ConnectionError)

# A worker's error is the end of a Python trace inside a Java trace, and may have several lines: it
# ends at an empty line, or where Java or Spark goes on.
_OURS = re.compile(
    r"caddis\.errors\.(\w+): (.+?)(?=\n\n|\n\s*at |\nJVM |\n SQLSTATE|\s*\Z)", re.DOTALL
)
_FILE = re.compile(r"(?:reading file|[Pp]ath:?|Csv file:|File) (?:file:)?/*(/\S+?)[.,;]?(?=\s|$)")
_CONDITION = re.compile(r"\[([A-Z][A-Z0-9_.]+)\] (.+?)(?= SQLSTATE|\n|\Z)", re.DOTALL)
_JAVA = re.compile(r"^(?:Caused by|): ?(?:[\w$]+\.)+([\w$]+): (.+)$", re.MULTILINE)


@contextmanager
def spark_failures() -> Iterator[None]:
    """Turn the errors that Spark raises into errors of Caddis."""
    try:
        yield
    except SPARK_ERRORS as error:
        raise as_caddis_error(error) from error


def as_caddis_error(error: Exception) -> CaddisError:
    """The error of Caddis that a failure of Spark amounts to."""
    text = str(error)
    ours = _OURS.search(text)
    if ours is not None:
        kind = getattr(errors, ours[1], EventError)
        return EventError(ours[2]) if kind is errors.SubscriptionError else kind(ours[2])
    if isinstance(error, Py4JNetworkError | ConnectionError):
        return EnvironmentProblem("Spark's Java process has ended; it may have run out of memory")
    for sign, explained in _KNOWN.items():
        if sign in text:
            return explained(text)
    return CaddisError(f"Spark failed: {reason(error)}")


def reason(error: Exception) -> str:
    """Spark's own sentence: the innermost of its named conditions, or the last cause."""
    text = str(error)
    conditions = _CONDITION.findall(text)
    if conditions:
        return " ".join(str(conditions[-1][1]).split())
    causes = _JAVA.findall(text)
    if causes:
        return f"{causes[-1][0]}: {causes[-1][1]}"
    return text.strip().partition("\n")[0] or type(error).__name__


def _malformed(text: str) -> CaddisError:
    """Explain a line that is not JSON, or a CSV line of another length."""
    return EventError(f"{_file(text)}a line cannot be read: {_innermost(text)}")


def _unreadable(text: str) -> CaddisError:
    file, cause = _file(text), _innermost(text)
    named = cause.startswith(file.removesuffix(": ")) and file
    return EventError(cause if named else f"{file}cannot be read: {cause}")


def _other_type(text: str) -> CaddisError:
    types = re.search(
        r"Parquet column \[(.+?)\].*?type \"?(.+?)\"?, actual Parquet type (.+?)\.", text
    )
    if types is None:
        return _unreadable(text)
    return EventError(f"{_file(text)}column {types[1]!r} is {types[3]}, and not {types[2]}")


def _innermost(text: str) -> str:
    """The last cause in words, without Java's and Spark's codes."""
    causes = _JAVA.findall(text)
    cause = causes[-1][1] if causes else reason(Exception(text))
    cause = re.sub(r"^\[[A-Z0-9_.]+\] | SQLSTATE: \w+", "", cause)
    return cause.removeprefix("file:").strip()


def _header(text: str) -> CaddisError:
    return EventError(
        f"{_file(text)}the first line does not name the columns that were expected, in their order"
    )


def _workers_without_caddis(text: str) -> CaddisError:
    missing = re.search(r"No module named '(\w+)", text)
    name = missing[1] if missing else "caddis"
    return EnvironmentProblem(
        f"Spark's workers run a Python without {name!r}: install Caddis for the Python that "
        "PYSPARK_PYTHON names"
    )


def _no_master(text: str) -> CaddisError:
    return EnvironmentProblem(f"Spark's master does not answer: {reason(Exception(text))}")


_KNOWN: dict[str, Callable[[str], CaddisError]] = {
    "PARQUET_COLUMN_DATA_TYPE_MISMATCH": _other_type,
    "MALFORMED_RECORD_IN_PARSING": _malformed,
    "CSV header does not conform": _header,
    "Number of column in CSV header": _header,
    "UNABLE_TO_INFER_SCHEMA": lambda _: EventError(
        "the files do not show the events' columns; give a schema"
    ),
    "No space left on device": lambda _: EnvironmentProblem("the disk is full"),
    "java.lang.OutOfMemoryError": lambda _: EnvironmentProblem("Spark ran out of memory"),
    "ModuleNotFoundError: No module named": _workers_without_caddis,
    "All masters are unresponsive": _no_master,
    # The last one, since Spark adds it to several of those above.
    "FAILED_READ_FILE": _unreadable,
}


def _file(text: str) -> str:
    found = _FILE.search(text)
    return f"{unquote(found[1])}: " if found else ""
