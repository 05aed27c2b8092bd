"""How the suite runs: the same examples each time; NEARDUP_EXAMPLES=5000 tries more of them.

With NUMBA_DISABLE_JIT=1 the kernels are plain Python, where integers of fixed width warn when they wrap.
"""

from __future__ import annotations

import os

import numpy as np
from hypothesis import HealthCheck, settings

settings.register_profile(
    "neardup",
    max_examples=int(os.environ.get("NEARDUP_EXAMPLES", "100")),
    derandomize=True,
    database=None,
    deadline=None,  # the first call of a kernel compiles it
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("neardup")

if os.environ.get("NUMBA_DISABLE_JIT") == "1":
    np.seterr(over="ignore")
