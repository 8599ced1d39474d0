"""The Java that Spark will find: that of JAVA_HOME, else that of PATH."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from caddis.errors import EnvironmentProblem

OLDEST = 17
ADVICE = f"install Java {OLDEST} or newer (Debian, Ubuntu: apt-get install openjdk-17-jre-headless)"


@dataclass(frozen=True, slots=True)
class Java:
    """A Java runtime."""

    path: Path
    version: str

    @property
    def major(self) -> int:
        """17 of '17.0.15'; 8 of '1.8.0_402'."""
        numbers = [int(number) for number in re.findall(r"\d+", self.version)]
        return numbers[1] if numbers[0] == 1 and len(numbers) > 1 else numbers[0]


def find_java() -> Java | None:
    """The Java that Spark will run, if there is one that starts."""
    home = os.environ.get("JAVA_HOME")
    path = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if path is None or not Path(path).is_file():
        return None
    try:
        command = [path, "-version"]
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    said = re.search(r'version "([^"]*\d[^"]*)"', done.stderr + done.stdout)
    return Java(Path(path), said[1]) if said else None


def require_java() -> None:
    """Raise, with what to do, if Spark could not start."""
    java = find_java()
    if java is not None and java.major >= OLDEST:
        return
    home = os.environ.get("JAVA_HOME")
    if home:
        found = f"is {java.version}" if java else "has none"
        raise EnvironmentProblem(
            f"Caddis needs Java {OLDEST} or newer, and JAVA_HOME ({home}) {found}; "
            "point it at another, or unset it"
        )
    found = f"there is only {java.version}" if java else "there is none"
    raise EnvironmentProblem(f"Caddis needs Java {OLDEST} or newer, and {found}: {ADVICE}")
