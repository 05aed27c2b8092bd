"""How the suite runs: the same examples each time; NEARDUP_EXAMPLES=5000 tries more of them.

With NUMBA_DISABLE_JIT=1 the kernels are plain Python, where integers of fixed width warn when they wrap.
"""

from __future__ import annotations

import os
import random

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from sentences import overlapping

STORIES = overlapping(random.Random(1), 5)

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


@pytest.fixture(scope="session", autouse=True)
def compiled_kernels() -> None:
    """Compiles what a run needs before the first test: a command that compiles says so, and no test expects it."""
    import neardup
    from neardup.registry import methods

    texts = [
        "one two three four five six",
        "one two three four five seven",
        "one two three four five six",
        "",
    ]
    neardup.dedup(texts, threshold=0.2).rethreshold(0.9)
    neardup.dedup(texts, threshold=0.2, pairs="all", clusters="leaders")
    neardup.compare(texts[0], texts[1])
    for name in methods():
        neardup.dedup([*STORIES, STORIES[0].upper(), ""], method=name)
