"""Puts compiled kernels into a wheel, if there are some: `scripts/wheel.sh` compiles them.

CADDIS_KERNELS names their folder. Without it the wheel holds no kernels and is for every machine,
as are sdists and editable installs: what is not shipped is compiled when it is first called.
"""

import os
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

VARIABLE = "CADDIS_KERNELS"
# Kernels call nothing but numba's runtime and the C library's mathematics, and lie in a folder
# named after the one Python that they are for; other Pythons compile their own.
TAG = "py3-none-manylinux_2_17_x86_64"


class Kernels(BuildHookInterface):  # type: ignore[misc]
    """Adds the folder of kernels to the wheel."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add what is to be shipped, and say which machines it is for."""
        kernels = os.environ.get(VARIABLE)
        if not kernels or version == "editable":
            return
        build_data["force_include"][kernels] = "caddis/compiling/shipped"
        build_data["pure_python"] = False
        build_data["tag"] = TAG
