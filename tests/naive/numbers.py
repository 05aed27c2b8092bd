"""Documents that differ in more numbers than other words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence


def differ_in_numbers(left: Sequence[str], right: Sequence[str]) -> bool:
    """Whether more numbers than other words are in one document only, or more often in one."""
    a, b = Counter(left), Counter(right)
    differing = list(((a - b) + (b - a)).elements())
    numbers = sum(word[0].isdigit() for word in differing)
    return numbers > len(differing) - numbers
