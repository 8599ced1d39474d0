"""Parquet and Arrow files that workers read by themselves, with the values that Spark would read.

    paths, patterns ──listing──▶ files, and what their folders' names say (city=Galway/)
    files ──splitting──▶ pieces of about the same size
    footers ──parquet, arrow──▶ Spark's types of their columns
    pieces ──reading──▶ batches of the columns that are asked for

A file may lie wherever `pyarrow.fs` can read. Where pyarrow and Spark would not read the same
values, the file is refused.
"""

from caddis.files.columnar.listing import ColumnarFormat, DataFile, list_files
from caddis.files.columnar.partitions import partition_schema
from caddis.files.columnar.reading import Reading, Statistics, first_schema
from caddis.files.columnar.splitting import Piece, split
from caddis.files.columnar.values import plain_type
