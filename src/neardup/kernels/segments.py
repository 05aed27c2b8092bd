"""Maximum subsequence segmentation: the run of consecutive values with the largest sum."""

from __future__ import annotations

from neardup.kernels import jit


@jit
def best_segment(values):
    """The beginning and end of the run with the largest sum; of equal ones the first and shortest.

    (0, 0) if no sum is above 0.
    """
    best, best_start, best_stop = 0.0, 0, 0
    total, start = 0.0, 0
    for i in range(len(values)):
        if total <= 0.0:
            total, start = 0.0, i
        total += values[i]
        if total > best:
            best, best_start, best_stop = total, start, i + 1
    return best_start, best_stop
