"""What names of folders are taken for, where the schema says what they are."""

import datetime as dt

import pyarrow as pa
import pytest

from caddis.errors import EventError
from caddis.files.columnar.partitions import typed


def test_whole_numbers_and_dates_are_read_as_spark_writes_them():
    assert typed("k", "+5", pa.int8()).as_py() == 5
    assert typed("k", "-007", pa.int64()).as_py() == -7
    assert typed("k", "2024-02-29", pa.date32()).as_py() == dt.date(2024, 2, 29)
    assert typed("k", None, pa.int8()).as_py() is None


@pytest.mark.parametrize("text", ["1_000", " 5", "", "5.0", "300"])
def test_what_python_alone_takes_for_a_whole_number_is_refused(text):
    with pytest.raises(EventError, match="does not fit the column's type, int8"):
        typed("k", text, pa.int8())


@pytest.mark.parametrize("text", ["20240229", "2024-W09-4", "2024-02-30"])
def test_what_python_alone_takes_for_a_day_is_refused(text):
    with pytest.raises(EventError, match="does not fit the column's type, date32"):
        typed("k", text, pa.date32())
