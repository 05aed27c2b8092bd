"""Exact copies: documents that are equal in everything the plan reads."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neardup.columns import Hashes, Numbers


def collapse(digests: Hashes, ranks: Hashes, eligible: NDArray[np.bool_]) -> Numbers:
    """For each document the one that stands for its content: the copy of the smallest rank.

    Documents that are not eligible (no token) stand for themselves: two empty texts are no duplicates.
    """
    content = np.arange(len(digests))
    numbers = np.flatnonzero(eligible)
    if len(numbers) == 0:
        return content
    numbers = numbers[_repeated(digests[numbers, 0])]
    first, second = digests[numbers, 0], digests[numbers, 1]
    order = np.lexsort((ranks[numbers], second, first))
    first, second, sorted_numbers = first[order], second[order], numbers[order]
    begins = np.ones(len(numbers), np.bool_)
    begins[1:] = (first[1:] != first[:-1]) | (second[1:] != second[:-1])
    leaders = sorted_numbers[begins]
    content[sorted_numbers] = leaders[np.cumsum(begins) - 1]
    return content


def _repeated(values: Hashes) -> NDArray[np.bool_]:
    """Which values occur more than once: nearly none, usually, so that little is left to sort by more keys."""
    order = np.argsort(values)
    same = values[order[1:]] == values[order[:-1]]
    found = np.zeros(len(values), np.bool_)
    found[order[1:][same]] = found[order[:-1][same]] = True
    return found
