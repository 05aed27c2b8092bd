"""Thresholds as fractions of whole numbers, so that a tie passes whatever the rounding of floats."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

TOLERANCE = 1e-9  # of rounded sums: a pair at the threshold is not lost


@lru_cache(maxsize=1024)
def as_fraction(threshold: float) -> Fraction:
    """The decimal number that the user wrote: 0.7 is 7/10, not the nearest float."""
    return Fraction(repr(float(threshold))).limit_denominator(10**9)
