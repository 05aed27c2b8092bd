"""Machine code that a wheel brings for its platform: a first run then compiles nothing.

`tools/compile_kernels.py` compiles the kernels for two levels of x86-64 processors into `compiled/`, with a manifest of
what the code depends on. Another Python, Numba or llvmlite, changed kernels or an older processor leave it unused, and
Numba compiles as usual.
"""

from __future__ import annotations

import json
import os
import sys
import sysconfig
from contextlib import suppress
from functools import cache
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "compiled"
MANIFEST = "manifest.json"
_V3 = ("sse4.2", "popcnt", "avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")
LEVELS = {  # of processors, the widest first: the features that a processor must have
    "x86-64-v4": (*_V3, "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"),
    "x86-64-v3": _V3,
}


def requirements() -> dict[str, str]:
    """What machine code depends on besides the processor: versions, and the sources of the kernels."""
    import llvmlite

    return {
        "python": f"{sys.implementation.cache_tag} {sysconfig.get_config_var('SOABI')}",
        "platform": sysconfig.get_platform(),
        "numba": _digest(_numba_version()),
        "llvmlite": llvmlite.__version__,
        "sources": _digest(*sorted(Path(__file__).parent.glob("*.py"))),
    }


def _numba_version() -> Path:
    """The file of Numba's version, found without importing the package."""
    spec = find_spec("numba")
    assert spec is not None and spec.origin is not None
    return Path(spec.origin).with_name("_version.py")


def _digest(*paths: Path) -> str:
    """A digest of the names and bytes of files."""
    known = blake2b(digest_size=16)
    for path in paths:
        data = path.read_bytes()
        known.update(f"{path.name} {len(data)} ".encode() + data)
    return known.hexdigest()


@cache
def level() -> str | None:
    """The level of processor whose shipped code runs here; None if none does."""
    if (
        os.environ.get("NUMBA_CPU_NAME")
        or os.environ.get("NUMBA_CPU_FEATURES")
        or not (FOLDER / MANIFEST).exists()
    ):
        return None
    with suppress(OSError, ValueError, AssertionError, AttributeError):
        manifest: dict[str, Any] = json.loads((FOLDER / MANIFEST).read_text())
        if manifest.get("requirements") == requirements():
            return best_level(set(manifest["levels"]))
    return None


def best_level(levels: set[str]) -> str | None:
    """The widest of some levels that this processor has all features of."""
    from llvmlite import binding

    features = binding.get_host_cpu_features()
    for name, needed in LEVELS.items():
        if name in levels and all(features.get(feature) for feature in needed):
            return name
    return None


def path(kernel: str) -> Path | None:
    """The file of a kernel's shipped machine code for this processor."""
    chosen = level()
    return None if chosen is None else FOLDER / f"{kernel}.{chosen}.code"
