"""The files and the tag of a wheel for which `tools/compile_kernels.py` has compiled the kernels."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

COMPILED = "src/neardup/kernels/compiled"


class CompiledKernels(BuildHookInterface):  # type: ignore[misc]
    """Adds machine code to a wheel. It calls no library of the system: any Linux with glibc can load it."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Without compiled kernels, or for an editable installation, the wheel is one of plain Python."""
        if version == "editable" or not (Path(self.root) / COMPILED / "manifest.json").exists():
            return
        python = f"cp{sys.version_info.major}{sys.version_info.minor}"
        build_data["pure_python"] = False
        build_data["tag"] = f"{python}-{python}-manylinux_2_17_x86_64"
        build_data["artifacts"].append(f"{COMPILED}/*")
