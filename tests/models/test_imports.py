import subprocess
import sys


def test_what_few_need_is_imported_only_when_it_is_needed():
    script = """
import sys
import caddis.models
print(sorted({"onnx", "onnxruntime", "PIL", "pyspark"} & set(sys.modules)))
"""
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert found.stdout.split() == [b"[]"]
