"""What every run shares: the task, the folders, and the order of cores."""

from __future__ import annotations

import os
from pathlib import Path

HERE = Path(__file__).resolve().parent
WORK = HERE / "work"  # corpora, environments, truths and outputs: never committed
CORPORA = WORK / "corpus"
ENVIRONMENTS = WORK / "venvs"
OUTPUTS = WORK / "out"
TRUTHS = WORK / "truth"
RESULTS = HERE / "results"

NGRAM = 5  # words of a shingle
THRESHOLD = 0.7  # exact Jaccard of a near-duplicate pair
NUM_PERM = 128
BANDS, ROWS = 16, 8  # the middle of the S-curve is (1/16)^(1/8) = 0.707
SEED = 42


def cores(count: int) -> str:
    """The first cores this process may use, as taskset wants them."""
    usable = sorted(os.sched_getaffinity(0))
    return ",".join(map(str, usable[:count]))
