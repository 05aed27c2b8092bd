"""Thresholds as fractions of whole numbers: a tie counts, and no rounding decides."""

from __future__ import annotations

from fractions import Fraction

TOLERANCE = 1e-9  # sums of products are rounded: a pair is not lost at the threshold for that


def as_fraction(threshold: float) -> Fraction:
    """The decimal number that the user wrote: 0.7 is 7/10, not the float beside it."""
    return Fraction(repr(float(threshold))).limit_denominator(10**9)
