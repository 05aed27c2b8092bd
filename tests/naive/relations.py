"""How two sets relate, with fractions."""

from __future__ import annotations

from fractions import Fraction


def relation(left: set[int], right: set[int], threshold: Fraction) -> str:
    """The relation of the left set to the right one; equal sets are near-duplicates, not copies of a text."""
    shared = Fraction(len(left & right))
    smaller, larger = sorted((len(left), len(right)))
    if not smaller or shared / smaller < Fraction(1, 10):
        return "different"
    if shared / smaller >= Fraction(9, 10) and shared / larger < Fraction(8, 10):
        return "contains" if len(left) > len(right) else "contained"
    reaches = shared / len(left | right) >= threshold
    return "near-duplicate" if reaches else "shared passage"
