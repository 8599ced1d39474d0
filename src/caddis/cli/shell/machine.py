"""What a verb needs from the machine: a Java that Spark can run, a Spark session, matplotlib.

Spark runs the Java of JAVA_HOME, or else the one on the PATH; `find_java` looks in the same places.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from caddis.cli.shell.kernels import begin_compiling, finish_compiling
from caddis.cli.shell.running import Job, debugging
from caddis.errors import EnvironmentProblem

if TYPE_CHECKING:
    from caddis.compiling import Need
    from caddis.spark.base import SparkSession

OLDEST_JAVA = 17
JAVA_ADVICE = (
    f"install Java {OLDEST_JAVA} or newer (Debian, Ubuntu: apt-get install openjdk-17-jre-headless)"
)


@dataclass(frozen=True, slots=True)
class Java:
    """A Java runtime.

    version: as `java -version` prints it, such as 17.0.15 or 1.8.0_402.
    """

    path: Path
    version: str

    @property
    def major(self) -> int:
        """The major version: 17 for '17.0.15', 8 for '1.8.0_402'."""
        numbers = [int(number) for number in re.findall(r"\d+", self.version)]
        return numbers[1] if numbers[0] == 1 and len(numbers) > 1 else numbers[0]


def find_java() -> Java | None:
    """The Java that Spark will run; None if there is none, or it does not start."""
    home = os.environ.get("JAVA_HOME")
    path = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if path is None or not Path(path).is_file():
        return None
    try:
        command = [path, "-version"]
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    version = re.search(r'version "([^"]*\d[^"]*)"', done.stderr + done.stdout)
    return Java(Path(path), version[1]) if version else None


def require_java() -> None:
    """Raise an error that says what to do if there is no Java that Spark can run."""
    java = find_java()
    if java is not None and java.major >= OLDEST_JAVA:
        return
    home = os.environ.get("JAVA_HOME")
    if home:
        found = f"holds Java {java.version}" if java else "holds no Java"
        raise EnvironmentProblem(
            f"Caddis needs Java {OLDEST_JAVA} or newer, but JAVA_HOME ({home}) {found}; "
            "point it at another Java, or unset it"
        )
    found = f"this machine has {java.version}" if java else "this machine has none"
    raise EnvironmentProblem(
        f"Caddis needs Java {OLDEST_JAVA} or newer, but {found}: {JAVA_ADVICE}"
    )


def start_spark(master: str, timezone: str, job: Job, kernels: Sequence[Need] = ()) -> SparkSession:
    """Start a Spark session, which is stopped when the job ends.

    kernels: compiled meanwhile, unless this machine has compiled them already.
    """
    compilation = begin_compiling(kernels, job)
    meanwhile = "; kernels are compiled meanwhile" if compilation.needs else ""
    with job.screen.step(f"Starting Spark on {master}{meanwhile}") as step:
        from caddis.spark.base import local_session

        session = local_session(master, timezone=timezone, quiet=not debugging())
        spark = job.resources.enter_context(session)
        step.done = f"Spark started on {master}"
    finish_compiling(compilation, job)
    return spark


def require_matplotlib() -> None:
    """Raise an error that says what to install if figures cannot be drawn.

    Call it before hours of work, not after.
    """
    if find_spec("matplotlib") is None:
        raise EnvironmentProblem(
            "figures are drawn with matplotlib, which is not installed: pip install 'caddis[lab]'"
        )
