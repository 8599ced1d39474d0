"""Caddis imports and matches where neither its package nor a home nor anything can be written."""

import shutil
import subprocess
import sys

from caddis.compiling.cache import chosen_folder
from caddis.compiling.folders import PACKAGE
from caddis.matching import NEEDED
from tests.compiling.packages import without_settings

MATCH = """
import logging, sys, tempfile
tempfile.tempdir = "/dev/null"
logging.basicConfig(stream=sys.stdout, format="%(message)s")
logging.getLogger("caddis.compiling").setLevel(logging.DEBUG)
import caddis, pyarrow as pa
wheres = ["text = 'a' AND text LIKE '%a' AND number = 1 AND real < 0.5", "text = 'b' OR real > 0"]
table = pa.table({"subscription_id": ["ann", "bo"], "where": wheres})
schema = pa.schema([("text", pa.string()), ("number", pa.int64()), ("real", pa.float64())])
rows = [{"text": "a", "number": 1, "real": 0.1}, {"text": "b"}]
events = pa.RecordBatch.from_pylist(rows, schema)
print(caddis.__file__, len(caddis.Matcher.compile(table, schema).match(events).rows))
"""


def test_caddis_matches_where_nothing_can_be_written(tmp_path):
    """The kernels come with the package, as they do in a wheel or in a container's image."""
    NEEDED.compile()
    here = chosen_folder()
    assert here is not None
    copy = tmp_path / "caddis"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(here.path, copy / "compiling" / "shipped")
    (copy / "__pycache__").write_text("")
    environment = without_settings() | {"HOME": "/dev/null", "PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-W", "error", "-c", MATCH]
    ran = subprocess.run(
        command, check=False, env=environment, capture_output=True, text=True, timeout=300
    )
    assert (ran.stdout, ran.stderr) == (f"{copy}/__init__.py 3\n", "")
