"""What kernels are compiled for: this Python, these packages, and a processor.

A kernel is compiled for the very processor of this machine, or, to be carried to others, for a
level that nearly all of them reach: x86-64-v3, which is what processors with AVX2 have had since
2013. Machine code for that level runs wherever the features that make up the level are there.
"""

from __future__ import annotations

import hashlib
import platform
import sys
from functools import cache

import llvmlite
import llvmlite.binding as llvm
import numba
import numpy as np
from numba.core import config

PORTABLE = "x86-64-v3"
"""The processor level of kernels that are to run on other machines."""
FEATURES = (
    *("cmov", "cx8", "fxsr", "mmx", "sse", "sse2"),
    *("crc32", "cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3"),
    *("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave"),
)
"""What LLVM lets code for that level use."""
PORTABLE_SETTINGS = {"NUMBA_CPU_NAME": PORTABLE, "NUMBA_CPU_FEATURES": ""}
"""Environment variables that make a process compile for that level."""


def versions() -> str:
    """The versions on which compiled code depends, as the beginning of a folder's name.

    Numba's code depends on numpy's minor version, but not on its patch version.
    """
    python = f"{sys.implementation.name}{sys.version_info[0]}{sys.version_info[1]}{sys.abiflags}"
    numpy = ".".join(np.__version__.split(".")[:2])
    return (
        f"{sys.platform}-{platform.machine()}-{python}-numba{numba.__version__}"
        f"-llvmlite{llvmlite.__version__}-numpy{numpy}"
    )


@cache
def target() -> str:
    """The name of the folder for what this process compiles."""
    processor = getattr(config, "CPU_NAME", None) or llvm.get_host_cpu_name()
    features = getattr(config, "CPU_FEATURES", None)
    if features is None:
        features = llvm.get_host_cpu_features().flatten()
    if processor == PORTABLE and not features:
        return portable_target()
    digest = hashlib.sha256(features.encode()).hexdigest()[:8]
    return f"{versions()}-{processor}-{digest}"


def portable_target() -> str:
    """The name of the folder for code that runs on most machines."""
    return f"{versions()}-{PORTABLE}"


def usable_targets() -> list[str]:
    """The folders whose code runs here, the one for this very processor first."""
    portable = [portable_target()] if runs_portable_code() else []
    return list(dict.fromkeys([target(), *portable]))


@cache
def runs_portable_code() -> bool:
    """Whether this machine's processor has all features that portable code may use."""
    here = llvm.get_host_cpu_features()
    return platform.machine() == "x86_64" and all(here.get(name, False) for name in FEATURES)
