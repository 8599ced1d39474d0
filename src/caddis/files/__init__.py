"""TODO."""

from caddis.files.atomic import create_file, locked, replace_file, sync_folder
from caddis.files.ddl import EXAMPLE, parse_schema
from caddis.files.json_lines import naming_bad_lines
from caddis.files.mapped import (
    NUMBERS,
    mapped,
    mapped_ids,
    read_numbers,
    write_array,
    write_ids,
    write_numbers,
)
from caddis.files.output import (
    CHECKPOINT,
    INVALID,
    check_free,
    file_count,
    forget_checkpoint,
    publish,
    staging_folder,
    write_invalid,
)
from caddis.files.paths import FileFormat, data_files, existing, format_of, is_store, named_format
from caddis.files.samples import event_batches, first_events
from caddis.files.schemas import schema_of
from caddis.files.subscriptions import read_subscriptions

__all__ = [
    "CHECKPOINT",
    "EXAMPLE",
    "INVALID",
    "NUMBERS",
    "FileFormat",
    "check_free",
    "create_file",
    "data_files",
    "event_batches",
    "existing",
    "file_count",
    "first_events",
    "forget_checkpoint",
    "format_of",
    "is_store",
    "locked",
    "mapped",
    "mapped_ids",
    "named_format",
    "naming_bad_lines",
    "parse_schema",
    "publish",
    "read_numbers",
    "read_subscriptions",
    "replace_file",
    "schema_of",
    "staging_folder",
    "sync_folder",
    "write_array",
    "write_ids",
    "write_invalid",
    "write_numbers",
]
