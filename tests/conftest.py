"""How the suite runs: the same examples each time, or others and more of them with NEARDUP_EXAMPLES=5000.

With NUMBA_DISABLE_JIT=1 the kernels are plain Python, where integers of fixed width warn when they wrap.
"""

from __future__ import annotations

import os

import numpy as np
from hypothesis import HealthCheck, settings

EXAMPLES = os.environ.get("NEARDUP_EXAMPLES")

settings.register_profile(
    "neardup",
    max_examples=int(EXAMPLES or 100),
    derandomize=EXAMPLES is None,
    database=None,
    deadline=None,  # the first call of a kernel compiles it
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("neardup")

if os.environ.get("NUMBA_DISABLE_JIT") == "1":
    np.seterr(over="ignore")
