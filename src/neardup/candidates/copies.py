"""Exact copies: documents that are equal in everything the plan reads."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neardup.columns import Hashes, Numbers
from neardup.sorted_sets import run_starts


def collapse(digests: Hashes, id_hashes: Hashes, eligible: NDArray[np.bool_]) -> Numbers:
    """The representative of each document: among exact copies the one with the smallest id hash.

    A document that is not eligible (no tokens) represents itself: two empty texts are no duplicates.
    """
    representatives = np.arange(len(digests))
    numbers = np.flatnonzero(eligible)
    if len(numbers) == 0:
        return representatives
    numbers = numbers[_repeated(digests[numbers, 0])]
    first, second = digests[numbers, 0], digests[numbers, 1]
    order = np.lexsort((id_hashes[numbers], second, first))
    ordered = numbers[order]
    starts = run_starts(first[order], second[order])
    representatives[ordered] = np.repeat(ordered[starts[:-1]], np.diff(starts))
    return representatives


def _repeated(values: Hashes) -> NDArray[np.bool_]:
    """Which values occur more than once: usually few, so that little is left to sort by all keys."""
    order = np.argsort(values)
    same = values[order[1:]] == values[order[:-1]]
    found = np.zeros(len(values), np.bool_)
    found[order[1:][same]] = found[order[:-1][same]] = True
    return found
