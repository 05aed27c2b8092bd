"""Operations counted, not timed: lines of Python, and steps of the C functions that hide loops."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Callable
from itertools import pairwise

DOUBLING = 2.5  # the most that twice the input may cost


def lines_run(work: Callable[[], object]) -> int:
    """The lines of Python that run."""
    count = 0

    def trace(frame, event, argument):
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


def insertions(text: str) -> int:
    """The steps of an insertion sort of all combining marks by class, as `unicodedata` sorts them."""
    steps, seen = 0, {}
    for character in text:
        order = unicodedata.combining(character)
        if order == 0:
            seen = {}
        else:
            steps += 1 + sum(count for other, count in seen.items() if other > order)
            seen[order] = seen.get(order, 0) + 1
    return steps


def assert_linear(costs: list[int]) -> None:
    """Refuses costs of n, 2n, 4n, … that grow faster than their input."""
    assert min(costs) > 0
    assert all(later <= DOUBLING * earlier for earlier, later in pairwise(costs)), costs
